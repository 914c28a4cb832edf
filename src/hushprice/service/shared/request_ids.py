"""Which request is being answered: a short name that stands in the answer and in every log line about it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextvars import ContextVar

# Hexadecimal digits and dashes, as proxies draw them. A customer's name or address is none, and never gets into a log.
_DRAWN = re.compile(rb"[0-9A-Fa-f-]{16,64}")
_current: ContextVar[bytes] = ContextVar("request", default=b"")


def begin(headers: Iterable[tuple[bytes, bytes]]) -> None:
    """Name the request of this task: by its header X-Request-Id, or anew where that is missing or could be a name."""
    for name, value in headers:
        if name == b"x-request-id" and _DRAWN.fullmatch(value):
            _current.set(value)
            return
    _current.set(os.urandom(8).hex().encode())


def current() -> bytes:
    """The name of the request that this task answers; empty outside of one."""
    return _current.get()
