"""Device memory that jobs hand on to each other: to free some, the driver waits for everything that runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

LEAST = 1 << 18  # bytes of a piece; smaller arrays take as much, so that any piece will do for them


class Memory:
    """Pieces of bytes that nobody uses now. `allocate` makes a new one, `clean` frees those that nobody holds."""

    def __init__(self, allocate: Callable[[int], Any], clean: Callable[[], None]) -> None:
        self._allocate, self._clean = allocate, clean
        self._lock, self._idle = threading.Lock(), list[Any]()

    def take(self, size: int) -> Any:
        """A piece of at least that many bytes: the smallest idle one, unless that is much too large, or a new one."""
        wanted = max(size, LEAST)
        with self._lock:
            fit = [piece for piece in self._idle if wanted <= piece.size <= 2 * wanted]
            if fit:
                best = min(fit, key=lambda piece: piece.size)
                self._idle = [piece for piece in self._idle if piece is not best]
                return best
        try:
            return self._allocate(wanted)
        except Exception as problem:
            if "OUT_OF_MEMORY" not in str(problem):
                raise
        with self._lock:
            self._idle.clear()
        self._clean()
        return self._allocate(wanted)

    def give(self, pieces: list[Any]) -> None:
        """Take pieces back, once the work that used them is done."""
        with self._lock:
            self._idle += pieces
        pieces.clear()

    @property
    def idle(self) -> int:
        """Bytes that nobody uses now."""
        with self._lock:
            return sum(piece.size for piece in self._idle)
