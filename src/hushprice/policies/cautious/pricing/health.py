"""Does the model fit, and do its prices pay? From releases alone, so it costs nothing.

A score is a sum of psi (f - y), so each of its entries says how far what was believed, f, lies from what was observed,
y, for some of the customers: for those at the dearer and at the cheaper price, and with attributes for those who are
believed to buy more than others. What was believed is computed on the population.
Purchases were compared with the believed chance held between two bounds; what that changed is taken back.
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import astuple, dataclass, field, fields, replace

import numpy as np
from scipy.special import expit

from hushprice.policies.cautious.pricing.belief import ReleasedBatch
from hushprice.policies.cautious.pricing.holdout import STAKES, Comparison, Earned, Evidence
from hushprice.policies.cautious.pricing.instruments import SHARES, WATCHING, held
from hushprice.policies.cautious.pricing.shop_model import ShopModel, with_constant
from hushprice.types import FloatArray

RECENT = 8  # batches
MISFIT = 5.0  # deviations: noise alone has one batch there once in 2,000 times, and eight far more rarely
ALPHA = 0.01  # that a product which keeps its promise freezes itself, ever; after each time anew
WARNING = 0.05  # that one which earns what its holdout earns is called worse, ever; the same
_DEVIATIONS = 1.96  # of an interval that is right 19 times in 20
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

    def against(self, other: Tally) -> Tally:
        """How much more than by others, who are as many."""
        believed, less = self.believed - other.believed, self.less - other.less
        return replace(self.plus(other), count=self.count, believed=believed, less=less)

    @property
    def mean(self) -> float:
        """Believed of a customer."""
        return self.believed / self.count

    @property
    def surprise(self) -> float:
        """How many deviations of noise and sampling lie between what was believed and what was observed."""
        deviation = math.sqrt(self.noise + self.sampling)
        return abs(self.less) / deviation if deviation > 0.0 else 0.0

    @property
    def observed(self) -> Interval:
        """Of a customer."""
        return interval((self.believed - self.less) / self.count, math.sqrt(self.noise + self.sampling) / self.count)


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
    recent_coins: tuple[Tally, ...] = ()  # how much more was bought at the cheaper price than at the dearer one
    recent_likelier: tuple[Tally, ...] = ()  # `likelier`, of the same batches
    compared: Comparison = field(default_factory=Comparison)  # with the holdout
    lost: Evidence = field(default_factory=Evidence)  # that `risk` is passed, since the product last froze itself
    behind: Evidence = field(default_factory=Evidence)  # that prices earn less than the holdout, since then
    looks: int = 0  # batches in which there were both
    alarms: int = 0  # times that the product was found to keep its promise no more
    alarmed: int | None = None  # the slot after which that was, last

    def after_score(self, model: ShopModel, people: FloatArray, batch: ReleasedBatch) -> Health:
        """With one more batch's score."""
        if batch.rule.count == 0:  # frozen all along
            return replace(self, batches=self.batches + 1)
        tallies = _Tallies(model, people, batch)
        bought, likelier = tallies.bought(), tallies.likelier()
        dearer, cheaper = tallies.by_coin()
        return replace(
            self,
            batches=self.batches + 1,
            bought=self.bought.plus(bought),
            dearer=self.dearer.plus(dearer),
            cheaper=self.cheaper.plus(cheaper),
            likelier=self.likelier.plus(likelier),
            recent=(*self.recent, bought)[-RECENT:],
            recent_coins=(*self.recent_coins, cheaper.against(dearer))[-RECENT:],
            recent_likelier=(*self.recent_likelier, likelier)[-RECENT:],
        )

    def after_earnings(self, batch: Earned, *, usual: float, risk: float, records: int) -> Health:
        """With one more batch's earnings, up to slot `records`; `usual` is what a visit was expected to earn."""
        if 0 in batch.slots:
            return self
        after = replace(
            self,
            compared=self.compared.after(batch),
            lost=self.lost.after(batch, 1.0 - risk, usual),
            behind=self.behind.after(batch, 1.0, usual),
            looks=self.looks + 1,
        )
        if after.lost.certain(ALPHA):  # whoever lets it go on wants to see what comes now
            return replace(after, lost=Evidence(), behind=Evidence(), alarms=self.alarms + 1, alarmed=records)
        return after

    @property
    def sound(self) -> bool:
        """Can sums be so? Others were not made here."""
        recent = self.recent, self.recent_coins, self.recent_likelier
        tallies = (self.bought, self.dearer, self.cheaper, self.likelier, *itertools.chain(*recent))
        groups = [self.compared.holdout, self.compared.others]
        sums = [value for each in tallies for value in astuple(each)]
        sums += [value for each in groups for value in astuple(each)]
        above = [value for each in tallies for value in (each.count, each.noise, each.sampling)]
        above += [value for each in groups for value in (each.slots, each.noise, each.weighted_noise)]
        above.append(self.compared.pairs)
        bets = self.lost.logs, self.behind.logs
        return (
            all(math.isfinite(value) for value in sums)
            and all(0.0 <= value < math.inf for value in above)
            and 0 <= self.alarms <= self.looks <= self.batches
            and all(len(each) <= RECENT for each in recent)
            and all(len(logs) == len(STAKES) and all(map(math.isfinite, logs)) for logs in bets)
        )

    @property
    def lately(self) -> Tally:
        """`bought` of the last batches together."""
        return _together(self.recent)

    @property
    def misfits(self) -> dict[str, Tally]:
        """In what customers of the last batches bought otherwise than was believed, beyond noise and chance.

        In how much; in how much more at the cheaper of two prices, which is how demand reacts to the price; and in how
        much more who is believed likelier to buy bought, which is how customers differ.
        """
        coins, likelier = _together(self.recent_coins), _together(self.recent_likelier)
        lately = {"bought": self.lately, "coins": coins, "likelier": likelier}
        return {name: tally for name, tally in lately.items() if tally.count > 0.0 and tally.surprise > MISFIT}

    @property
    def misfit(self) -> bool:
        """Is there any?"""
        return bool(self.misfits)

    @property
    def worse(self) -> bool:
        """Do prices certainly earn less than today's price would?"""
        return self.behind.certain(WARNING)


def _together(recent: tuple[Tally, ...]) -> Tally:
    return functools.reduce(Tally.plus, recent, Tally())


class _Tallies:
    """What one batch's score says."""

    def __init__(self, model: ShopModel, people: FloatArray, batch: ReleasedBatch) -> None:
        self._model, self._people, self._batch = model, people, batch
        customers, rule = with_constant(people), batch.rule
        self._level, response = model.lines(batch.theta, customers)
        both = model.coin_prices(self._level, response, rule.move, rule.spread, rule.offset)
        self._sides = [0] if rule.choice == WATCHING else [0, model.contexts + 1]
        self._demand = [expit(self._level - response * price) for price in both]

    def bought(self) -> Tally:
        noise = float(np.square(self._batch.noise[self._sides]).sum())
        return self._tally(float(self._batch.score[self._sides].sum()), noise, (0, 1))

    def by_coin(self) -> tuple[Tally, Tally]:
        """At the dearer price and at the cheaper one; nothing where one price was charged or coins not told apart."""
        rule, batch = self._batch.rule, self._batch
        if rule.choice == WATCHING or rule.spread == 0.0:
            return Tally(), Tally()
        dearer, cheaper = (
            self._tally(float(batch.score[entry]), float(batch.noise[entry]) ** 2, (side,))
            for side, entry in enumerate(self._sides)
        )
        return dearer, cheaper

    def likelier(self) -> Tally:
        """Along the direction in which customers are believed to differ; nothing where no attribute is released."""
        x, k = held(self._people), self._model.contexts
        if SHARES[self._batch.rule.choice] == 0.0 or k == 0:
            return Tally()
        slopes = np.linalg.lstsq(x - x.mean(axis=0), self._level - self._level.mean(), rcond=None)[0]
        scale = float((x @ slopes).std())
        if scale < _ALIKE:
            return Tally()
        slopes = slopes / scale
        constant, along = -float((x @ slopes).mean()), x @ slopes
        weights = np.concatenate([[constant], slopes, [constant], slopes])
        noise = float(np.square(weights * self._batch.noise).sum())
        return self._tally(float(weights @ self._batch.score), noise, (0, 1), along + constant)

    def _tally(self, less: float, noise: float, coins: tuple[int, ...], weights: FloatArray | float = 1.0) -> Tally:
        count = 0.5 * self._batch.rule.count  # customers of each side of the coin
        demands = [self._demand[coin] for coin in coins]
        beyond = [demand - self._model.held(demand) for demand in demands]
        return Tally(
            count=count * len(coins),
            believed=count * sum(float((weights * demand).mean()) for demand in demands),
            less=less + count * sum(float((weights * off).mean()) for off in beyond),
            noise=noise,
            sampling=count * sum(float((np.square(weights) * demand * (1.0 - demand)).mean()) for demand in demands),
        )
