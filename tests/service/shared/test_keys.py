"""Keys: made once, kept for their owner alone, stored as digests."""

from __future__ import annotations

import hashlib
import stat
import tomllib
from pathlib import Path

import pytest

from hushprice.errors import InvalidInput
from hushprice.service.shared import key_changes, keys
from hushprice.service.shared.secret import Secret
from hushprice.service.store import open_store
from hushprice.service.store.protocol import LearnerStore


@pytest.fixture
def store(tmp_path: Path):
    opened = open_store(str(tmp_path / "shop.db"), "learner")
    yield opened
    opened.close()


def test_a_first_start_writes_keys_for_their_owner_alone(tmp_path: Path, store: LearnerStore) -> None:
    file = tmp_path / "shop.db.keys.toml"
    assert keys.make_missing(file, store, None) is True
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    table = tomllib.loads(file.read_text())
    assert set(table["keys"]) == {"admin", "shop", "auditor"}
    assert {key.role: key.digest for key in store.api_keys()} == {
        role: hashlib.sha256(key.encode()).digest() for role, key in table["keys"].items()
    }
    assert all(len(key.split("_", 2)[2]) >= 43 for key in table["keys"].values())  # 256 bits
    assert keys.make_missing(file, store, None) is False
    assert keys.read_secret(file, None) == table["customers"]["secret"].encode()


def test_a_secret_given_is_long_and_the_one_in_the_file(tmp_path: Path, store: LearnerStore) -> None:
    """With another secret one customer is two, and the cap on records does not hold."""
    file, given = tmp_path / "keys.toml", Secret("s" * 40)
    assert keys.read_secret(file, given) == b"s" * 40
    for work in (lambda: keys.make_missing(file, store, Secret("short")), lambda: keys.read_secret(file, Secret("x"))):
        with pytest.raises(InvalidInput, match="at least 32 characters"):
            work()
    assert not file.exists()
    keys.make_missing(file, store, given)
    assert keys.read_secret(file, given) == keys.read_secret(file, None) == b"s" * 40
    with pytest.raises(InvalidInput, match="is not the customers' secret") as caught:
        keys.read_secret(file, Secret("t" * 40))
    assert "ttt" not in str(caught.value)


def test_a_start_that_was_interrupted_is_finished(tmp_path: Path, store: LearnerStore) -> None:
    file = tmp_path / "keys.toml"
    keys.make_missing(file, store, None)
    for role in ("admin", "shop", "auditor"):
        store.remove_api_key(role)
    assert keys.make_missing(file, store, None) is True
    assert len(store.api_keys()) == 3


def test_without_the_file_a_known_store_is_refused(tmp_path: Path, store: LearnerStore) -> None:
    file = tmp_path / "keys.toml"
    keys.make_missing(file, store, None)
    file.unlink()
    with pytest.raises(InvalidInput, match="HUSHPRICE_CUSTOMER_SECRET"):
        keys.make_missing(file, store, None)
    assert keys.make_missing(file, store, Secret("s" * 40)) is False
    assert not file.exists()


@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [
        ("[keys]\n", 0o600, "lacks the customers' secret"),
        ('[customers]\nsecret = "short"\n', 0o600, "lacks the customers' secret"),
        ("secret secret secret", 0o600, "is not TOML"),
        (f'[customers]\nsecret = "{"s" * 64}"\n', 0o644, "owner alone"),
    ],
)
def test_a_keys_file_that_cannot_be_trusted_is_refused(tmp_path: Path, text: str, mode: int, said: str) -> None:
    file = tmp_path / "keys.toml"
    file.write_text(text)
    file.chmod(mode)
    with pytest.raises(InvalidInput, match=said) as caught:
        keys.read_secret(file, None)
    assert "secret secret" not in str(caught.value)


def test_a_key_is_found_by_its_text_and_by_nothing_else(store: LearnerStore) -> None:
    made = key_changes.add(store, "web-shop", "shop")
    ring = keys.Keyring(store.api_keys())
    assert ring.find(made.reveal().encode()) is not None
    for other in (b"", b"web-shop", keys.digest(made.reveal()), made.reveal().encode() + b" "):
        assert ring.find(other) is None


def test_keys_are_added_and_removed_by_name(store: LearnerStore) -> None:
    key_changes.add(store, "boss", "admin")
    for name, role, said in (("boss", "shop", "in use"), ("a b", "shop", "name must"), ("x", "king", "role must")):
        with pytest.raises(InvalidInput, match=said):
            key_changes.add(store, name, role)
    with pytest.raises(InvalidInput, match="last admin"):
        key_changes.remove(store, "boss")
    key_changes.add(store, "boss-2", "admin")
    key_changes.remove(store, "boss")
    with pytest.raises(InvalidInput, match="boss-2"):
        key_changes.remove(store, "boss")


def test_customer_keys_are_stored_under_a_secret() -> None:
    one, other = (keys.customer_digest(secret, "c-1") for secret in (b"a" * 32, b"b" * 32))
    assert one != other
    assert one != hashlib.sha256(b"c-1").digest()
    assert one == keys.customer_digest(b"a" * 32, "c-1")
