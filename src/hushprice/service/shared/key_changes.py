"""Adding, changing and removing API keys by hand."""

from __future__ import annotations

import datetime
import re
import time
from collections.abc import Sequence

import msgspec

from hushprice.errors import InvalidInput
from hushprice.service.shared.keys import ROLES, digest, new_key
from hushprice.service.shared.secret import Secret
from hushprice.service.store.protocol import LearnerStore
from hushprice.service.store.trail import UNSIGNED
from hushprice.service.store.values import ApiKey

_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")


class KeyLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What is given about a key, as text; None leaves it as it is, `never`, `all` and `none` lift a limit."""

    expires: str | None = None  # a date
    products: Sequence[str] | None = None
    quota: str | None = None  # quotes a day


def add(store: LearnerStore, name: str, role: str, limits: KeyLimits | None = None, by: str = UNSIGNED) -> Secret:
    """A new key; its text is in no other place than here."""
    if _NAME.fullmatch(name) is None:
        raise InvalidInput(f"name must have 1 to 64 letters, digits, '.', '_' or '-', got {name!r}")
    for each in ROLES:
        if each == role:
            if name in _known(store):
                raise InvalidInput(f"name {name!r} is in use; remove that key first")
            key = new_key(each)
            made = ApiKey(name, each, digest(key.reveal()))
            store.add_api_key(_limited(store, made, limits or KeyLimits()), by)
            return key
    raise InvalidInput(f"role must be one of {', '.join(ROLES)}, got {role!r}")


def change(store: LearnerStore, name: str, limits: KeyLimits, by: str = UNSIGNED) -> None:
    """Other limits for a key, from its next request on. Its text stays, and so do its quotes."""
    key = _find(store, name)
    changed = _limited(store, key, limits)
    if changed.expires is not None and _is_last_admin(store, key):
        raise InvalidInput(f"name {name!r} is the last admin key; add another one before it expires")
    store.add_api_key(changed, by)


def remove(store: LearnerStore, name: str, by: str = UNSIGNED) -> None:
    """No such key any more. The last admin key stays: without it nobody could declare a product."""
    if _is_last_admin(store, _find(store, name)):
        raise InvalidInput(f"name {name!r} is the last admin key; add another one first")
    store.remove_api_key(name, by)


def _known(store: LearnerStore) -> dict[str, ApiKey]:
    return {key.name: key for key in store.api_keys()}


def _find(store: LearnerStore, name: str) -> ApiKey:
    known = _known(store)
    if name not in known:
        raise InvalidInput(f"name must be one of {', '.join(known) or 'no keys'}, got {name!r}")
    return known[name]


def _is_last_admin(store: LearnerStore, key: ApiKey) -> bool:
    """Is it the only admin key that does not expire?"""
    lasting = [each.name for each in store.api_keys() if each.role == "admin" and each.expires is None]
    return lasting == [key.name]


def _limited(store: LearnerStore, key: ApiKey, limits: KeyLimits) -> ApiKey:
    expires, products, quota = key.expires, key.products, key.quota
    if limits.expires is not None:
        expires = None if limits.expires == "never" else _midnight(limits.expires)
    if limits.products is not None:
        products = () if list(limits.products) == ["all"] else tuple(sorted(set(limits.products)))
        unknown = set(products) - {product.name for product in store.products()}
        if unknown:
            raise InvalidInput(f"product: there is none of the name {sorted(unknown)[0]!r}")
    if limits.quota is not None:
        quota = None if limits.quota == "none" else _count(limits.quota)
    if key.role != "shop" and (products or quota is not None):
        raise InvalidInput(f"product, quota: are for keys of role shop, got role {key.role!r}")
    return msgspec.structs.replace(key, expires=expires, products=products, quota=quota)


def _midnight(text: str) -> float:
    try:
        date = datetime.date.fromisoformat(text)
    except ValueError:
        raise InvalidInput(f"expires must be a date such as 2030-01-31, or never, got {text!r}") from None
    at = datetime.datetime.combine(date, datetime.time(), datetime.UTC).timestamp()
    if at <= time.time():
        raise InvalidInput(f"expires must be a date to come, got {text!r}")
    return at


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:12]) >= 1 and len(text) <= 12):
        raise InvalidInput(f"quota must be a whole number from 1 on, or none, got {text!r}")
    return int(text)
