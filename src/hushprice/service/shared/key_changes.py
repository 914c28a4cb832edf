"""Adding and removing API keys by hand."""

from __future__ import annotations

import re

from hushprice.errors import InvalidInput
from hushprice.service.shared.keys import ROLES, digest, new_key
from hushprice.service.shared.secret import Secret
from hushprice.service.store.protocol import LearnerStore
from hushprice.service.store.values import ApiKey

_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")


def add(store: LearnerStore, name: str, role: str) -> Secret:
    """A new key; its text is in no other place than here."""
    if _NAME.fullmatch(name) is None:
        raise InvalidInput(f"name must have 1 to 64 letters, digits, '.', '_' or '-', got {name!r}")
    for each in ROLES:
        if each == role:
            _refuse_known(store, name)
            key = new_key(each)
            store.add_api_key(ApiKey(name, each, digest(key.reveal())))
            return key
    raise InvalidInput(f"role must be one of {', '.join(ROLES)}, got {role!r}")


def remove(store: LearnerStore, name: str) -> None:
    """No such key any more. The last admin key stays: without it nobody could declare a product."""
    known = {key.name: key for key in store.api_keys()}
    if name not in known:
        raise InvalidInput(f"name must be one of {', '.join(known) or 'no keys'}, got {name!r}")
    if known[name].role == "admin" and sum(key.role == "admin" for key in known.values()) == 1:
        raise InvalidInput(f"name {name!r} is the last admin key; add another one first")
    store.remove_api_key(name)


def _refuse_known(store: LearnerStore, name: str) -> None:
    if any(key.name == name for key in store.api_keys()):
        raise InvalidInput(f"name {name!r} is in use; remove that key first")
