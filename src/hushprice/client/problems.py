"""What a client raises: the service is away, or it refused and said why."""

from __future__ import annotations

import msgspec

from hushprice import errors


class ServiceAway(errors.HushpriceError):
    """No answer in time, no connection, or "not now" (5xx, 429). Nothing is known of what became of the request."""

    def __init__(self, message: str, *, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after  # seconds, where the service said so


class Refused(errors.HushpriceError):
    """The service answered no. `code` and `field` are for programs, the message is the service's own."""

    def __init__(self, message: str, *, status: int, code: str, field: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.field = field


class Conflict(Refused):
    """Something else was said before: another outcome of this quote, another request with this Idempotency-Key."""


class UnknownQuote(Refused, errors.UnknownQuote):
    """No quote of this key has that id."""


class _Error(msgspec.Struct):
    code: str
    message: str
    field: str | None = None


class _Body(msgspec.Struct):
    error: _Error


_DECODER = msgspec.json.Decoder(_Body)


def refusal(status: int, body: bytes, *, outcome: bool = False) -> Refused:
    """The error that an answer of 4xx stands for; a proxy's page instead of ours becomes a plain one."""
    try:
        error = _DECODER.decode(body).error
    except (msgspec.DecodeError, UnicodeDecodeError):
        error = _Error(code="unreadable", message=f"the service answered {status} without saying why")
    kind = Conflict if status == 409 else UnknownQuote if outcome and status == 404 else Refused
    return kind(error.message, status=status, code=error.code, field=error.field)
