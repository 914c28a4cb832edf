"""What a log says that other prices would have earned: exact, for the operator alone.

`release_values.py` is the same question answered with noise, for anybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hushprice import checks
from hushprice.logs import values
from hushprice.logs.crossed_demand import fit_crossed
from hushprice.logs.log_reader import LogReader, Progress, silent
from hushprice.logs.price_policy import PricePolicy
from hushprice.logs.propensities import (
    Kind,
    LoggedPropensities,
    Propensities,
    fit_choices,
    fit_spread,
)
from hushprice.logs.rows import Log
from hushprice.logs.survey import Survey, survey
from hushprice.logs.values import EarningsEstimate, Overlap, ValueSums
from hushprice.logs.weighting import Way, Weighting
from hushprice.product import Product

EXACT = "EXACT, for the operator alone: computed from rows without noise"
_LEAST_EFFECTIVE = 50.0
_MOST_NEVER = 0.05
_MOST_LARGEST = 0.1
_ALMOST = 0.25  # of the bandwidth
_BANDWIDTH = 1.5  # deviations of the price, at one row; falls with rows^-1/5


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What a policy would have earned a visit, in the shop's currency, and whether the log can say so."""

    policy: str
    way: Way
    bandwidth: float | None  # of the kernel, in the shop's currency
    propensities: str
    level: float  # of the intervals
    logged: EarningsEstimate | None  # what the log's own prices earned
    inverse_propensity: EarningsEstimate | None
    self_normalized: EarningsEstimate | None
    doubly_robust: EarningsEstimate | None
    gain: EarningsEstimate | None  # doubly robust, over the log's own prices
    replay: EarningsEstimate | None
    replayed: int  # rows that a replay kept
    overlap: Overlap
    answerable: bool
    verdict: str
    label: str = EXACT


def evaluate_log(
    log: Log,
    product: Product,
    policy: PricePolicy,
    *,
    propensity: Literal["auto", "probability", "density", "estimate"] = "auto",
    bandwidth: float | None = None,
    level: float = 0.95,
    progress: Progress = silent,
) -> Evaluation:
    """The worth of a policy's prices by a log.

    `propensity` says what the log's column holds; auto: probabilities where there are at most 16 prices, densities per
    unit of currency where there are more, and an estimate where there is no such column. `bandwidth` is in currency.
    """
    checks.one_of(("auto", "probability", "density", "estimate"), propensity=propensity)
    checks.probability(level=level)
    if bandwidth is not None:
        checks.positive(bandwidth=bandwidth)
    reader = LogReader(log, progress)
    found = survey(reader, product.contexts)
    weighting = _weighting(found, product, propensity, bandwidth, reader)
    held = policy.among(weighting.choices)
    demand = fit_crossed(policy.model, reader)
    sums = ValueSums(product, held, weighting, demand.expected)
    if weighting.way == "exact":
        sums.least = _least(reader, held, weighting)
    for rows in reader.rows():
        sums.add(rows)
    return _answer(product, held, weighting, sums, level)


def _weighting(
    found: Survey, product: Product, propensity: str, bandwidth: float | None, reader: LogReader
) -> Weighting:
    kind: Kind = "probability" if found.choices else "density"
    if propensity in ("probability", "density"):
        kind = "probability" if propensity == "probability" else "density"
    propensities: Propensities
    if propensity == "estimate" or (propensity == "auto" and not found.kept):
        propensities = fit_choices(found, reader) if found.choices else fit_spread(found, reader)
    else:
        propensities = LoggedPropensities(kind, product.reach)
    way: Way = "kernel"
    if propensities.kind == "probability":
        way = "exact" if found.choices else "near"
    if way == "exact":
        return Weighting(way=way, propensities=propensities, ends=(found.low, found.high), choices=found.choices)
    width = bandwidth / product.reach if bandwidth is not None else _width(found)
    ends = (_end(found.low, product.lowest, width), _end(found.high, product.highest, width))
    return Weighting(way=way, propensities=propensities, ends=ends, bandwidth=width)


def _width(found: Survey) -> float:
    return min(_BANDWIDTH * max(found.deviation, 1e-6) * found.rows**-0.2, 1.0)


def _end(charged: float, bound: float, width: float) -> float:
    """The end of the range of prices: the product's, where somebody was charged almost that."""
    return bound if abs(bound - charged) < _ALMOST * width else charged


def _least(reader: LogReader, policy: PricePolicy, weighting: Weighting) -> float:
    """The least propensity of a row that was charged the policy's price: every replayed row is as rare as that one."""
    largest = 1.0
    for rows in reader.rows():
        weights = weighting.weights(rows, policy.prices(rows.contexts))
        largest = max(largest, float(weights.max()))
    return 1.0 / largest


def _answer(product: Product, policy: PricePolicy, weighting: Weighting, sums: ValueSums, level: float) -> Evaluation:
    overlap = sums.overlap
    met = float(sums.sums.total[values.WEIGHT]) / overlap.rows
    verdict, answerable = judge(overlap, weighting.way, met)
    exact = weighting.way == "exact"
    return Evaluation(
        policy=policy.label,
        way=weighting.way,
        bandwidth=None if exact else weighting.bandwidth * product.reach,
        propensities=weighting.propensities.label,
        level=level,
        logged=sums.estimate(values.LOGGED, values.ONE, level),
        inverse_propensity=None if weighting.way == "near" else sums.estimate(values.WEIGHED, values.ONE, level),
        self_normalized=sums.estimate(values.WEIGHED, values.WEIGHT, level),
        doubly_robust=None if weighting.way == "near" else sums.estimate(values.ROBUST, values.ONE, level),
        gain=None if weighting.way == "near" else sums.estimate(values.GAIN, values.ONE, level),
        replay=sums.estimate(values.REPLAYED, values.KEPT, level) if exact else None,
        replayed=round(float(sums.sums.total[values.KEPT])),
        overlap=overlap,
        answerable=answerable,
        verdict=verdict,
    )


def judge(overlap: Overlap, way: Way, met: float = 1.0) -> tuple[str, bool]:
    """A plain sentence on whether the log can answer, and whether it can.

    `met` is the mean weight. Its mean over logs is how many prices near the wanted one a customer could be charged.
    """
    rows, never = overlap.rows, overlap.never / overlap.rows
    if overlap.weighted == 0:
        return "This log cannot answer: nobody in it was charged a price that the policy wants.", False
    if never > _MOST_NEVER:
        return f"This log cannot answer for {never:.0%} of its rows: nobody was charged the price wanted there.", False
    if way == "near" and met < 1.0 - _MOST_NEVER:
        return (
            f"This log cannot answer for {1.0 - met:.0%} of its customers or more: no price of theirs is near.",
            False,
        )
    if overlap.effective < _LEAST_EFFECTIVE:
        count = f"{overlap.effective:.0f} of {rows:,}"
        return f"This log cannot answer: it says as much as {count} rows with equal weight would.", False
    if overlap.largest > _MOST_LARGEST:
        return f"This log cannot answer: one row has {overlap.largest:.0%} of all weight.", False
    said = f"as much as {overlap.effective:,.0f} of {rows:,} rows with equal weight"
    smooth = "" if way == "exact" else ", smoothed over nearby prices"
    rest = "" if never == 0.0 else f"; for {never:.1%} of rows the price wanted was never charged"
    return f"The log can answer: it says {said}{smooth}{rest}.", True


__all__ = ["EXACT", "Evaluation", "evaluate_log", "judge"]
