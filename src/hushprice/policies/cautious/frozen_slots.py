"""Slots in which everybody pays today's price, because releases said that prices earn too little, or by hand.

Such a slot tells nothing about the rule, so it is learned like one of the holdout. Which slots these are follows from
releases and from acts by hand: never from the record in one of them, as long as who freezes looks at none.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable


class FrozenSlots:
    """Stretches of slots: each from its first slot up to, and without, its end; the last may have none yet."""

    def __init__(self, stretches: Iterable[tuple[int, int | None]] = ()) -> None:
        self.stretches = list(stretches)

    @property
    def now(self) -> bool:
        """Is the slot that comes next frozen?"""
        return bool(self.stretches) and self.stretches[-1][1] is None

    def begin(self, slot: int) -> None:
        """From this slot on; nothing changes where that is so already."""
        if not self.now:
            self.stretches.append((slot, None))

    def end(self, slot: int) -> None:
        """From this slot on no more."""
        if self.now:
            self.stretches[-1] = (self.stretches[-1][0], slot)

    def __contains__(self, slot: int) -> bool:
        return any(first <= slot and (end is None or slot < end) for first, end in self.stretches)

    @property
    def sound(self) -> bool:
        """Can stretches be so? Others were not made here."""
        ends = [(first, first if end is None else end) for first, end in self.stretches]
        return (
            all(end is not None for _, end in self.stretches[:-1])
            and all(1 <= first <= end for first, end in ends)
            and all(before[1] <= after[0] for before, after in itertools.pairwise(ends))
        )
