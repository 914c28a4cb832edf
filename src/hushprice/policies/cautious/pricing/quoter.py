"""The side of policy cautious that prices: a belief and a rule made of releases, and when batches end.

It never sees a record, and an import contract keeps it so.
"""

from __future__ import annotations

import copy
import functools
import math
from dataclasses import replace

import numpy as np

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.policies.cautious.pricing import belief as beliefs
from hushprice.policies.cautious.pricing import instruments
from hushprice.policies.cautious.pricing import population as populations
from hushprice.policies.cautious.pricing.belief import Belief, ReleasedBatch, Rule
from hushprice.policies.cautious.pricing.change import (
    Change,
    believed_gain,
    certain_since,
    changes_of,
    gains_changed,
    surprising,
)
from hushprice.policies.cautious.pricing.customer_prices import CustomerPrices, of_coin
from hushprice.policies.cautious.pricing.health import Health
from hushprice.policies.cautious.pricing.holdout import Earned
from hushprice.policies.cautious.pricing.lessons import Limits
from hushprice.policies.cautious.pricing.planning import Past, plan
from hushprice.policies.cautious.pricing.shop_model import ShopModel, with_constant
from hushprice.policies.cautious.pricing.warm import WarmStart, warm_start
from hushprice.policies.cautious.rules import AGGREGATED, CautiousRules
from hushprice.releases import MomentRelease
from hushprice.types import FloatArray

_MOST_DOUBT = 4  # times: how much more is doubted where releases were surprising again and again


class CautiousQuoter:
    """Prices from the belief after the last batch. Slots are counted as they are learned."""

    rule: Rule

    def __init__(self, rules: CautiousRules, rule: Rule | None = None) -> None:
        self.rules = rules
        self.version = 0  # batches accepted
        self.population = populations.Population(rules.model.contexts, rules.description_noise or 0.0)
        self.origin = beliefs.first_belief(self._deviations)  # what the batches below are fitted from
        self.changed = 0  # times that demand was found to have changed
        self.batches: list[ReleasedBatch] = []  # since then
        self.past: list[Past] = []  # all
        self.warm: WarmStart | None = None if rules.prior is None else warm_start(rules.prior, self.origin)
        self.belief = self.origin if self.warm is None else self.warm.belief
        self.banked = 0.0  # what batches before `past` gained over staying, were demand to have changed, in visits
        self.earned: FloatArray = np.zeros(2)  # noisy: by the holdout and by the others, in units of the largest
        self.health = Health()
        self.batch = 0  # the slot that the batch at hand follows
        if rule is None:
            self._plan()
        else:  # `first_rule`, which takes a while to find
            self.rule = rule

    @property
    def _deviations(self) -> FloatArray:
        level, attributes, response, personal = self.rules.deviations
        k = self.rules.model.contexts
        return np.array([level, *[attributes] * k, response, *[personal] * k])

    @property
    def model(self) -> ShopModel:
        return self.rules.model

    @property
    def end(self) -> int:
        """The slot after which the batch at hand ends and is released."""
        return self.batch + self.rule.count

    @property
    def look(self) -> int:
        """The slot after which something is released next: all of it is, at the end."""
        return self.end

    def _plan(self) -> None:
        rules = self.rules
        count, choices = rules.next_count(self.batch), range(len(instruments.SHARES))
        noise = tuple(rules.score_noise(choice, count) for choice in choices)
        each = tuple(rules.noise_of_slots(choice) for choice in choices)
        limits = Limits(risk=rules.risk, noise=noise, each=each, horizon=rules.horizon, banked=self.banked)
        rule = plan(self.model, self.population.people(), self.belief, self.past, limits, count=count, slots=self.batch)
        # Never wider than planned. What is tried out is what is charged: both prices of the coin can be.
        self.rule = replace(rule, spread=self.model.fitting(rule.spread))

    def follow(self, records: int) -> None:
        """Begin a batch after this many slots: the one at hand is dropped."""
        checks.whole(self.batch, records=records)
        if records > self.batch:
            dropped = replace(self.rule, count=self.rules.priced(records - self.batch), choice=0)
            gains = gains_changed(self.model, self.population.people(), self.belief, dropped)
            unknown = [Change(0.0, gain) for gain in gains]
            self.past.append(Past(rule=dropped, theta=self.belief.theta, changes=unknown, released=False))
            self.batch = records
            self._plan()

    def accept(self, release: MomentRelease) -> None:
        """Learn from a batch's release, and plan the next batch. Where that fails, nothing has changed."""
        if release.records != self.end:
            raise InvalidInput(f"release must be of {self.end} records, got {release.records}")
        after = copy.copy(self)
        after.population, after.past, after.batches = copy.copy(self.population), [*self.past], [*self.batches]
        after._take(release)
        after._plan()
        self.__dict__.update(after.__dict__)

    def _take(self, release: MomentRelease) -> None:
        model = self.model
        priced = self.rules.priced(self.rule.count) if release.priced is None else release.priced
        rule = replace(self.rule, count=priced)  # the others tell nothing about it
        score = checks.vector(instruments.entries(model.contexts), score=release.score)
        described = checks.vector(populations.entries(model.contexts), descriptions=release.descriptions)
        self.earned = self.earned + checks.vector(2, earnings=release.earnings)
        if self.rules.description_noise is not None:
            self.population.add(described, self.rule.count)
        people = self.population.people()
        made = ReleasedBatch(
            rule=rule,
            theta=self.belief.theta,
            score=score,
            noise=self.rules.score_noise(rule.choice, self.rule.count),
        )
        self._look(release, people, made)
        self.past.append(Past(rule=rule, theta=self.belief.theta, changes=changes_of(model, people, made, self.belief)))
        self.batches.append(made)
        if self.warm is not None:
            self.warm = self.warm.after(model, people, made, self.population.doubt)
        self._notice(people, made)
        self.belief = self._fitted(people, self.origin, self.changed == 0, self.belief.theta, self.batches)
        if self.warm is not None:
            self.warm = self.warm.fitted(functools.partial(self._fitted, people, batches=self.batches), self.belief)
            self.belief = self.warm.belief
        self.batch = release.records
        self.version += 1

    def _fitted(
        self, people: FloatArray, first: Belief, scaled: bool, start: FloatArray, batches: list[ReleasedBatch]
    ) -> Belief:
        """The belief after these batches, from a first one."""
        doubt = min(1.0, self.population.doubt * min(1 + self.changed, _MOST_DOUBT))
        laplace = self.rules.laplace
        return beliefs.fitted(self.model, people, first, batches, start, misfit=doubt, scaled=scaled, laplace=laplace)

    def _look(self, release: MomentRelease, people: FloatArray, made: ReleasedBatch) -> None:
        apart, priced = map(float, release.earnings)
        # Where devices report, slots without a report are no holdout; of bits, nothing tells what was earned.
        reported = self.rules.trust == AGGREGATED and self.rules.holdout == 0.0
        untold = self.rules.bits is not None or reported
        batch = Earned(
            sums=(apart, priced),
            slots=(0 if untold else self.rule.count - made.rule.count, made.rule.count),
            scales=self.rules.earned_scales,
        )
        usual = self.model.conversion * self.model.margin / (self.model.margin + self.model.highest)
        self.health = self.health.after_score(self.model, people, made).after_earnings(
            batch, usual=usual, risk=self.rules.risk, records=release.records
        )

    def _notice(self, people: FloatArray, last: ReleasedBatch) -> None:
        """Begin anew where demand has changed: batches from before say nothing about today."""
        changes = [batch.changes for batch in self.past]
        noticed: tuple[int, int | None] | None = certain_since(changes, self.changed)
        if noticed is None and self.version > 0 and surprising(self.model, people, last, self.belief, self.changed):
            noticed = len(self.past) - 1, None
        if noticed is None:
            return
        since, which = noticed
        self.changed += 1
        for k, batch in enumerate(self.past):
            gain = believed_gain(self.model, people, self.belief.theta, batch.rule, batch.theta)
            if k >= since:  # as little as the change can have left of it
                changed = batch.changes if which is None else [batch.changes[which]]
                gain = min(gain, *(each.gain for each in changed))
            self.banked += batch.rule.count * gain
        before = len(self.batches) - sum(batch.released for batch in self.past[since:])
        # Only batches from before the change make the belief that is widened: later ones are fitted to it.
        known = self._fitted(people, self.origin, self.changed == 1, self.belief.theta, self.batches[:before])
        self.origin = beliefs.forgetting(known, self._deviations)
        self.batches = self.batches[before:]
        self.past = []
        self.warm = None  # what a log said was about demand before

    def relative_prices(self, contexts: FloatArray, coins: FloatArray) -> FloatArray:
        """Relative prices of customers, rows of contexts; a coin of 0 leaves the price in the middle."""
        model, rule = self.model, self.rule
        level, response = model.lines(self.belief.theta, with_constant(contexts))
        dearer, cheaper = model.coin_prices(level, response, rule.move, rule.spread, rule.offset)
        return np.where(coins > 0.0, dearer, np.where(coins < 0.0, cheaper, 0.5 * (dearer + cheaper)))

    @property
    def customer_prices(self) -> CustomerPrices:
        """One customer's prices, by the belief at hand: who asks often keeps them until the next release."""
        return CustomerPrices(self.model, self.rule, self.belief.theta)

    def relative_price(self, context: FloatArray, coin: float) -> float:
        """One customer's relative price; a coin of 0 leaves it in the middle."""
        return of_coin(self.customer_prices.both(context.tolist()), coin)


@functools.lru_cache(maxsize=1024)
def first_rule(rules: CautiousRules) -> Rule:
    """The rule of the first batch, which everybody finds by the same public numbers."""
    return CautiousQuoter(rules).rule


def coin_of(uniform: float) -> float:
    """A fair coin of +1 or -1 from a uniform number; exactly 1/2 is no coin: the price in the middle."""
    return math.copysign(1.0, uniform - 0.5) if uniform != 0.5 else 0.0


__all__ = ["Belief", "CautiousQuoter", "coin_of", "first_rule"]
