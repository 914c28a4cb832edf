"""API keys and the secret for customer keys: made on the first start, kept in a file for its owner alone.

The store holds SHA-256 digests of API keys. A key has 256 random bits, so nobody can guess one from its digest, and
a slow hash would only slow quotes down.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from hushprice.errors import InvalidInput, first_line
from hushprice.privacy.certificates.signing import write_once
from hushprice.service.shared.secret import Secret
from hushprice.service.store.trail import FIRST_START
from hushprice.service.store.values import ApiKey, Role

ROLES: tuple[Role, ...] = ("admin", "shop", "auditor")
_BYTES = 32


class KeyStore(Protocol):
    """The part of a store that this file needs."""

    def api_keys(self) -> list[ApiKey]: ...
    def add_api_key(self, key: ApiKey, by: str = ...) -> None: ...


def digest(key: str) -> bytes:
    """What the store keeps of a key."""
    return hashlib.sha256(key.encode()).digest()


def new_key(role: Role) -> Secret:
    """A fresh key; its role stands in front, so that one put in the wrong place can be recognized."""
    return Secret(f"hp_{role}_{secrets.token_urlsafe(_BYTES)}")


class Keyring:
    """Known keys, found by their digests. Looking one up tells its digest at most, which is no help."""

    def __init__(self, keys: Iterable[ApiKey] = ()) -> None:
        self._by_digest = {key.digest: key for key in keys}

    @property
    def quotas(self) -> bool:
        """Has some key a quota?"""
        return any(key.quota is not None for key in self._by_digest.values())

    def find(self, key: bytes) -> ApiKey | None:
        """The API key that these bytes are; none where it has expired."""
        wanted = hashlib.sha256(key).digest()
        known = self._by_digest.get(wanted)
        if known is None or not hmac.compare_digest(known.digest, wanted):
            return None
        return None if known.expires is not None and time.time() >= known.expires else known


def customer_digest(secret: bytes, customer: str) -> bytes:
    """What the store keeps of a customer key: without the secret nobody can try out names on it."""
    return hmac.digest(secret, customer.encode(), "sha256")


def make_missing(file: Path, store: KeyStore, set_secret: Secret | None) -> bool:
    """On a first start make keys, and write them to `file`; was it one?

    A store with keys and a machine without their file is no first start. A new secret would make one customer two, and
    the cap on records would not hold; so that is refused.
    """
    _check_set_secret(set_secret)
    known = store.api_keys()
    if not file.exists():
        if known:
            if set_secret is None:
                raise InvalidInput(
                    f"the store has API keys, but their file {str(file)!r} is missing: copy it from where the service "
                    "was first started, or set HUSHPRICE_CUSTOMER_SECRET to the secret in it"
                )
            return False
        # The file first: keys that are in the store and in no file would lock everybody out.
        secret = secrets.token_hex(_BYTES) if set_secret is None else set_secret.reveal()
        write_once(file, _written({role: new_key(role) for role in ROLES}, secret), 0o600, "keys file")
    elif known:
        return False
    for role in ROLES:
        key = _table(file).get("keys", {}).get(role)
        if isinstance(key, str):
            store.add_api_key(ApiKey(role, role, digest(key)), FIRST_START)
    return True


def read_secret(file: Path, set_secret: Secret | None) -> bytes:
    """The secret for customer keys: the one given, or the one in the file. Two that differ are refused.

    One of them is not what the store's customer keys are under, and with it one customer would be two.
    """
    _check_set_secret(set_secret)
    if set_secret is None:
        return _read(file)
    if file.exists() and _read(file) != set_secret.reveal().encode():
        raise InvalidInput(f"HUSHPRICE_CUSTOMER_SECRET is not the customers' secret in {str(file)!r}")
    return set_secret.reveal().encode()


def _check_set_secret(set_secret: Secret | None) -> None:
    if set_secret is not None and len(set_secret.reveal()) < _BYTES:
        raise InvalidInput(f"HUSHPRICE_CUSTOMER_SECRET must have at least {_BYTES} characters, or it can be guessed")


def _read(file: Path) -> bytes:
    customers = _table(file).get("customers", {}).get("secret")
    if not (isinstance(customers, str) and len(customers) >= _BYTES):
        raise InvalidInput(f"keys file {str(file)!r} lacks the customers' secret")
    if file.stat().st_mode & 0o077:
        raise InvalidInput(f"keys file {str(file)!r} must be for its owner alone: chmod 600 it")
    return customers.encode()


def _table(file: Path) -> dict[str, dict[str, object]]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as problem:
        raise InvalidInput(f"keys file {str(file)!r} cannot be read: {first_line(problem)}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):  # their messages may show what is in it
        raise InvalidInput(f"keys file {str(file)!r} is not TOML") from None


def _written(keys: dict[Role, Secret], customers: str) -> bytes:
    lines = [
        "# API keys of this service, made on its first start. Keep them secret; the store has only their digests.",
        "[keys]",
        *(f'{role} = "{key.reveal()}"' for role, key in keys.items()),
        "",
        "# Customer keys are stored under this secret. Without it caps on records per customer no longer hold,",
        "# and customers can no longer be forgotten: keep a copy.",
        "[customers]",
        f'secret = "{customers}"',
        "",
    ]
    return "\n".join(lines).encode()
