"""Ed25519 keys in files, and signatures with them."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from hushprice.errors import InvalidInput

# What is signed begins with this, so that a signature made here can never pass for one about something else.
_PURPOSE = b"hushprice certificate\n"


def new_key(path: str | Path) -> Path:
    """Make a key, in `path` for its owner alone, and its public half in `path`.pub, for everybody.

    Returns the second path. Nothing is ever overwritten: who loses a key cannot sign with it again.
    """
    private, public = Path(path), Path(f"{path}.pub")
    for file in (private, public):
        if file.exists():
            raise InvalidInput(f"key file {str(file)!r} exists already and is not overwritten")
    key = Ed25519PrivateKey.generate()
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    open_half = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    write_once(private, secret, 0o600, "key file")
    write_once(public, open_half, 0o644, "key file")
    return public


def write_once(path: Path, content: bytes, mode: int, what: str) -> None:
    """A new file with these permissions from its first moment; one that is there is left alone.

    It gets its name when it is complete: a crash in between leaves no half of a key, which nothing would overwrite.
    """
    try:
        beside = path.with_name(f"{path.name}.{secrets.token_hex(4)}.new")
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            with open(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            _name(beside, path)
        finally:
            beside.unlink(missing_ok=True)
    except FileExistsError:
        raise InvalidInput(f"{what} {str(path)!r} exists already and is not overwritten") from None
    except (OSError, ValueError) as problem:
        raise InvalidInput(f"{what} {str(path)!r} cannot be written: {problem}") from None


def _name(beside: Path, path: Path) -> None:
    """Name the file in one step that refuses a taken name; some disks know no second names, and there it is two."""
    try:
        os.link(beside, path)
    except FileExistsError:
        raise
    except OSError:
        if path.exists():
            raise FileExistsError from None
        beside.rename(path)


def read_key(path: str | Path) -> Ed25519PrivateKey:
    """The private key in a PEM file."""
    text = read_file(Path(path), "key file")
    try:
        key = serialization.load_pem_private_key(text, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):  # a type error is a key behind a passphrase
        raise InvalidInput(f"key file {str(path)!r} holds no private key that can be read") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise InvalidInput(f"key file {str(path)!r} holds a key of another kind than Ed25519")
    return key


def read_public_key(path: str | Path) -> str:
    """The public key in a PEM file, in hexadecimal."""
    text = read_file(Path(path), "public key file")
    try:
        key = serialization.load_pem_public_key(text)
    except (ValueError, UnsupportedAlgorithm):
        raise InvalidInput(f"public key file {str(path)!r} holds no public key") from None
    if not isinstance(key, Ed25519PublicKey):
        raise InvalidInput(f"public key file {str(path)!r} holds a key of another kind than Ed25519")
    return key.public_bytes_raw().hex()


def read_file(path: Path, what: str) -> bytes:
    """All of a file, or one line that says why not."""
    try:
        return path.read_bytes()
    except (OSError, ValueError) as problem:
        raise InvalidInput(f"{what} {str(path)!r} cannot be read: {problem}") from None


def public_half(key: Ed25519PrivateKey) -> str:
    """The public key that belongs to `key`, in hexadecimal."""
    return key.public_key().public_bytes_raw().hex()


def sign(key: Ed25519PrivateKey, final_hash: str) -> str:
    """The signature over a certificate's last hash, in hexadecimal."""
    return key.sign(_PURPOSE + final_hash.encode()).hex()


def is_signed(public_key: str, signature: str, final_hash: str) -> bool:
    """Did the holder of this public key sign this hash?"""
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
        key.verify(bytes.fromhex(signature), _PURPOSE + final_hash.encode())
    except (InvalidSignature, ValueError):
        return False
    return True
