"""Before the first customer: what noisy-newton is expected to lose and earn, and when it is worth having."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hushprice import checks
from hushprice.policies.newton.pricing.schedule import batch_end
from hushprice.policies.newton.rules import GROWTH, NewtonRules, newton
from hushprice.privacy.adjacency import adjacency_of
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.delta import parse_delta
from hushprice.research.planner import prior
from hushprice.research.planner.measured import Measured, Setting, look_up
from hushprice.research.planner.outlook import DRAWS, LIMIT, Outlook, outlook, without_privacy
from hushprice.research.planner.yardsticks import yardsticks
from hushprice.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PRIVATE, NONPRIVATE = "noisy-newton", "the same without privacy"
ONE_PRICE, REFERENCE = "best single price", "reference price"
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True, kw_only=True)
class Line:
    """One way of pricing, averaged over the prior; amounts are a customer, and 1 is the top price."""

    name: str
    regret: float
    revenue: float
    share: float  # of what someone who knows demand earns
    regret_error: float | None = None  # standard error of the prediction


@dataclass(frozen=True, kw_only=True)
class Bought:
    """What one epsilon buys."""

    epsilon: float
    regret: float
    revenue: float
    share: float
    customers_to_beat_one_price: int | None  # None: not within `limit`
    first_release: int
    learning: float  # share of runs that quote personal prices before the last customer


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Average regret so far, for pictures."""

    customers: list[int]
    private: list[float]
    nonprivate: list[float]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A prediction. Every average is over `vectors` markets of the prior."""

    customers: int
    features: int
    dimension: int
    map: str
    slope: float
    epsilon: float
    delta: float
    adjacency: str
    seed: int
    prior: str
    vectors: int
    draws: int
    limit: int
    reference_price: float
    score_noise: float
    curvature_noise: float
    proven_epsilon: float
    scheduled_releases: list[int]  # records before each, at the latest, up to `customers`
    releases: float  # made in the mean
    personal_after: float | None  # the median of customers before the first personal price; None: never
    learning: float
    lines: list[Line]
    beats_one_price: float  # share of the prior's markets where private prices lose less than one good price
    customers_to_beat_one_price: int | None
    epsilons: list[Bought]
    curve: Curve
    measured: Measured | None  # None: the map does not reach there (research/planner/measured.py)

    def line(self, name: str) -> Line:
        """The line of that name."""
        return next(line for line in self.lines if line.name == name)

    @property
    def hopeless(self) -> bool:
        """Is the budget too small to learn anything from this many customers?"""
        return self.learning == 0.0

    def to_dict(self) -> dict[str, Any]:
        """The machine interface of `hushprice plan --format json`."""
        return {**asdict(self), "hopeless": self.hopeless}

    def plot(self) -> Figure:
        """Regret over customers, and what each epsilon buys."""
        from hushprice.research.planner.picture import plan_picture

        return plan_picture(self)


def plan(
    *,
    customers: int,
    features: int,
    epsilon: float,
    delta: float | str = "2/T^2",
    adjacency: str = "replace-one",
    map: str = "main",
    slope: float = 4.0,
    reference_price: float | None = None,
    vectors: int = prior.VECTORS,
    seed: int = 0,
    workers: int | None = None,
) -> Plan:
    """Predict noisy-newton for a total budget on `customers` customers with `features` attributes each."""
    checks.whole(2, customers=customers)
    checks.within(2, LIMIT, customers=customers)
    checks.whole(0, seed=seed)
    if workers is not None:
        checks.whole(1, workers=workers)
    claimed = EpsilonDelta(epsilon, parse_delta(delta, customers))
    neighbours = adjacency_of(adjacency)
    markets = prior.markets(features, map=map, slope=slope, count=vectors, seed=seed)
    first = markets[0]

    def rules_for(budget: EpsilonDelta) -> NewtonRules:
        return newton(
            budget,
            demand=first.demand,
            features=first.features,
            adjacency=neighbours,
            reference_price=reference_price,
        )

    def look(rules: NewtonRules) -> Outlook:
        return outlook(markets, rules, customers, seed, workers)

    rules = rules_for(claimed)
    found = np.array([yardsticks(market, rules.reference_price, seed, i) for i, market in enumerate(markets)])
    best, one_price, reference = (float(value) for value in found.mean(axis=0))
    bar = best - one_price
    private, nonprivate = look(rules), look(without_privacy(rules))
    others = {each: look(rules_for(EpsilonDelta(each, claimed.delta))) for each in EPSILONS if each != epsilon}
    others[float(epsilon)] = private
    lines = [
        _line(PRIVATE, best, *private.average_regret(customers)),
        _line(NONPRIVATE, best, *nonprivate.average_regret(customers)),
        _line(ONE_PRICE, best, bar),
        _line(REFERENCE, best, best - reference),
    ]
    usual = Setting(map=map, slope=float(slope), adjacency=neighbours.value, vectors=vectors, seed=seed)
    losses = private.regret_of_markets(customers).mean(axis=1)
    return Plan(
        customers=customers,
        features=features,
        dimension=first.dimension,
        map=map,
        slope=float(slope),
        epsilon=float(epsilon),
        delta=claimed.delta,
        adjacency=neighbours.value,
        seed=seed,
        prior=f"{prior.STATEMENT} of slope {slope:g}",
        vectors=vectors,
        draws=DRAWS,
        limit=LIMIT,
        reference_price=rules.reference_price,
        score_noise=rules.noise.score,
        curvature_noise=rules.noise.curvature,
        proven_epsilon=rules.noise.proven_epsilon(first.dimension, neighbours),
        scheduled_releases=_scheduled(rules, customers),
        releases=float(np.mean([np.sum(slots < customers) for slots in private.releases])),
        personal_after=_typical(private.ready, customers),
        learning=private.learning(customers),
        lines=lines,
        beats_one_price=float(np.mean(losses < found[:, 0] - found[:, 1])),
        customers_to_beat_one_price=private.crossing(bar),
        epsilons=[_bought(each, other, best, bar, customers) for each, other in sorted(others.items())],
        curve=Curve(
            customers=private.checkpoints.tolist(),
            private=(private.curve() / private.checkpoints).tolist(),
            nonprivate=(nonprivate.curve() / nonprivate.checkpoints).tolist(),
        ),
        measured=look_up(customers, first.dimension, float(epsilon), delta=claimed.delta, setting=usual)
        if reference_price is None
        else None,
    )


def _line(name: str, best: float, regret: float, error: float | None = None) -> Line:
    return Line(name=name, regret=regret, revenue=best - regret, share=1.0 - regret / best, regret_error=error)


def _bought(epsilon: float, found: Outlook, best: float, bar: float, customers: int) -> Bought:
    regret, _ = found.average_regret(customers)
    return Bought(
        epsilon=epsilon,
        regret=regret,
        revenue=best - regret,
        share=1.0 - regret / best,
        customers_to_beat_one_price=found.crossing(bar),
        first_release=found.rules.first,
        learning=found.learning(customers),
    )


def _scheduled(rules: NewtonRules, customers: int) -> list[int]:
    """Records before each release if no batch ends early and none is a probe: the latest there are."""
    slots, records = [], batch_end(0, rules.first, GROWTH)
    while records < customers:
        slots.append(int(records))
        records = batch_end(records, rules.first, GROWTH)
    return slots


def _typical(ready: FloatArray, customers: int) -> float | None:
    middle = float(np.median(ready))
    return middle if middle < customers else None
