"""Device memory in large slabs, cut into blocks that jobs hand on to each other.

To ask the driver for more, or to give some back, may wait for everything that runs. So a sweep asks once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ALIGNED = 512  # bytes; blocks begin at multiples, as the driver's own do


@dataclass(eq=False)
class Slab:
    """What the driver gave at once: an array of bytes, and the stretches of it that nobody uses, in order."""

    array: Any
    holes: list[tuple[int, int]]

    @property
    def unused(self) -> bool:
        return self.holes == [(0, self.array.size)]


@dataclass(frozen=True, eq=False)
class MemoryBlock:
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


class MemoryPool:
    """Slabs; `allocate` makes one, `clean` frees those that nobody uses."""

    def __init__(self, allocate: Callable[[int], Any], clean: Callable[[], None]) -> None:
        self._allocate, self._clean = allocate, clean
        self._lock, self._slabs = threading.Lock(), list[Slab]()

    def reserve(self, size: int) -> None:
        """Ask the driver for that much, unless so much is idle already."""
        if self.idle < size:
            self.give([self.take(size)])

    def take(self, size: int) -> MemoryBlock:
        """A block of that many bytes, from the driver where no idle one is large enough."""
        with self._lock:
            wanted = aligned(size)
            return self._cut(wanted) or self._more(wanted)

    def take_idle(self, size: int, *, last: bool = False) -> MemoryBlock | None:
        """A block, if that needs no driver; `last`: from the end of what is idle, where it cuts up less for others."""
        with self._lock:
            return self._cut(aligned(size), last=last)

    def give(self, blocks: list[MemoryBlock]) -> None:
        """Take blocks back, once the work that used them is done."""
        with self._lock:
            for block in blocks:
                block.slab.holes = _joined([*block.slab.holes, (block.start, block.stop)])
            blocks.clear()

    @property
    def idle(self) -> int:
        """Bytes that nobody uses now."""
        with self._lock:
            return sum(stop - start for slab in self._slabs for start, stop in slab.holes)

    def _cut(self, size: int, *, last: bool = False) -> MemoryBlock | None:
        """Out of the smallest hole that is large enough."""
        holes = [(hole[1] - hole[0], at, hole) for at, slab in enumerate(self._slabs) for hole in slab.holes]
        fit = min((each for each in holes if each[0] >= size), default=None)
        if fit is None:
            return None
        _, at, (start, stop) = fit
        slab = self._slabs[at]
        first = stop - size if last else start
        others = [hole for hole in slab.holes if hole[0] != start]
        slab.holes = _joined([*others, *(each for each in ((start, first), (first + size, stop)) if each[0] < each[1])])
        return MemoryBlock(slab, first, first + size)

    def _more(self, size: int) -> MemoryBlock:
        try:
            slab = Slab(self._allocate(size), [])
        except Exception as problem:
            if "OUT_OF_MEMORY" not in str(problem):
                raise
            self._slabs = [slab for slab in self._slabs if not slab.unused]
            self._clean()
            slab = Slab(self._allocate(size), [])
        self._slabs.append(slab)
        return MemoryBlock(slab, 0, size)


def aligned(size: int) -> int:
    """A number of bytes, rounded up to what arrays are aligned to."""
    return -(-size // ALIGNED) * ALIGNED


def _joined(holes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Holes in order, those side by side made one."""
    joined: list[tuple[int, int]] = []
    for start, stop in sorted(holes):
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], stop)
        else:
            joined.append((start, stop))
    return joined
