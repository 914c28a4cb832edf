"""Which request is being answered: a short name that stands in the answer and in every log line about it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextvars import ContextVar

# Hexadecimal digits and dashes, as proxies draw them. A customer's name or address is none, and never gets into a log.
_DRAWN = re.compile(rb"[0-9A-Fa-f-]{16,64}")
_SIZE, _AT_ONCE = 8, 512
_unused: list[bytes] = []  # drawn in blocks: a call for each request would hand the interpreter's lock over
_current: ContextVar[bytes] = ContextVar("request", default=b"")


def begin(headers: Iterable[tuple[bytes, bytes]]) -> None:
    """Name the request of this task: by its header X-Request-Id, or anew where that is missing or could be a name.

    For the event loop's thread.
    """
    for name, value in headers:
        if name == b"x-request-id" and _DRAWN.fullmatch(value):
            _current.set(value)
            return
    if not _unused:
        block = os.urandom(_SIZE * _AT_ONCE).hex().encode()
        _unused.extend(block[start : start + 2 * _SIZE] for start in range(0, len(block), 2 * _SIZE))
    _current.set(_unused.pop())


def current() -> bytes:
    """The name of the request that this task answers; empty outside of one."""
    return _current.get()
