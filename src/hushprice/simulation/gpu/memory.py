"""Device memory in large pieces that jobs hand on to each other, cut by us.

To ask the driver for more, or to give some back, may wait for everything that runs. So a sweep asks once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ALIGNED = 512  # bytes; pieces begin at multiples, as the driver's own do


@dataclass(eq=False)
class Slab:
    """What the driver gave at once: an array of bytes, and the stretches of it that nobody uses, in order."""

    array: Any
    holes: list[tuple[int, int]]

    @property
    def unused(self) -> bool:
        return self.holes == [(0, self.array.size)]


@dataclass(frozen=True, eq=False)
class Piece:
    """Some bytes of a slab."""

    slab: Slab
    start: int
    stop: int

    @property
    def size(self) -> int:
        return self.stop - self.start

    def bytes(self, start: int, stop: int) -> Any:
        """A part of it, as an array."""
        return self.slab.array[self.start + start : self.start + stop]


class Memory:
    """Slabs; `allocate` makes one, `clean` frees those that nobody holds."""

    def __init__(self, allocate: Callable[[int], Any], clean: Callable[[], None]) -> None:
        self._allocate, self._clean = allocate, clean
        self._lock, self._slabs = threading.Lock(), list[Slab]()

    def hold(self, size: int) -> None:
        """Ask the driver for that much, unless so much is idle already."""
        if self.idle < size:
            self.give([self.take(size)])

    def take(self, size: int) -> Piece:
        """A piece of that many bytes, from the driver where no idle one is large enough."""
        with self._lock:
            wanted = aligned(size)
            return self._cut(wanted) or self._more(wanted)

    def take_idle(self, size: int, *, last: bool = False) -> Piece | None:
        """The same, if that needs no driver; `last`: from the end of what is idle, where it cuts up less for others."""
        with self._lock:
            return self._cut(aligned(size), last=last)

    def give(self, pieces: list[Piece]) -> None:
        """Take pieces back, once the work that used them is done."""
        with self._lock:
            for piece in pieces:
                piece.slab.holes = _joined([*piece.slab.holes, (piece.start, piece.stop)])
            pieces.clear()

    @property
    def idle(self) -> int:
        """Bytes that nobody uses now."""
        with self._lock:
            return sum(stop - start for slab in self._slabs for start, stop in slab.holes)

    def _cut(self, size: int, *, last: bool = False) -> Piece | None:
        """Out of the smallest hole that is large enough."""
        found = [(hole[1] - hole[0], at, hole) for at, slab in enumerate(self._slabs) for hole in slab.holes]
        fit = min((each for each in found if each[0] >= size), default=None)
        if fit is None:
            return None
        _, at, (start, stop) = fit
        slab = self._slabs[at]
        first = stop - size if last else start
        others = [hole for hole in slab.holes if hole[0] != start]
        slab.holes = _joined([*others, *(each for each in ((start, first), (first + size, stop)) if each[0] < each[1])])
        return Piece(slab, first, first + size)

    def _more(self, size: int) -> Piece:
        try:
            slab = Slab(self._allocate(size), [])
        except Exception as problem:
            if "OUT_OF_MEMORY" not in str(problem):
                raise
            self._slabs = [slab for slab in self._slabs if not slab.unused]
            self._clean()
            slab = Slab(self._allocate(size), [])
        self._slabs.append(slab)
        return Piece(slab, 0, size)


def aligned(size: int) -> int:
    """So many bytes, rounded up."""
    return -(-size // ALIGNED) * ALIGNED


def _joined(holes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """In order, neighbours made one."""
    found: list[tuple[int, int]] = []
    for start, stop in sorted(holes):
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], stop)
        else:
            found.append((start, stop))
    return found
