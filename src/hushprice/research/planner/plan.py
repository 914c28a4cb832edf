"""Before the first customer: what noisy-newton is expected to lose and earn, and when it is worth having."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hushprice import checks
from hushprice.policies.newton.policy import build
from hushprice.policies.newton.pricing.schedule import batch_end
from hushprice.policies.newton.rules import GROWTH, NewtonRules
from hushprice.research.planner import prior
from hushprice.research.planner.measured import MapAnswer, MeasuredSetting, look_up
from hushprice.research.planner.outlook import DRAWS, LIMIT, Outlook, outlook, without_privacy
from hushprice.research.planner.yardsticks import yardsticks
from hushprice.settings import PolicySettings
from hushprice.simulation.market import Market
from hushprice.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PRIVATE, NONPRIVATE = "noisy-newton", "the same without privacy"
ONE_PRICE, REFERENCE = "best single price", "reference price"
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True, kw_only=True)
class PricingLine:
    """One way of pricing, averaged over the prior; amounts are a customer, and 1 is the top price."""

    name: str
    regret: float
    revenue: float
    share: float  # of what someone who knows demand earns
    regret_error: float | None = None  # standard error of the prediction


@dataclass(frozen=True, kw_only=True)
class EpsilonOutcome:
    """What one epsilon buys."""

    epsilon: float
    regret: float
    revenue: float
    share: float
    customers_to_beat_one_price: int | None  # None: not within `limit`
    first_release: int
    learning: float  # share of runs that quote personal prices before the last customer


@dataclass(frozen=True, kw_only=True)
class RegretCurve:
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
    lines: list[PricingLine]
    beats_one_price: float  # share of the prior's markets where private prices lose less than one good price
    customers_to_beat_one_price: int | None
    epsilons: list[EpsilonOutcome]
    curve: RegretCurve
    measured: MapAnswer | None  # None: the map does not reach there (research/planner/measured.py)

    def line(self, name: str) -> PricingLine:
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
    settings = PolicySettings(
        horizon=customers, epsilon=epsilon, delta=delta, adjacency=adjacency, reference_price=reference_price
    )
    claimed, neighbours = settings.budget.total, settings.neighbours
    markets = prior.markets(features, map=map, slope=slope, count=vectors, seed=seed)
    forecasts = _forecasts(
        markets, settings, lambda rules: outlook(markets, rules, customers, seed, workers), seed=seed
    )
    rules, private, dimension = forecasts.private.rules, forecasts.private, markets[0].dimension
    usual = MeasuredSetting(map=map, slope=float(slope), adjacency=neighbours.value, vectors=vectors, seed=seed)
    answer = look_up(customers, dimension, float(epsilon), delta=claimed.delta, setting=usual)
    return Plan(
        customers=customers,
        features=features,
        dimension=dimension,
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
        proven_epsilon=rules.noise.proven_epsilon(dimension, neighbours),
        scheduled_releases=_scheduled(rules, customers),
        releases=float(np.mean([np.sum(slots < customers) for slots in private.releases])),
        personal_after=_typical(private.ready, customers),
        learning=private.learning(customers),
        lines=forecasts.lines(customers),
        beats_one_price=forecasts.beats_one_price(customers),
        customers_to_beat_one_price=private.crossing(forecasts.one_price),
        epsilons=[forecasts.bought(each, customers) for each in sorted(forecasts.by_epsilon)],
        curve=forecasts.curve(),
        measured=answer if reference_price is None else None,
    )


@dataclass(frozen=True, eq=False)
class _Forecasts:
    """Forecasts of the policy at several budgets and without privacy, and what yardsticks earn on the same markets."""

    revenues: FloatArray  # (markets, 3): expected revenue a customer, as `Yardsticks` lists it
    private: Outlook
    nonprivate: Outlook
    by_epsilon: Mapping[float, Outlook]

    @property
    def best(self) -> float:
        """What someone who knows demand earns."""
        return float(self.revenues.mean(axis=0)[0])

    @property
    def one_price(self) -> float:
        """The regret of the best single price."""
        return self.best - float(self.revenues.mean(axis=0)[1])

    def lines(self, customers: int) -> list[PricingLine]:
        """Each way of pricing, after that many customers."""
        reference = self.best - float(self.revenues.mean(axis=0)[2])
        return [
            _line(PRIVATE, self.best, *self.private.average_regret(customers)),
            _line(NONPRIVATE, self.best, *self.nonprivate.average_regret(customers)),
            _line(ONE_PRICE, self.best, self.one_price),
            _line(REFERENCE, self.best, reference),
        ]

    def beats_one_price(self, customers: int) -> float:
        """The share of markets where private prices lose less than the best single price there."""
        losses = self.private.regret_of_markets(customers).mean(axis=1)
        return float(np.mean(losses < self.revenues[:, 0] - self.revenues[:, 1]))

    def bought(self, epsilon: float, customers: int) -> EpsilonOutcome:
        """Regret, revenue and releases with that epsilon after so many customers."""
        own = self.by_epsilon[epsilon]
        regret, _ = own.average_regret(customers)
        return EpsilonOutcome(
            epsilon=epsilon,
            regret=regret,
            revenue=self.best - regret,
            share=1.0 - regret / self.best,
            customers_to_beat_one_price=own.crossing(self.one_price),
            first_release=own.rules.first,
            learning=own.learning(customers),
        )

    def curve(self) -> RegretCurve:
        """Average regret so far, with privacy and without."""
        private, nonprivate = self.private, self.nonprivate
        return RegretCurve(
            customers=private.checkpoints.tolist(),
            private=(private.curve() / private.checkpoints).tolist(),
            nonprivate=(nonprivate.curve() / nonprivate.checkpoints).tolist(),
        )


def _forecasts(
    markets: Sequence[Market],
    settings: PolicySettings,
    forecast: Callable[[NewtonRules], Outlook],
    *,
    seed: int,
) -> _Forecasts:
    """Forecasts on these markets at the budget asked for and at EPSILONS."""

    def rules_for(epsilon: float | None) -> NewtonRules:
        return build(replace(settings, epsilon=epsilon), markets[0].demand, markets[0].features).rules

    rules, epsilon = rules_for(settings.epsilon), settings.budget.total.epsilon
    revenues = [yardsticks(market, rules.reference_price, seed, i) for i, market in enumerate(markets)]
    private, nonprivate = forecast(rules), forecast(without_privacy(rules))
    by_epsilon = {each: forecast(rules_for(each)) for each in EPSILONS if each != epsilon}
    return _Forecasts(np.array(revenues), private, nonprivate, {**by_epsilon, float(epsilon): private})


def _line(name: str, best: float, regret: float, error: float | None = None) -> PricingLine:
    return PricingLine(name=name, regret=regret, revenue=best - regret, share=1.0 - regret / best, regret_error=error)


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
