"""What a policy's prices would have earned a visit, from weighted rows: four estimates in one pass.

With wanted price pi, weight w, demand y, believed demand q and m what a purchase earns at pi:

    inverse propensity   mean of w m y
    self-normalized      sum of w m y / sum of w
    doubly robust        mean of q(x, pi) m + w m (y - q(x, price))
    replay               mean of m y over rows that were charged pi, thinned so that all were equally likely to stay

m is taken at pi, not at the price charged: a purchase's earnings are known, and only demand has to be carried over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hushprice.logs.buckets import BucketSums, buckets_of
from hushprice.logs.price_policy import PricePolicy
from hushprice.logs.rows import LogRows
from hushprice.logs.weighting import Weighting
from hushprice.product import Product
from hushprice.types import FloatArray, IntArray

ONE, WEIGHT, WEIGHED, ROBUST, LOGGED, GAIN, KEPT, REPLAYED = range(8)
Demand = Callable[[LogRows, FloatArray], FloatArray]  # believed of rows at relative prices
_MIX = np.uint64(0xD1342543DE82EF95)  # an odd multiplier (Steele and Vigna, 2021): a row's coin


@dataclass(frozen=True, kw_only=True)
class EarningsEstimate:
    """Earnings of a visit in the shop's currency, with an interval."""

    value: float
    error: float  # standard
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Overlap:
    """How far the log's prices and the policy's meet."""

    rows: int
    weighted: int  # rows with a weight
    effective: float  # rows of equal weight that would say as much
    largest: float  # share of all weight that one row has, at most
    never: int  # rows whose wanted price nobody was charged


class ValueSums:
    """Everything of one pass. Sensitive."""

    def __init__(self, product: Product, policy: PricePolicy, weighting: Weighting, demand: Demand) -> None:
        self._product, self._policy, self._weighting, self._demand = product, policy, weighting, demand
        self.sums = BucketSums(8)
        self.least = 1.0  # propensity, of a matched row
        self._counts: IntArray = np.zeros(3, dtype=np.int64)  # rows, with a weight, never charged
        self._squares, self._largest = 0.0, 0.0

    def add(self, rows: LogRows) -> None:
        """Take a block of rows."""
        wanted = self._policy.prices(rows.contexts)
        weights = self._weighting.weights(rows, wanted)
        product = self._product
        unit = product.reach * product.most  # of a margin times a demand
        margin, charged = (product.margin + wanted) * unit, (product.margin + rows.prices) * unit
        known = self._demand(rows, np.stack([wanted, rows.prices]))
        robust = margin * (known[0] + weights * (rows.demands - known[1]))
        logged = charged * rows.demands
        kept = self._kept(rows, weights)
        weighed = weights * margin * rows.demands
        columns = [np.ones(len(wanted)), weights, weighed, robust, logged, robust - logged, kept]
        self.sums.add(buckets_of(rows), np.column_stack([*columns, kept * margin * rows.demands]))
        self._counts += [len(wanted), int((weights != 0.0).sum()), int(self._weighting.never(wanted).sum())]
        self._squares += float(weights @ weights)
        self._largest = max(self._largest, float(np.abs(weights).max(initial=0.0)))

    def _kept(self, rows: LogRows, weights: FloatArray) -> FloatArray:
        """Rows that a replay keeps: matched, by a coin of their number with the chance least / propensity."""
        if self._weighting.way != "exact":
            return np.zeros(len(weights))
        numbers = np.arange(rows.first + 1, rows.first + 1 + len(weights), dtype=np.uint64)
        coins = ((numbers * _MIX) ^ (numbers * _MIX >> np.uint64(29))) * _MIX >> np.uint64(11)
        return ((weights > 0.0) & (coins * 2.0**-53 * 1.0 < self.least * weights)).astype(np.float64)

    @property
    def overlap(self) -> Overlap:
        rows, weighted, never = (int(each) for each in self._counts)
        total = float(self.sums.total[WEIGHT])
        return Overlap(
            rows=rows,
            weighted=weighted,
            effective=total * total / self._squares if self._squares > 0.0 else 0.0,
            largest=self._largest / total if total > 0.0 else 0.0,
            never=never,
        )

    def estimate(self, top: int, bottom: int, level: float) -> EarningsEstimate | None:
        """One column's sum over another's; None where there is nothing to divide by."""
        if not self.sums.total[bottom] > 0.0 or self.sums.used < 2:
            return None
        value, error = self.sums.ratio(top, bottom)
        away = self.sums.quantile(level) * error
        return EarningsEstimate(value=value, error=error, low=value - away, high=value + away)

    def __repr__(self) -> str:
        return "ValueSums(<sensitive>)"
