"""One HTTP call: declared once, read by the router, by the checks in front of it and by the OpenAPI document."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from hushprice.service.shared import problems
from hushprice.service.shared.rate_limits import Bucket
from hushprice.service.store.values import ApiKey, Role

if TYPE_CHECKING:
    from hushprice.service.quoting.service_state import Service

JSON = b"application/json"


class Answer(msgspec.Struct, frozen=True):
    """A status and a body: a message, or bytes as they are."""

    status: int
    body: Any
    kind: bytes = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()


class CheckedRequest(msgspec.Struct, kw_only=True):
    """A request that passed the checks. Its body and query may hold a customer's values: it does not print."""

    key: ApiKey | None
    path: dict[str, str]
    query: bytes
    body: Any
    idempotency: bytes | None
    started: float
    bucket: Bucket | None = None

    def __repr__(self) -> str:
        return "CheckedRequest(<sensitive>)"

    def charge(self, count: int) -> None:
        """Take more tokens for a request that is more work than one; a Problem where there are too few."""
        wait = 0.0 if self.bucket is None else self.bucket.limits.take(self.bucket.name, self.started, count)
        if wait:
            raise problems.too_many(wait)

    def give_back(self) -> None:
        """Give a prepaid token back, where the store is away: who tells again until it is back has told nothing."""
        if self.bucket is not None and self.bucket.prepaid:
            self.bucket.limits.give_back(self.bucket.name, self.started)

    @property
    def sender(self) -> ApiKey:
        """The key of a call that needs one."""
        assert self.key is not None
        return self.key


Handler = Callable[["Service", CheckedRequest], Awaitable[Answer]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """A query parameter, for the document; `schema` is JSON Schema."""

    name: str
    description: str
    schema: dict[str, Any]
    required: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """What a call needs and answers. `reads` are public figures: without a key where the page is open."""

    method: str
    path: str
    name: str
    summary: str
    handler: Handler
    answers: dict[int, Any]  # success: a message type, or a media type
    roles: tuple[Role, ...] = ()  # none: nobody has to sign in
    takes: Literal["quotes", "outcomes", "others"] = "others"  # whose tokens a request of a key takes
    reads: bool = False
    body: Any = None
    decoder: msgspec.json.Decoder[Any] | None = None  # where it differs from the body's own
    refusals: dict[int, str] = field(default_factory=dict)  # besides those every call has
    query: tuple[Query, ...] = ()
    free_query: str | None = None  # what parameters of any name mean
    of_records: bool = False  # does whether and how it is answered depend on a customer's record?
    idempotent: bool = False  # does it read the header Idempotency-Key?
    tag: str = "service"
