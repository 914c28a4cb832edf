"""Keys: made once, for their owner alone, and nothing else passes for one."""

from __future__ import annotations

import stat

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key

from hushprice.errors import InvalidInput
from hushprice.privacy.certificates import signing

PEM, PKCS8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8


def test_a_new_key_signs_and_is_its_owners_alone(tmp_path):
    public = signing.new_key(tmp_path / "shop.key")
    assert stat.S_IMODE((tmp_path / "shop.key").stat().st_mode) == 0o600
    key = signing.read_key(tmp_path / "shop.key")
    assert signing.read_public_key(public) == signing.public_half(key)
    signature = signing.sign(key, "ab" * 32)
    assert signing.is_signed(signing.public_half(key), signature, "ab" * 32)
    assert not signing.is_signed(signing.public_half(key), signature, "ac" * 32)
    assert not signing.is_signed("zz", signature, "ab" * 32)


@pytest.mark.parametrize("there", ["shop.key", "shop.key.pub"])
def test_no_key_is_overwritten(tmp_path, there):
    (tmp_path / there).write_text("precious")
    with pytest.raises(InvalidInput, match=f"{there}' exists already and is not overwritten"):
        signing.new_key(tmp_path / "shop.key")
    assert (tmp_path / there).read_text() == "precious"
    with pytest.raises(InvalidInput, match="exists already"):
        signing.write_once(tmp_path / there, b"", 0o600, "key file")


def test_a_key_that_cannot_be_written_or_read_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="cannot be written"):
        signing.new_key(tmp_path / "absent" / "shop.key")
    for read in (signing.read_key, signing.read_public_key):
        with pytest.raises(InvalidInput, match="cannot be read"):
            read(tmp_path / "absent.key")


def test_another_kind_of_key_is_refused(tmp_path):
    other = generate_private_key(SECP256R1())
    (tmp_path / "ec").write_bytes(other.private_bytes(PEM, PKCS8, serialization.NoEncryption()))
    public = serialization.PublicFormat.SubjectPublicKeyInfo
    (tmp_path / "ec.pub").write_bytes(other.public_key().public_bytes(PEM, public))
    with pytest.raises(InvalidInput, match="another kind than Ed25519"):
        signing.read_key(tmp_path / "ec")
    with pytest.raises(InvalidInput, match="another kind than Ed25519"):
        signing.read_public_key(tmp_path / "ec.pub")


def test_what_is_no_key_is_refused(tmp_path):
    signing.new_key(tmp_path / "shop.key")
    key = signing.read_key(tmp_path / "shop.key")
    locked = key.private_bytes(PEM, PKCS8, serialization.BestAvailableEncryption(b"secret"))
    for name, content in (("text", b"hello"), ("locked", locked)):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InvalidInput, match="holds no private key"):
            signing.read_key(tmp_path / name)
        with pytest.raises(InvalidInput, match="holds no public key"):
            signing.read_public_key(tmp_path / name)


def test_a_crash_leaves_no_half_of_a_key(tmp_path, monkeypatch):
    def dies(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", dies)
    with pytest.raises(KeyboardInterrupt):
        signing.new_key(tmp_path / "shop.key")
    monkeypatch.undo()
    assert not (tmp_path / "shop.key").exists()
    signing.new_key(tmp_path / "shop.key")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["shop.key", "shop.key.pub"]


def test_a_disk_without_second_names_keeps_keys_as_well(tmp_path, monkeypatch):
    def refused(*_):
        raise PermissionError

    monkeypatch.setattr("os.link", refused)
    signing.new_key(tmp_path / "shop.key")
    signing.read_key(tmp_path / "shop.key")
    with pytest.raises(InvalidInput, match="exists already and is not overwritten"):
        signing.write_once(tmp_path / "shop.key", b"", 0o600, "key file")
