"""What other prices would have earned, with noise: a charged release that anybody may see.

Everything about a row is weighed, cut and scaled by public numbers, so that it adds a vector of length at most 1
(docs/proofs/log_values.md). How likely prices were is kept by the log, or counted first where the shop says that they
were drawn without a look at the customer. Intervals count sampling and noise; they are wider than need be, not less.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtri

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.logs.bounded import bounded
from hushprice.logs.price_policy import PricePolicy
from hushprice.logs.private_sums import Integers, SumPrice, noise_of, open_sums, release_sum
from hushprice.logs.propensities import Kind, LoggedPropensities, Propensities
from hushprice.logs.rows import Log, LogRows
from hushprice.logs.values import EarningsEstimate
from hushprice.logs.weighting import Way, Weighting
from hushprice.noise import System
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.ledger import Ledger
from hushprice.product import Product
from hushprice.types import FloatArray, IntArray

_COUNT, _WEIGHT, _WEIGHED, _DIRECT, _BELIEVED, _WEIGHT2, _WEIGHED2, _SURPRISE2, _DIRECT2 = range(9)
_SCALES = np.array([1.0] * 5 + [0.5] * 4)  # squares are for intervals alone, and bear more noise
_LENGTH = math.sqrt(float(_SCALES @ _SCALES))  # of a row whose every number is 1
_CELLS = 20  # of prices, where they are many
_PRICES = 0.25  # of the mu^2, where prices are counted first
_BANDWIDTH = 0.1  # of the range of prices


@dataclass(frozen=True, kw_only=True)
class ReleasedValues:
    """What a policy would have earned a visit, in the shop's currency, and what it cost whoever is in the log."""

    policy: str
    way: Way
    propensities: str
    level: float
    most_weight: float  # larger weights are cut
    rows: float  # noisy
    inverse_propensity: EarningsEstimate
    self_normalized: EarningsEstimate | None
    doubly_robust: EarningsEstimate
    ledger: Ledger
    answerable: bool
    verdict: str
    label: str = "RELEASE: noise is added and charged, for anybody"


class CountedPropensities:
    """Shares of prices, noisy and the same for everybody: prices were drawn without a look at the customer."""

    estimated = True

    def __init__(self, cells: FloatArray, shares: FloatArray, kind: Kind) -> None:
        self.label = f"released: noisy shares of {len(shares)} prices, drawn without a look at the customer"
        self.kind, self._cells = kind, cells
        width = 1.0 if kind == "probability" else float(cells[1] - cells[0])
        floor = 0.1 / len(shares)  # a share below is noise
        held = np.maximum(shares / max(float(shares.sum()), 1e-300), floor)
        self._likely = held / held.sum() / width

    def of(self, rows: LogRows) -> FloatArray:
        return np.asarray(self._likely[cell_of(rows.prices, self._cells, self.kind)])


def cell_of(prices: FloatArray, cells: FloatArray, kind: Kind) -> IntArray:
    """The nearest of a few prices, or the cell between edges."""
    if kind == "probability":
        return np.abs(prices[:, None] - cells).argmin(axis=1)
    return np.clip(np.searchsorted(cells, prices, side="right") - 1, 0, len(cells) - 2)


def release_values(
    log: Log,
    product: Product,
    policy: PricePolicy,
    *,
    epsilon: float,
    delta: float = 1e-6,
    prices: Sequence[float] = (),
    randomized: bool = False,
    propensity: Literal["probability", "density"] | None = None,
    most_weight: float = 20.0,
    rows_per_customer: int = 1,
    bandwidth: float | None = None,
    level: float = 0.95,
    source: Integers | None = None,
) -> ReleasedValues:
    """The worth of a policy's prices by a log, for anybody.

    `prices` are the few there were, in currency, if they were few: nothing of the log is looked at to find out.
    `randomized` says that prices were drawn without a look at the customer, so that their shares can be counted.
    """
    checks.at_least(1.0, most_weight=most_weight)
    checks.probability(level=level)
    kind: Kind = propensity or ("probability" if prices else "density")
    if kind == "probability" and not prices:
        raise InvalidInput("prices must be named where propensities are probabilities")
    choices = tuple(sorted(product.relative_of(each) for each in prices))
    shares = (
        (SumPrice(len(choices) or _CELLS, _PRICES), SumPrice(len(_SCALES), 1.0 - _PRICES))
        if randomized
        else (SumPrice(len(_SCALES)),)
    )
    ledger = open_sums(EpsilonDelta(epsilon, delta), shares, rows=rows_per_customer)
    held, noise = bounded(log, most=rows_per_customer), source or System()
    likely: Propensities = LoggedPropensities(kind, product.reach)
    if randomized:
        cells = np.array(choices) if choices else np.linspace(product.lowest, product.highest, _CELLS + 1)
        counted, ledger = release_sum(held, PriceCounts(cells, kind), ledger, 0, noise)
        likely = CountedPropensities(cells, np.maximum(counted, 0.0), kind)
    width = _BANDWIDTH * (product.highest - product.lowest) if bandwidth is None else bandwidth / product.reach
    weighting = Weighting(
        way="exact" if choices else "kernel",
        propensities=likely,
        ends=(product.lowest, product.highest),
        choices=choices,
        bandwidth=0.0 if choices else width,
        positive=True,
    )
    weighing = WeighedVisits(product, policy.among(choices), weighting, most_weight)
    sums, ledger = release_sum(held, weighing, ledger, len(shares) - 1, noise)
    deviation = noise_of(ledger, len(shares) - 1)
    return _answer(_Sums(sums, deviation, weighing, rows_per_customer, level), policy, weighting, ledger)


@dataclass(frozen=True)
class PriceCounts:
    """A row adds 1 to the cell of its price."""

    cells: FloatArray
    kind: Kind

    def __call__(self, rows: LogRows) -> FloatArray:
        count = len(self.cells) if self.kind == "probability" else len(self.cells) - 1
        return np.asarray(cell_of(rows.prices, self.cells, self.kind)[:, None] == np.arange(count)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class WeighedVisits:
    """A row's numbers in [0, 1]: weights over the largest, margins over the largest."""

    product: Product
    policy: PricePolicy
    weighting: Weighting
    most: float

    @property
    def largest(self) -> float:
        """What a visit can earn."""
        return (self.product.margin + self.product.highest) * self.product.reach * self.product.most

    def __call__(self, rows: LogRows) -> FloatArray:
        wanted = self.policy.prices(rows.contexts)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            weights = np.fmax(np.fmin(self._weights(rows, wanted), self.most), 0.0) / self.most
        margin = np.maximum(self.product.margin + wanted, 0.0) / (self.product.margin + self.product.highest)
        at_wanted, at_charged = (self.policy.demand(rows.contexts, each) for each in (wanted, rows.prices))
        share = weights * margin
        direct, weighed = margin * at_wanted, share * rows.demands
        surprise = share * (rows.demands - at_charged)
        numbers = [np.ones(len(wanted)), weights, weighed, direct, share * at_charged]
        squares = [weights * weights, weighed * weighed, surprise * surprise, direct * direct]
        return np.column_stack([*numbers, *squares]) * (_SCALES / _LENGTH)

    def _weights(self, rows: LogRows, wanted: FloatArray) -> FloatArray:
        """A row whose propensity cannot be read has no weight: a refusal would tell about it."""
        kept = rows.propensities
        if isinstance(self.weighting.propensities, LoggedPropensities):
            if kept is None:
                raise InvalidInput(
                    "the log keeps no propensities: keep them, or say that prices were randomized (--randomized)"
                )
            most = 1.0 if self.weighting.propensities.kind == "probability" else np.inf
            good = (kept > 0.0) & (kept <= most)
            rows = rows._replace(propensities=np.where(good, kept, 1.0))
            return np.where(good, self.weighting.weights(rows, wanted), 0.0)
        return self.weighting.weights(rows, wanted)


class _Sums:
    """Noisy means, and how uncertain they are."""

    def __init__(self, sums: FloatArray, noise: float, weighing: WeighedVisits, rows: int, level: float) -> None:
        scale = _LENGTH / _SCALES
        self.count = max(float(sums[_COUNT] * scale[_COUNT]), 1.0)
        self.means = sums * scale / self.count
        self.noise = noise * scale / self.count  # deviation of a mean
        self.unit = weighing.largest
        self.most = weighing.most
        self.level = level
        self._rows = rows
        self._away = float(ndtri(0.5 + 0.5 * level))

    def sampling(self, square: float) -> float:
        """The variance of a mean of numbers with this mean square: rows of one customer may all agree."""
        return max(square, 0.0) * self._rows / self.count

    def estimate(self, value: float, variance: float) -> EarningsEstimate:
        error = math.sqrt(variance) * self.unit
        value = float(value) * self.unit
        return EarningsEstimate(
            value=value, error=error, low=value - self._away * error, high=value + self._away * error
        )

    def square(self, place: int) -> float:
        """A mean square, raised by two deviations of its noise: an interval may be too wide, not too narrow."""
        return float(self.means[place] + 2.0 * self.noise[place])


def _answer(found: _Sums, policy: PricePolicy, weighting: Weighting, ledger: Ledger) -> ReleasedValues:
    means, noise, most = found.means, found.noise, found.most
    weighed = found.estimate(
        most * means[_WEIGHED], most**2 * (found.sampling(found.square(_WEIGHED2)) + noise[_WEIGHED] ** 2)
    )
    normal = None
    clear = bool(means[_WEIGHT] > 4.0 * noise[_WEIGHT])
    if clear:
        ratio = means[_WEIGHED] / means[_WEIGHT]
        spread = found.sampling(found.square(_WEIGHED2) + ratio**2 * found.square(_WEIGHT2))
        drawn = noise[_WEIGHED] ** 2 + ratio**2 * noise[_WEIGHT] ** 2
        normal = found.estimate(ratio, (spread + drawn) / means[_WEIGHT] ** 2)
    robust = found.estimate(
        means[_DIRECT] + most * (means[_WEIGHED] - means[_BELIEVED]),
        found.sampling(2.0 * most**2 * found.square(_SURPRISE2) + 2.0 * found.square(_DIRECT2))
        + noise[_DIRECT] ** 2
        + most**2 * (noise[_WEIGHED] ** 2 + noise[_BELIEVED] ** 2),
    )
    verdict = (
        f"The policy's prices were charged often enough to be told from the noise; weights above {most:g} are cut."
        if clear
        else "This log cannot answer at this epsilon: the policy's prices were charged too seldom for the noise."
    )
    return ReleasedValues(
        policy=policy.label,
        way=weighting.way,
        propensities=weighting.propensities.label,
        level=found.level,
        most_weight=most,
        rows=found.count,
        inverse_propensity=weighed,
        self_normalized=normal,
        doubly_robust=robust,
        ledger=ledger,
        answerable=clear,
        verdict=verdict,
    )


__all__ = ["ReleasedValues", "release_values"]
