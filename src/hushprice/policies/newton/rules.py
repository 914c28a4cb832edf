"""Policy noisy-newton: Newton steps on batches of weighted scores, every rule made of public quantities.

docs/lab/noisy_newton.md gives the reasons and what each rule is worth. The numbers below were chosen on random demand
vectors that no table shows, and none of them depends on the market a policy is run on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from hushprice import checks
from hushprice.demand import family, welfare
from hushprice.demand.features import FeatureMap
from hushprice.demand.protocol import Demand, lowest
from hushprice.errors import InvalidInput
from hushprice.policies.newton.noise import BatchNoise, calibrate, column_norm, strategy
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.types import FloatArray

PRECISION = 2.0  # of the first belief, in every direction: a deviation of 0.7 in a ball of radius 1
TRUST = 0.1  # in the reference price: the first belief lies this share of the way to the demand it would be best for
GROWTH = 1.5  # a batch ends at the latest when this many times as many records are in as before it
SHORTEST = 4  # records a feature in the first batch, at least
PATIENCE = 0.3  # of the records after which noise and the first belief weigh the same, in the first batch
CAP = 0.35  # of the largest curvature a record could have, above which its weight is reduced
BONUS = 0.2  # confidence bonus: of the slope of demand at 0, times the deviation of phi'theta
SPREAD = 0.1  # dispersion of prices, in deviations of the believed slope
PROBE = 0.25  # of all records so far is what a probe has, times the square of its reach: what it costs
REACH = 2.0  # of a probe, in deviations, at most
CLEAR = 1.0  # times as large as the noise is the sampling variance of a probe's score, at least
NEAR = 0.25  # of the way a price would move: who is further from where demand is known best is left out of probes
DISPERSION = 0.1  # of prices around the reference price, to either side
KNOWN = 0.99  # personal prices begin when the price coefficient's variance has fallen below this share
NOISE_SHARE = 0.5  # of the noise's operator norm that eigenvalues of a released curvature are reduced by, squared
SPARE = 1.0  # of it that is taken off as well before asking whether a batch should end early
TRIGGER = 3.0  # a batch ends early when it would multiply some direction's precision by more than 1 + this
BLOCKS = 0.125  # blocks a batch is looked at in, times the root of its length
LEVELS = 12  # at most 2^12 blocks
DOUBLINGS = 220  # batches that end at their latest slot, at most: half may be probes, and GROWTH^110 is past any number
EARLY = 1000  # batches that may end early, at most: it bounds the work, not the privacy

_KNOWN = (family.LOGISTIC, family.POISSON, family.GAUSSIAN)  # families whose best price has a closed form


@dataclass(frozen=True, kw_only=True, slots=True)
class NewtonRules:
    """Every choice noisy-newton makes, before the first customer."""

    noise: BatchNoise
    center: tuple[float, ...]  # of the first belief
    reference_price: float
    dispersion: float
    first: int  # records in the first batch
    cap: float  # of w f' ||phi||^2
    sampling: float  # variance of a score per unit of curvature
    width: float  # of the confidence bonus; 0 is off
    spread: float
    probe: float  # 0 is off
    reach: float
    least: float  # records in a probe
    near: float
    trigger: float  # 0 is off: batches end at public slots only
    drawn: bool = True  # False: all noise is left out, for study, and nothing is claimed
    unit_cost: float = 0.0  # c: prices maximize (p - c) f, and none is below it

    def __post_init__(self) -> None:
        check_cost(self.unit_cost)
        checks.within(float(self.unit_cost), 1.0, reference_price=self.reference_price)
        checks.within(0.0, 1.0, dispersion=self.dispersion)
        checks.whole(1, first=self.first)
        checks.positive(cap=self.cap, sampling=self.sampling, reach=self.reach)
        checks.non_negative(width=self.width, spread=self.spread, trigger=self.trigger)
        checks.non_negative(probe=self.probe, least=self.least, near=self.near)


def newton(
    claimed: EpsilonDelta,
    *,
    demand: Demand,
    features: FeatureMap,
    adjacency: Adjacency = Adjacency.REPLACE_ONE,
    reference_price: float | None = None,
    width: float | None = None,
    trigger: bool = True,
    drawn: bool = True,
    unit_cost: float = 0.0,
) -> NewtonRules:
    """The rules for a budget, a demand family and a feature map. The horizon is not asked for."""
    check_cost(unit_cost)
    d = features.dimension
    levels = LEVELS if trigger else 0
    noise = calibrate(claimed, dimension=d, levels=levels, adjacency=adjacency)
    cap = CAP * largest_turn(demand)
    price = 0.5 * (1.0 + unit_cost) if reference_price is None else reference_price
    checks.within(unit_cost, 1.0, reference_price=price)
    center, held = start(demand, features, price, unit_cost)
    sampling = 2.0 / (demand.slope * (demand.bound - lowest(demand)))
    return NewtonRules(
        noise=noise,
        center=tuple(float(value) for value in TRUST * center),
        # A price somebody gave is kept. The default moves to the nearest one that the bounds allow to be best.
        reference_price=held if reference_price is None else price,
        dispersion=DISPERSION,
        first=max(SHORTEST * d, math.ceil(PATIENCE * noise.score * math.sqrt(PRECISION) * d / cap)),
        cap=cap,
        sampling=sampling,
        width=BONUS * slope_at_zero(demand) if width is None else width,
        spread=SPREAD,
        probe=PROBE if demand.family in _KNOWN else 0.0,  # a curve of one's own has no best price in closed form
        reach=REACH,
        least=float(max(SHORTEST * d, CLEAR * noise.score * noise.score / (sampling * cap))),
        near=NEAR,
        trigger=TRIGGER if trigger else 0.0,
        drawn=drawn,
        unit_cost=unit_cost,
    )


def check_cost(unit_cost: float) -> None:
    """A share of the ceiling, below it: at the ceiling nothing can be earned."""
    checks.within(0.0, 1.0, unit_cost=unit_cost)
    if unit_cost == 1.0:
        raise InvalidInput(f"unit_cost must be below 1, the highest price, got {unit_cost!r}")


def without_noise(rules: NewtonRules) -> NewtonRules:
    """These rules with no noise drawn: what privacy costs is the difference. Claims nothing."""
    return replace(rules, drawn=False)


def _curve(demand: Demand) -> tuple[FloatArray, FloatArray]:
    z = np.linspace(-1.0, 1.0, 201)  # phi'theta for ||phi||, ||theta|| <= 1
    return np.asarray(demand.mean(z), dtype=float), np.asarray(demand.mean_slope(z), dtype=float)


def largest_turn(demand: Demand) -> float:
    """The largest f' / max(f - lowest, B_Y - f) on |z| <= 1: the curvature of a full-weight record with ||phi|| = 1."""
    f, slope = _curve(demand)
    return float(np.max(slope / np.maximum(f - lowest(demand), demand.bound - f)))


def slope_at_zero(demand: Demand) -> float:
    """f' at z = 0: the largest of a logistic curve, and where an exponential one has neither vanished nor exploded."""
    return float(np.asarray(demand.mean_slope(np.zeros(1)))[0])


def references(features: FeatureMap) -> tuple[FloatArray, FloatArray]:
    """u and v of the customers who decide about probes, (customers, d, 1): x = 0, and 1/2 either way on each axis."""
    half = 0.5 * np.eye(features.contexts)
    parts = [features.parts(x) for x in (np.zeros(features.contexts), *half, *-half)]
    return np.array([u.reshape(-1, 1) for u, _ in parts]), np.array([v.reshape(-1, 1) for _, v in parts])


def start(demand: Demand, features: FeatureMap, price: float, unit_cost: float = 0.0) -> tuple[FloatArray, float]:
    """The shortest theta in the unit ball under which `price` is best for the customer x = 0, and the best price then.

    Best is what maximizes (p - c) f over [c, 1]. With p = c + (1 - c) r that is r f(a + b c + b (1 - c) r) up to scale.
    Where the ball has none, the last one on the way there. With few features a price coefficient can be large enough
    to make any price best; with many it cannot, and then a price in the middle is known to be too low.
    """
    u, v = features.parts(np.zeros(features.contexts))
    length = float(np.linalg.norm(v))
    if length == 0.0 or demand.family not in _KNOWN:
        return np.zeros(features.dimension), price
    if demand.family == family.GAUSSIAN:  # (c - a / b) / 2 is best: level and slope of demand in one proportion
        level = float(np.linalg.norm(u))
        if level == 0.0:
            return np.zeros(features.dimension), price
        theta = (2.0 * price - unit_cost) * u / (level * level) - v / (length * length)
        return theta / float(np.linalg.norm(theta)), price
    direction = -v / length

    def best(size: float) -> float:
        a, b = size * float(direction @ u), size * float(direction @ v)
        above = 1.0 - unit_cost
        share = welfare.clairvoyant_price(demand.family, float(demand.slope), a + b * unit_cost, b * above)
        return unit_cost + above * float(share)

    if best(1.0) > price:
        return direction, best(1.0)
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if best(middle) <= price else (middle, high)
    return high * direction, price


class Schedule(NamedTuple):
    """How a batch is looked at in blocks: a row of each a level, 2^level blocks a batch at most."""

    poles: FloatArray
    zeros: FloatArray
    column: FloatArray  # longest column of the strategy
    row: FloatArray  # longest row of its decoder


def schedule(levels: int) -> Schedule:
    """The strategies of all levels up to `levels`."""
    strategies = [strategy(level) for level in range(levels + 1)]
    return Schedule(
        np.array([each.poles for each in strategies]),
        np.array([each.zeros for each in strategies]),
        np.array([column_norm(level) for level in range(levels + 1)]),
        np.array([each.row_norm(2**level) for level, each in enumerate(strategies)]),
    )
