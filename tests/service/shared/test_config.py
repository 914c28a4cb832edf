"""Settings: file, environment and flags, refused by name, with secrets that do not print."""

from __future__ import annotations

from pathlib import Path

import pytest

from hushprice.errors import InvalidInput
from hushprice.service.shared.child_settings import ChildSettings, decode, encode
from hushprice.service.shared.config import NAMES, ServiceSettings, build, read, variable
from hushprice.service.shared.secret import Secret


def written(folder: Path, text: str) -> Path:
    file = folder / "shop.toml"
    file.write_text(text)
    return file


def test_flags_come_before_the_environment_and_that_before_the_file(tmp_path: Path) -> None:
    file = written(tmp_path, 'port = 1\noperator_port = 1\nhost = "::1"\n[quotes]\ndurable = false\n')
    found = read(file, {"HUSHPRICE_PORT": "2", "HUSHPRICE_OPERATOR_PORT": "2"}, {"port": 3, "role": None})
    assert (found.port, found.operator_port, found.host, found.quotes.durable) == (3, 2, "::1", False)
    assert read(file, {"HUSHPRICE_QUOTES_DURABLE": "true"}, {}).quotes.durable is True


def test_without_anything_the_service_is_local_durable_and_on_sqlite() -> None:
    found = read(None, {}, {})
    assert (found.host, found.port, found.operator_port, found.role) == ("127.0.0.1", 8787, 8788, "all")
    assert found.quotes.durable
    assert not found.postgres


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prot = 1", "'prot'; did you mean 'port'?"),
        ("[quotes]\ndurble = true", "'quotes.durble'; did you mean 'quotes.durable'?"),
        ("[other]\nx = 1", "'other.x'"),
        ("port = 99999", "setting port: expected `int` <= 65535, got 99999"),
        ('port = "many"', "setting port: expected `int`, got 'many'"),
        ('role = "king"', "setting role: invalid enum value 'king', got 'king'"),
        ("rate_per_second = 0", "setting rate_per_second: expected `float` > 0.0, got 0"),
        ('[quotes]\ndurable = "maybe"', "setting quotes.durable: expected `bool`, got 'maybe'"),
        ('store = ""', "setting store"),
        ("port = ", "is not TOML"),
        ('customer_secret = "x"', "HUSHPRICE_CUSTOMER_SECRET"),
    ],
)
def test_a_bad_setting_is_refused_by_name(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=r"^[^\n]*$") as caught:
        read(written(tmp_path, text), {}, {})
    assert said in str(caught.value)


def test_a_variable_that_nobody_declared_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match="'HUSHPRICE_PROT'; did you mean 'HUSHPRICE_PORT'"):
        read(None, {"HUSHPRICE_PROT": "1"}, {})
    assert read(None, {"HUSHPRICE_URL": "http://x", "HUSHPRICE_KEY": "y", "OTHER": "z"}, {}) == ServiceSettings()


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        read(tmp_path / "none.toml", {}, {})


def test_every_setting_has_a_variable() -> None:
    assert {variable(name) for name in NAMES} >= {"HUSHPRICE_STORE", "HUSHPRICE_QUOTES_DURABLE"}
    fields = set(ServiceSettings.__struct_fields__) - {"quotes"} | {"quotes.durable"}
    assert fields == set(NAMES)


def test_secrets_do_not_print_and_reach_a_child_whole() -> None:
    settings = build({"store": "postgresql://me:hunter2@host/db", "customer_secret": "hunter3"})
    for text in (repr(settings), str(settings), f"{settings.store}", f"{settings.store!r}"):
        assert "hunter" not in text
    child = decode(encode(ChildSettings(settings, 5)))
    assert child.settings == settings
    assert child.settings.store.reveal() == "postgresql://me:hunter2@host/db"
    with pytest.raises(TypeError):
        Secret("x").__reduce__()


@pytest.mark.parametrize(
    "store",
    [
        "postgresql:/me:hunter2@host/db",
        "Postgres:me:hunter2@host",
        "mysql://me:hunter2@host/db",
        "host=db user=me password=hunter2",
        "host=db PASSWORD = hunter2",
        "postgres//me:hunter2@host/db",
        "me:hunt/er2@host/db",
        "postgresql//me:hunter2@host/db",
        "postgresq//hunter2@host/db",
        "//me:hunter2@host/db",
        "me:hunter2@host/db",
        "me:hunter2@host:5432",
        "postgres//host/db?user=me&passwd=hunter2",
    ],
)
def test_a_misspelt_address_is_not_taken_for_a_file_whose_name_is_shown(store: str) -> None:
    for given in ({"store": store}, {"store": "postgresql://host/db", "learner_store": store}):
        with pytest.raises(InvalidInput, match=r"^setting (learner_)?store: must be") as caught:
            build(given)
        assert "hunter" not in str(caught.value)


@pytest.mark.parametrize("name", ["customer_secret", "quoter_password", "store", "learner_store", "port"])
def test_a_bad_value_that_may_be_a_secret_is_not_shown(name: str) -> None:
    for value in ("postgresql://me:hunter2@host/db", ["hunter2"]):
        if name == "port" or not isinstance(value, str):
            with pytest.raises(InvalidInput, match=f"^setting {name}: ") as caught:
                build({"store": "postgresql://host/db", name: value})
            assert ("hunter" in str(caught.value)) == (name == "port" and value == ["hunter2"])


def test_the_learners_own_address_is_of_postgresql_as_the_store_is() -> None:
    with pytest.raises(InvalidInput, match=r"^setting learner_store: must be"):
        build({"store": "shop.db", "learner_store": "postgresql://owner@host/db"})
    found = build({"store": "postgresql://quoter@host/db", "learner_store": "postgresql://owner@host/db"})
    assert found.learner_address.reveal() == "postgresql://owner@host/db"


def test_files_lie_beside_a_sqlite_file_and_in_state_dir_for_postgresql() -> None:
    assert build({"store": "shop.db"}).beside_store(".keys.toml") == Path("shop.db.keys.toml")
    found = build({"store": "postgresql://host/db", "state_dir": "/var/x"})
    assert found.beside_store(".keys.toml") == Path("/var/x/hushprice.keys.toml")


def test_a_user_without_a_home_is_told_to_set_state_dir(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other folder will do: what was seen of the store would be lost with it, and nobody would notice."""
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", "")

    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(InvalidInput, match="state_dir: this user has no home folder"):
        _ = read(None, {}, {}).own_dir
    assert read(None, {"HUSHPRICE_STATE_DIR": "/var/x"}, {}).own_dir == Path("/var/x")


def test_the_operators_port_stays_local_whatever_the_public_address() -> None:
    found = read(None, {"HUSHPRICE_HOST": "0.0.0.0"}, {})
    assert (found.host, found.operator_host) == ("0.0.0.0", "127.0.0.1")
    assert read(None, {"HUSHPRICE_OPERATOR_HOST": "10.0.0.7"}, {}).operator_host == "10.0.0.7"
