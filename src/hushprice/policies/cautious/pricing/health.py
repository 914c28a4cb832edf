"""Does the model fit, and do its prices pay? From releases alone, so it costs nothing.

A score is a sum of psi (f - y), so each of its entries says how far what was believed, f, lies from what was observed,
y, for some of the customers: with the constant for all, with the coin for those at the dearer and at the cheaper price,
with attributes for those who are believed to buy more than others. What was believed is computed on the population.
Residuals were held to the model's `largest`; what that took off is added, as if those customers bought as believed.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass, field, fields, replace

import numpy as np
from scipy.special import expit

from hushprice.policies.cautious.pricing.belief import ReleasedBatch
from hushprice.policies.cautious.pricing.holdout import Comparison
from hushprice.policies.cautious.pricing.instruments import WEIGHTS, held
from hushprice.policies.cautious.pricing.shop_model import ShopModel, with_constant
from hushprice.policies.cautious.pricing.watch import Watch
from hushprice.releases import MomentRelease
from hushprice.types import FloatArray

RECENT = 8  # batches
THIRDS = 3  # of the customers, by believed demand
ALPHA = 0.01  # that a product which keeps its promise freezes itself, ever
WARNING = 0.05  # that one which earns what its holdout earns is called worse, ever
_DEVIATIONS = 1.96  # of an interval that is right 19 times in 20
_TOLD = 4.0  # deviations that earnings so far must be above 0, to be what is expected of more
_LEAST_SHARE = 0.01  # of the holdout's earnings that is watched for: a `risk` of 1 promises nothing
_ALIKE = 1e-6  # deviations of log-odds between customers: less is no difference


@dataclass(frozen=True, kw_only=True, slots=True)
class Interval:
    """An estimate, and where it lies 19 times in 20: noise and sampling counted."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """Sums over customers: what was believed, how much less was observed (noisy), and variances of the latter."""

    count: float = 0.0
    believed: float = 0.0
    less: float = 0.0
    noise: float = 0.0
    sampling: float = 0.0

    def plus(self, other: Tally) -> Tally:
        return Tally(**{each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(Tally)})

    @property
    def mean(self) -> float:
        """Believed of a customer."""
        return self.believed / self.count

    @property
    def observed(self) -> Interval:
        """Of a customer."""
        return interval((self.believed - self.less) / self.count, self.error)

    @property
    def error(self) -> float:
        """The standard error of `observed`."""
        return math.sqrt(self.noise + self.sampling) / self.count


def interval(estimate: float, deviation: float) -> Interval:
    """Of an estimate with this deviation."""
    away = _DEVIATIONS * deviation
    return Interval(estimate=estimate, low=estimate - away, high=estimate + away)


@dataclass(frozen=True, kw_only=True, slots=True)
class Health:
    """Of all batches, each as it was believed when its customers were priced."""

    batches: int = 0
    bought: Tally = Tally()  # by all but the holdout
    dearer: Tally = Tally()  # at the dearer of two prices that were tried out
    cheaper: Tally = Tally()
    likelier: Tally = Tally()  # how much more who is one deviation more likely to buy bought
    recent: tuple[Tally, ...] = ()  # `bought` of the last batches, newest last
    by_demand: tuple[Tally, ...] = ()  # by who is believed to buy least, and most: THIRDS of the customers
    compared: Comparison = field(default_factory=Comparison)  # with the holdout
    losing: Watch = field(
        default_factory=Watch
    )  # do they earn less than is promised? Since the product last froze itself
    behind: Watch = field(default_factory=Watch)  # do they earn less than the holdout? Since then
    looks: int = 0  # batches in which there were both
    alarms: int = 0  # times that the product was found to keep its promise no more
    alarmed: int | None = None  # the slot after which that was, last

    def after_score(self, model: ShopModel, people: FloatArray, batch: ReleasedBatch) -> Health:
        """With one more batch's score."""
        if batch.rule.count == 0:  # frozen all along
            return replace(self, batches=self.batches + 1)
        tallies = _Tallies(model, people, batch)
        bought = tallies.bought()
        dearer, cheaper = tallies.by_coin()
        return replace(
            self,
            batches=self.batches + 1,
            bought=self.bought.plus(bought),
            dearer=self.dearer.plus(dearer),
            cheaper=self.cheaper.plus(cheaper),
            likelier=self.likelier.plus(tallies.likelier()),
            by_demand=_added(self.by_demand, tallies.by_demand()),
            recent=(*self.recent, bought)[-RECENT:],
        )

    def after_earnings(
        self,
        release: MomentRelease,
        slots: tuple[int, int],
        noise: tuple[float, float],
        *,
        risk: float,
        expected: float,
    ) -> Health:
        """With one more batch's earnings; slots and noise are those of the holdout and the others.

        `expected` is what a visit at today's price was expected to earn before the first customer.
        """
        both = float(release.earnings[0]), float(release.earnings[1])
        if slots[0] == 0 or slots[1] == 0:
            return self
        expected = self._usual(expected)
        watched = [
            each.after(both, slots, noise, share=share, expected=expected)
            for each, share in ((self.losing, max(1.0 - risk, _LEAST_SHARE)), (self.behind, 1.0))
        ]
        compared, losing = self.compared.after(both, slots, noise), watched[0]
        after = replace(self, compared=compared, losing=losing, behind=watched[1], looks=self.looks + 1)
        if risk < 1.0 and losing.certain(ALPHA / ((self.alarms + 1) * (self.alarms + 2))):
            # Whoever lets it go on wants to see what comes now. Alarms are counted on: ALPHA is for all of them.
            return replace(after, losing=Watch(), behind=Watch(), alarms=self.alarms + 1, alarmed=release.records)
        return after

    def _usual(self, expected: float) -> float:
        """What a visit earns, by all batches so far: as expected at first, where they do not tell yet."""
        seen = self.compared.others
        return seen.earned / seen.slots if seen.earned > _TOLD * seen.deviation else expected

    @property
    def sound(self) -> bool:
        """Can sums be so? Others were not made here."""
        tallies = (self.bought, self.dearer, self.cheaper, self.likelier, *self.recent, *self.by_demand)
        groups = (self.compared.holdout, self.compared.others)
        sums = [value for each in tallies for value in astuple(each)]
        sums += [value for each in groups for value in astuple(each)]
        above = [value for each in tallies for value in (each.count, each.noise, each.sampling)]
        above += [value for each in groups for value in (each.slots, each.noise, each.weighted_noise)]
        above += [self.compared.pairs, *(each.squares_noise for each in groups)]
        return (
            all(math.isfinite(value) for value in sums)
            and all(0.0 <= value < math.inf for value in above)
            and 0 <= self.alarms <= self.looks <= self.batches
            and len(self.recent) <= RECENT
            and len(self.by_demand) in (0, THIRDS)
            and self.losing.sound
            and self.behind.sound
        )

    @property
    def worse(self) -> bool:
        """Do prices certainly earn less than today's price would?"""
        return self.behind.certain(WARNING / ((self.alarms + 1) * (self.alarms + 2)))


def _added(before: tuple[Tally, ...], more: tuple[Tally, ...]) -> tuple[Tally, ...]:
    """Pair by pair; nothing adds nothing."""
    if not before or not more:
        return before or more
    return tuple(each.plus(other) for each, other in zip(before, more, strict=True))


class _Tallies:
    """What one batch's score says."""

    def __init__(self, model: ShopModel, people: FloatArray, batch: ReleasedBatch) -> None:
        self._model, self._people, self._batch = model, people, batch
        customers, rule = with_constant(people), batch.rule
        self._level, response = model.lines(batch.theta, customers)
        middle = model.middle(self._level, response, rule.move, rule.spread)
        self._demand = [expit(self._level - response * (middle + coin * rule.spread)) for coin in (1.0, -1.0)]

    def bought(self) -> Tally:
        weight = WEIGHTS[self._batch.rule.choice][0]
        variance = (self._batch.noise / weight) ** 2
        return self._tally(float(self._batch.score[0]) / weight, variance, (0, 1))

    def by_coin(self) -> tuple[Tally, Tally]:
        """At the dearer price and at the cheaper one; nothing where one price was charged."""
        rule, half = self._batch.rule, self._model.contexts + 1
        level, _, _, coin, _ = WEIGHTS[rule.choice]
        if coin == 0.0 or rule.spread == 0.0:
            return Tally(), Tally()
        total, apart = float(self._batch.score[0]) / level, float(self._batch.score[2 * half]) / coin
        variance = (self._batch.noise / (2.0 * level)) ** 2 + (self._batch.noise / (2.0 * coin)) ** 2
        return (
            self._tally(0.5 * (total + apart), variance, (0,)),
            self._tally(0.5 * (total - apart), variance, (1,)),
        )

    def likelier(self) -> Tally:
        """Along the direction in which customers are believed to differ; nothing where no attribute is released."""
        level, attributes, *_ = WEIGHTS[self._batch.rule.choice]
        x, score = held(self._people), self._batch.score
        slopes = np.linalg.lstsq(x - x.mean(axis=0), self._level - self._level.mean(), rcond=None)[0]
        scale = float((x @ slopes).std())
        if attributes == 0.0 or scale < _ALIKE:
            return Tally()
        slopes = slopes / scale
        constant, along = -float((x @ slopes).mean()), x @ slopes
        less = constant * float(score[0]) / level + float(score[1 : x.shape[1] + 1] @ slopes) / attributes
        variance = self._batch.noise**2 * ((constant / level) ** 2 + float(slopes @ slopes) / attributes**2)
        return self._tally(less, variance, (0, 1), along + constant)

    def by_demand(self) -> tuple[Tally, ...]:
        """Of the customers who are believed to buy least, of those in the middle, and of those who buy most.

        A score has sums over customers of [1; x^] times the residual. So what can be had of a third is a mean over all
        customers with weights of the form c + d' x^, as near as such weights come to "is in it" (least squares over the
        population): low and high are told apart, a bend in between is not. Nothing where no attribute is released.
        """
        level, attributes, *_ = WEIGHTS[self._batch.rule.choice]
        x, score = held(self._people), self._batch.score
        if attributes == 0.0 or float(self._level.std()) < _ALIKE:
            return ()
        order, rows, found = np.argsort(self._level, kind="stable"), with_constant(x), list[Tally]()
        scaled = score[: x.shape[1] + 1] / np.array([level, *[attributes] * x.shape[1]])
        deviations = self._batch.noise / np.array([level, *[attributes] * x.shape[1]])
        for third in np.array_split(order, THIRDS):
            member = np.zeros(len(x))
            member[third] = 1.0
            slopes = np.linalg.lstsq(rows, member, rcond=None)[0]
            noise = float(np.square(slopes * deviations).sum())
            weights = rows @ slopes
            tally = self._tally(float(scaled @ slopes), noise, (0, 1), weights)
            found.append(replace(tally, count=tally.count * float(weights.mean())))
        return tuple(found)

    def _tally(self, less: float, noise: float, coins: tuple[int, ...], weights: FloatArray | float = 1.0) -> Tally:
        count = 0.5 * self._batch.rule.count  # customers of each side of the coin
        demands = [self._demand[coin] for coin in coins]
        beyond = [np.maximum(demand - self._model.largest, 0.0) * (1.0 - demand) for demand in demands]
        return Tally(
            count=count * len(coins),
            believed=count * sum(float((weights * demand).mean()) for demand in demands),
            less=less + count * sum(float((weights * off).mean()) for off in beyond),
            noise=noise,
            sampling=count * sum(float((np.square(weights) * demand * (1.0 - demand)).mean()) for demand in demands),
        )
