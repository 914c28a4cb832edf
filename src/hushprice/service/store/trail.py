"""Who did what by hand, and the digest of it that certificates sign: what was signed once cannot be rewritten."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from hushprice.service.shared.times import rfc3339
from hushprice.service.store.values import ApiKey

UNSIGNED = "unknown"  # who did it, where the caller does not say
FIRST_START = "first start"
TRAIL_COLUMNS = "at, actor, what, about, detail, nonce"

Act = Literal[
    "create product", "freeze", "resume", "retire", "rules", "reference price", "forget customer", "add key",
    "change key", "remove key",
]  # fmt: skip


class TrailEntry(msgspec.Struct, frozen=True):
    """One act. A customer who was forgotten is not named."""

    at: float  # wall-clock, seconds since 1970
    actor: str  # an API key by name and digest, or a user of the command line
    what: Act
    about: str  # a product or a key, by name; nothing where a customer was forgotten
    detail: str
    nonce: bytes

    def __repr__(self) -> str:
        return f"TrailEntry({self.what!r}, {self.about!r})"


def key_detail(key: ApiKey) -> str:
    """What a key may do, and which one it is: a name may be given to another key later."""
    limits = {"expires": key.expires and rfc3339(key.expires), "products": key.products, "quota": key.quota}
    given = msgspec.json.encode({name: value for name, value in limits.items() if value}).decode()
    return f"{key.role} {key.identity} {given}"


def heads(entries: Iterable[TrailEntry]) -> Iterator[str]:
    """The digest after each entry: SHA-256 of the digest before it and of the entry, so none can be left out."""
    head = b""
    for entry in entries:
        head = hashlib.sha256(head + msgspec.json.encode(msgspec.structs.astuple(entry))).digest()
        yield head.hex()


def head_of(entries: Iterable[TrailEntry]) -> str | None:
    """The digest after the last entry; None where nobody did anything."""
    last = None
    for last in heads(entries):  # noqa: B007 - the last one is wanted
        pass
    return last
