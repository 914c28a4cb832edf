"""Waiting for what another process or thread does: for that very thing, and as long as a slow machine takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE = 240.0  # seconds; only what never happens takes so long. A first start compiles
_PAUSE = 0.02

Value = TypeVar("Value")


def eventually(found: Callable[[], Value], seconds: float = PATIENCE) -> Value:
    """What `found` gives, once that is true."""
    until = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < until, f"it never happened; the last answer was {value!r}"
        time.sleep(_PAUSE)
    return value
