"""From rows to a release: whole numbers all the way, so that a release does not depend on where or how it was added.

Every number a row adds is cut to a multiple of 2^-40, and these are added without rounding. The sum is rounded once, to
the noise's grid. What cutting and rounding can move is charged (loss._of_fit).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hushprice.errors import InvalidInput
from hushprice.logs.fit.description import DescriptionPlan, described
from hushprice.logs.fit.row_columns import add_whole, hold
from hushprice.logs.fit.score_plan import ScorePlan
from hushprice.logs.rows import LogRows
from hushprice.mechanisms.whole_numbers import UNIT_BITS, round_bits
from hushprice.noise import NoiseSource, Normals, System
from hushprice.numerics import tape
from hushprice.privacy.events import grid_of
from hushprice.types import FloatArray, IntArray

_MOST_ROWS = 1 << 20  # added in 64 bits: no number is above 1, so sums stay below 2^60
AT_ONCE = 1 << 11  # rows: what is made of so many stays in a processor's own memory, which is several times as fast
_UNIT = 2.0**UNIT_BITS


@dataclass(frozen=True, slots=True)
class Adding:
    """What one pass adds up of a block of rows; may be sent to another process."""

    rows: int  # of a customer, at most; 1 where every row is a unit of its own
    plan: DescriptionPlan | ScorePlan | None = None  # None: descriptions of rows as they are

    def __post_init__(self) -> None:
        if self.plan is not None:
            self.plan.check()

    def __call__(self, block: LogRows) -> IntArray:
        """The block's sums, in units of 2^-40."""
        count, weights = len(block.prices), self.unit_weights(block)
        if count > _MOST_ROWS:
            raise InvalidInput(f"a block must have at most {_MOST_ROWS} rows, got {count}")
        total = self._added(block, weights, slice(0, AT_ONCE))
        for first in range(AT_ONCE, count, AT_ONCE):
            total = total + self._added(block, weights, slice(first, first + AT_ONCE))
        return total

    def _added(self, block: LogRows, weights: FloatArray, rows: slice) -> IntArray:
        """Some of the block's rows: each adds what it adds alone, so where pieces end plays no part."""
        given = np.vstack([block.contexts[rows].T, block.prices[rows], block.demands[rows]])
        weights = weights[rows].copy()
        hold(given, weights)
        x, (z, y) = given[:-2].T, given[-2:]
        numbers = self.plan.contributions(x, z, y) if isinstance(self.plan, ScorePlan) else described(x, z, self.plan)
        total = np.zeros(numbers.shape[1], dtype=np.int64)
        add_whole(np.ascontiguousarray(numbers.T), weights, _UNIT, total)
        return total

    def unit_weights(self, block: LogRows) -> FloatArray:
        """1 over the number of rows of the row's customer, who thus adds a mean; all of them are in this block."""
        if block.customers is None:
            if self.rows != 1:
                raise InvalidInput(f"rows_per_customer is {self.rows}, but a part of the log has no customers")
            return np.ones(len(block.prices))
        _, inverse, counts = np.unique(block.customers, return_inverse=True, return_counts=True)
        if counts.size and int(counts.max()) > self.rows:
            raise InvalidInput(f"a customer may have {self.rows} rows in a block, and one has more")
        return np.asarray(1.0 / counts[inverse])


def published(total: list[int], noise: float, source: NoiseSource, number: int) -> FloatArray:
    """The sums of pass `number` with noise of this deviation: exact and live, or from a simulation's tape."""
    if isinstance(source, System):
        shift = 1 - math.frexp(grid_of(noise))[1]
        drawn = source.integers(noise / grid_of(noise), len(total))
        values = [round_bits(value, UNIT_BITS - shift) + each for value, each in zip(total, drawn, strict=True)]
        return np.array([math.ldexp(value, -shift) for value in values], dtype=np.float64)
    if not isinstance(source, Normals):
        raise InvalidInput(f"source {source.label!r} gives no normals, which a fit needs")
    sums = np.array([math.ldexp(value, -UNIT_BITS) for value in total])
    return np.asarray(sums + noise * source.normals(tape.ESTIMATE_NOISE, number, len(total)))
