"""Sums of a log's rows in a fixed number of buckets, all rows of a customer in one: standard errors in one pass.

Customers are independent of each other, so squared deviations of bucket sums add up to the variance of the whole, as
those of customers would, whatever the number of rows each has; that variance is known to a share of sqrt(2 / buckets).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import stdtrit

from hushprice.logs.rows import LogRows
from hushprice.types import FloatArray, IntArray

BUCKETS = 4096
_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio, odd: neighbours' numbers end far apart


class BucketSums:
    """Sums of some columns, by bucket. Sensitive."""

    def __init__(self, columns: int) -> None:
        self.sums: FloatArray = np.zeros((BUCKETS, columns))
        self._used = np.zeros(BUCKETS, dtype=bool)

    def add(self, buckets: IntArray, columns: FloatArray) -> None:
        """Add rows of numbers to their buckets."""
        for column in range(self.sums.shape[1]):
            self.sums[:, column] += np.bincount(buckets, weights=columns[:, column], minlength=BUCKETS)
        self._used[buckets] = True

    @property
    def total(self) -> FloatArray:
        return np.asarray(self.sums.sum(axis=0))

    @property
    def used(self) -> int:
        """Buckets with a row."""
        return int(self._used.sum())

    def ratio(self, top: int, bottom: int) -> tuple[float, float]:
        """One column's sum over another's, and its standard error (linearized)."""
        total = self.total
        value = float(total[top] / total[bottom])
        moved = self.sums[:, top] - value * self.sums[:, bottom]
        return value, math.sqrt(float(moved @ moved) * self.widening) / abs(float(total[bottom]))

    @property
    def widening(self) -> float:
        """Of a variance, for the mean that was taken off."""
        return self.used / (self.used - 1) if self.used > 1 else math.inf

    def quantile(self, level: float) -> float:
        """Standard errors to either side of an interval at this level (Student's)."""
        return float(stdtrit(max(self.used - 1, 1), 0.5 + 0.5 * level))

    def __repr__(self) -> str:
        return "BucketSums(<sensitive>)"


def buckets_of(rows: LogRows) -> IntArray:
    """The bucket of every row: by its customer, or by its own number."""
    if rows.customers is None:
        return (rows.first + np.arange(len(rows.prices), dtype=np.int64)) % BUCKETS
    return (rows.customers.view(np.uint64) * _MIX >> np.uint64(52)).astype(np.int64)


def folds_of(rows: LogRows) -> IntArray:
    """The half, 0 or 1, of every row; all of a customer's are in one."""
    buckets = buckets_of(rows)
    return (buckets ^ (buckets >> 4) ^ (buckets >> 8)) & 1
