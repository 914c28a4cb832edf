"""The next batch's rule: how far to move towards the believed best prices, how much to try out, and for how long.

A rule is judged by what it is expected to earn, itself and by what it teaches: the belief after the batch is drawn, the
best prices under it are found, and what they earn under the draw is averaged. Looking one batch ahead would never try
anything out, since one small batch seldom changes a price; so batches up to 64 times as long are looked at too; the
more may be lost, the more prices are thought to follow what is learned meanwhile.
All earnings are relative to staying at today's price: its level is uncertain, and would drown the rest.

A rule is allowed only if it is safe (`Guard`): the promise of `risk`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hushprice.policies.cautious.pricing.belief import Belief, Rule
from hushprice.policies.cautious.pricing.change import MINDED, Change, changed_thetas, gain_under, worst_unnoticed
from hushprice.policies.cautious.pricing.instruments import SHARES, WATCHING
from hushprice.policies.cautious.pricing.lessons import (
    FEW,
    LIKELY,
    LIKELY_SHARE,
    PROMISED,
    RARE,
    RARE_SHARE,
    Candidate,
    Lessons,
    Limits,
    normals,
)
from hushprice.policies.cautious.pricing.shop_model import ShopModel, with_constant
from hushprice.types import FloatArray

_SPREADS = (0.0, 0.05, 0.1, 0.17, 0.28, 0.45, 0.7, 1.0)  # of the widest
_DRAWS = 256  # of theta, for the guard
_LONGER = (1, 4, 16, 64)
_PARTS = (1.0, 0.5, 0.25, 0.1, 0.04)  # of the next slots that a rule might be had for
_ALIKE = 1e-4  # of earnings: a difference that is none, and the choice with the least noise is taken
_CHANGED_SHARE = 1.5  # of risk, and no more, is lost before a change of demand is noticed
_CREDITED = 0.25  # quantile of what was gained before: as much may be lost besides
_PLAUSIBLE = 3.5  # deviations
_RIGHT_SHARE = 1.5  # and if today's price is best after all, unless that is out of the question
_WORTH_WATCHING = 4e-6  # of earnings, over the square of `risk`: what conversion alone may teach less, prices at rest
_SHORTER = 8  # times shorter than asked for, at most, is a batch that the guard cuts


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Past:
    """A batch as far as the guard asks: how many slots were priced by which rule and belief."""

    rule: Rule
    theta: FloatArray
    changes: list[Change]
    released: bool = True  # False: it was dropped, and tells nothing


def plan(
    model: ShopModel, people: FloatArray, belief: Belief, past: list[Past], limits: Limits, *, count: int, slots: int
) -> Rule:
    """The rule for the batch after `slots` slots, of at most `count` slots."""
    left = max(limits.horizon - slots, 1)
    soon = min(max(count // _SHORTER, 1), left)  # what is allowed grows while prices stay: to be looked at again
    count = min(count, left)
    guard = Guard(model, people, belief, past, limits, slots=slots)
    lessons = Lessons(model, people, belief, draws=guard.draws[:FEW], limits=limits, left=left)
    candidates: list[Candidate] = []
    for move, offset in lessons.aims():
        for share in _SPREADS:
            tried = Rule(count=count, move=move, spread=share * model.widest, choice=1, offset=offset)
            gain, changed = guard.gain(tried), guard.changed(tried)
            still = move == offset == tried.spread == 0.0
            safe = soon if still else guard.safe_count(gain, changed, count)
            if safe > 0:
                allowed = guard.affordable(gain, changed, count, left)
                candidates.append(Candidate(replace(tried, count=safe), guard.mean(gain), 0.0, allowed))
    most = max([0.0, *(each.gain for each in candidates if each.allowed)])
    candidates = [replace(each, cost=most - each.gain) for each in candidates]
    worth = lessons.values(candidates)
    chosen = candidates[int(np.argmax(worth))]  # the first stays, and is always there
    if not chosen.allowed:  # nothing is: more may have been lost than is allowed
        return Rule(count=count, move=0.0, spread=0.0, choice=0)
    best = chosen.rule
    values = lessons.values([replace(chosen, rule=replace(best, choice=choice)) for choice in range(len(SHARES))])
    slack = _WORTH_WATCHING / max(limits.risk**2, _WORTH_WATCHING)
    if best.spread == 0.0 and values[WATCHING] > max(values) - slack:
        return replace(best, choice=WATCHING)
    told = [choice for choice in range(len(SHARES)) if choice != WATCHING or best.spread == 0.0]
    most = max(values[choice] for choice in told)
    return replace(best, choice=next(choice for choice in told if values[choice] >= most - _ALIKE))


class Guard:
    """Does a rule keep the promise? By draws from the belief, over all batches so far and the next one."""

    def __init__(
        self, model: ShopModel, people: FloatArray, belief: Belief, past: list[Past], limits: Limits, *, slots: int
    ) -> None:
        self._model = model
        self._risk = limits.risk
        self._slots = slots
        customers = with_constant(people)
        self._lines = model.lines(belief.theta, customers)
        factor = np.linalg.cholesky(belief.covariance)
        right, self._wrong = _shop_right(model, people, belief)
        self.draws = np.vstack([belief.theta + normals(model.size, _DRAWS) @ factor.T, right])
        self._level, self._response = model.lines(self.draws, customers)
        self._staying = model.earned(self._level, self._response, 0.0)
        self._people = people
        self._changed = changed_thetas(model, people, belief.theta)[:MINDED]
        gained, alike = [np.full(_DRAWS + 1, limits.banked)], dict[tuple[float, float], FloatArray]()
        for batch in past:
            rule = batch.rule
            everybody = rule.offset, rule.spread  # of a batch with one middle price: many have the same
            if rule.move > 0.0 or everybody not in alike:
                level, response = model.lines(batch.theta, customers)
                gain = self._gain_at(model.coin_prices(level, response, rule.move, rule.spread, rule.offset))
                if rule.move == 0.0:
                    alike[everybody] = gain
            else:
                gain = alike[everybody]
            gained.append(gained[-1] + rule.count * gain)
        self.gained = gained[-1]
        gains = np.quantile(np.array(gained)[:, :_DRAWS], _CREDITED, axis=1)
        changes, counts = [batch.changes for batch in past], [batch.rule.count for batch in past]
        self._unnoticed = [worst_unnoticed(changes, counts, gains, which) for which in range(MINDED)]

    def gain(self, rule: Rule) -> FloatArray:
        """What a visit earns by the rule more than by staying, as a share of staying: in every draw, and last if the
        shop is right."""
        return self._gain_at(self._both(rule))

    @staticmethod
    def mean(gain: FloatArray) -> float:
        """What is expected of it."""
        return float(gain[:_DRAWS].mean())

    def _both(self, rule: Rule) -> tuple[FloatArray, FloatArray]:
        return self._model.coin_prices(*self._lines, rule.move, rule.spread, rule.offset)

    def _gain_at(self, both: tuple[FloatArray, FloatArray]) -> FloatArray:
        above, below = (self._model.earned(self._level, self._response, price) for price in both)
        return np.asarray(0.5 * (above + below) / self._staying - 1.0)

    def changed(self, rule: Rule) -> list[float]:
        """What `gain` is, were demand to change: for each change that is kept in mind."""
        both = self._both(rule)
        return [gain_under(self._model, self._people, theta, both) for theta in self._changed]

    def safe_count(self, gain: FloatArray, changed: list[float], count: int) -> int:
        """How many slots, at most `count`, may be priced so and the promise be kept; 0 where too few."""
        shortest = max(count // _SHORTER, 1)
        while count >= shortest:
            if self._safe(gain, changed, count):
                return count
            count = int(0.7 * count)
        return 0

    def affordable(self, gain: FloatArray, changed: list[float], count: int, left: int) -> list[tuple[int, int]]:
        """How many of the next slots could be priced so, the others staying: (slots, of them), for longer and longer.

        What is allowed grows with time, so a costly rule can be had for a few customers now and then.
        """
        found = []
        for longer in _LONGER:
            slots = longer * count
            if slots > 0.5 * left and longer > 1:
                break
            near = changed if longer == 1 else []  # releases in between will tell of changes
            priced = next((n for n in (int(slots * share) for share in _PARTS) if self._safe(gain, near, n, slots)), 0)
            if priced > 0:
                found.append((slots, priced))
        return found

    def _safe(self, gain: FloatArray, changed: list[float], count: int, slots: int = 0) -> bool:
        """Would all customers up to the end of the batch, or of `slots` slots, have earned what is promised?"""
        allowed = self._risk * max(self._slots + max(count, slots), PROMISED)
        whole = self.gained + count * gain
        total = np.sort(whole[:_DRAWS])
        return bool(
            total[int(LIKELY * _DRAWS)] >= -LIKELY_SHARE * allowed
            and total[int(RARE * _DRAWS)] >= -RARE_SHARE * allowed
            and (self._wrong or whole[_DRAWS] >= -_RIGHT_SHARE * allowed)
            and all(
                lost + count * min(gained, 0.0) >= -_CHANGED_SHARE * allowed
                for lost, gained in zip(self._unnoticed, changed, strict=False)
            )
        )


def _shop_right(model: ShopModel, people: FloatArray, belief: Belief) -> tuple[FloatArray, bool]:
    """What is believed if customers' price response is what the shop expects; and is that out of the question?"""
    along = np.concatenate([np.zeros(model.contexts + 1), with_constant(people).mean(axis=0)])
    moved, away = belief.covariance @ along, float(along @ belief.theta)
    variance = float(along @ moved)
    return belief.theta - moved * (away / variance), away * away > _PLAUSIBLE**2 * variance
