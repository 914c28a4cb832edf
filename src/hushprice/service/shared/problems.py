"""Everything that can go wrong with a request, in one shape: {"error": {"code", "message", "field"}}.

A message names fields and public bounds. It never repeats a value that was sent: it may be a customer's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

_EXPECTED = re.compile(r"^(Expected .*?), got `(.*)`$")
_NAMED = re.compile(r"^Object (missing required|contains unknown) field `(.*)`$", flags=re.DOTALL)
_PLAIN = re.compile(r"^[A-Za-z0-9_.=-]{1,64}$")


class Complaint(msgspec.Struct, frozen=True):
    """What was wrong."""

    code: str  # one word for programs
    message: str  # one sentence for people
    field: str | None = None  # where in the request, such as attributes.age


class ErrorBody(msgspec.Struct, frozen=True):
    """The body of every answer that is not a success."""

    error: Complaint


class Problem(Exception):
    """A request that cannot be served, for a reason that its sender may know."""

    def __init__(
        self, status: int, code: str, message: str, field: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(code)
        self.status = status
        self.complaint = Complaint(code, message, field)
        self.headers = dict(headers or {})


def unauthorized() -> Problem:
    """No key, or one that nobody has: the answer is the same, so that it tells nothing."""
    return Problem(
        401,
        "unauthorized",
        "a known API key is needed: Authorization: Bearer KEY, or X-API-Key: KEY",
        headers={"www-authenticate": "Bearer"},
    )


def forbidden(roles: tuple[str, ...]) -> Problem:
    """A known key of another role."""
    return Problem(403, "forbidden", f"this call needs a key of role {' or '.join(roles)}")


def too_many(seconds: float) -> Problem:
    """The key's bucket is empty."""
    wait = max(1, -int(-seconds // 1))
    return Problem(429, "too_many_requests", "too many requests with this key", headers={"retry-after": str(wait)})


def too_many_visitors(seconds: float) -> Problem:
    """The line of those without a key is too long."""
    wait = max(1, -int(-seconds // 1))
    message = "too many requests without a key, from all addresses together; try again"
    return Problem(429, "too_many_visitors", message, headers={"retry-after": str(wait)})


def too_many_connections() -> Problem:
    """All connections that the key may have are in use."""
    message = "too many connections with this key; use fewer, or try again"
    return Problem(503, "too_many_connections", message, headers={"retry-after": "1", "connection": "close"})


def quota_used(quota: int, seconds: float) -> Problem:
    """The key has had its quotes for today."""
    wait = max(1, -int(-seconds // 1))
    message = f"this key has had its {quota} quotes for today (UTC)"
    return Problem(429, "quota_used", message, headers={"retry-after": str(wait)})


def product_not_allowed(field: str | None = None) -> Problem:
    """A key that is for other products."""
    return Problem(403, "forbidden", "this key may not quote this product", field)


def too_large(limit: int) -> Problem:
    """The body passes the limit; the server drops the rest as it comes."""
    return Problem(413, "too_large", f"a body may have {limit} bytes")


def invalid(field: str | None, message: str) -> Problem:
    """Well-formed JSON that says something that cannot be."""
    return Problem(422, "invalid", message, field)


def unknown_product(field: str | None = None) -> Problem:
    """No such product."""
    return Problem(404, "unknown_product", "there is no product of that name", field)


def retired(status: int = 410) -> Problem:
    """A product that is sold no more. 410 for a quote, 409 for a change."""
    return Problem(status, "product_retired", "the product is retired: no quotes, and no changes", "product")


def unknown_quote() -> Problem:
    """No such quote, or one of another key: the answer is the same, so that nobody can ask about others' quotes."""
    return Problem(404, "unknown_quote", "there is no quote of that id for this key", "id")


def store_away() -> Problem:
    """The database does not answer."""
    return Problem(503, "store_unavailable", "the store is away; try again", headers={"retry-after": "1"})


def busy() -> Problem:
    """So many ask for what takes long that more would only wait."""
    return Problem(503, "busy", "too many price maps are being drawn; try again", headers={"retry-after": "1"})


def key_not_looked_up() -> Problem:
    """The store is away, and this process does not remember the key."""
    message = "the store is away, and this key may have a quote there already; ask again, or without a key"
    return Problem(503, "store_unavailable", message, "Idempotency-Key", headers={"retry-after": "1"})


def internal() -> Problem:
    """A fault of ours. What happened is for the log, where it stands without values."""
    return Problem(500, "internal", "the service failed at this request")


def no_such_path() -> Problem:
    """Nothing is there."""
    return Problem(404, "not_found", "there is nothing at this path")


def other_method(allowed: str) -> Problem:
    """The path is there, for these methods."""
    return Problem(405, "method_not_allowed", "this path has another method", headers={"allow": allowed})


def not_json() -> Problem:
    """The body is no JSON, or no Unicode."""
    return Problem(400, "invalid_json", "the body is not JSON in UTF-8")


def of_validation(problem: msgspec.ValidationError) -> Problem:
    """msgspec's complaint in our shape: the field's name, and what was expected there."""
    text, _, where = str(problem).partition(" - at `$")
    path = re.sub(r"\[(\d+)\]", r".\1", where.rstrip("`").replace("[...]", "").replace("key in ", "")).lstrip(".")
    named = _NAMED.match(text)
    if named:
        name = named[2] if _PLAIN.match(named[2]) else None
        field = ".".join(part for part in (path, name) if part) or None
        return invalid(field, "the field is missing" if named[1] == "missing required" else "there is no such field")
    expected = _EXPECTED.match(text)
    if expected:
        message = f"{expected[1][:1].lower()}{expected[1][1:]}, got {expected[2]}"
        return invalid(path or None, message.replace("`", ""))
    if text.startswith("Expected"):
        return invalid(path or None, f"e{text[1:]}".replace("`", ""))
    # What is left (a value out of a list, a number out of range) may quote the value.
    return invalid(path or None, "the value is not one that is allowed here")
