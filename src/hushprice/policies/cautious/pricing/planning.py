"""The next batch's rule: how far to move towards the believed best prices, how much to try out, and for how long.

A rule is judged by what it is expected to earn, itself and by what it teaches: the belief after the batch is drawn, the
best prices under it are found, and what they earn under the draw is averaged. Looking one batch ahead would never try
anything out, since one small batch seldom changes a price; so batches four and sixteen times as long are looked at too.
All earnings are relative to staying at today's price: its level is uncertain, and would drown the rest.

A rule is allowed only if it is safe (`Guard`): the promise of `risk`.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from hushprice.policies.cautious.pricing.belief import Belief, Rule, misfit_of, score_model
from hushprice.policies.cautious.pricing.believed import Believed
from hushprice.policies.cautious.pricing.change import CHANGES, Change, changed_thetas, gain_under, worst_unnoticed
from hushprice.policies.cautious.pricing.instruments import SHARES, WATCHING, used_entries
from hushprice.policies.cautious.pricing.shop_model import ShopModel, with_constant
from hushprice.types import FloatArray, IntArray

_MOVES = (1.0, 0.5, 0.2)
_SPREADS = (0.0, 0.05, 0.1, 0.17, 0.28, 0.45, 0.7, 1.0)  # of the widest
_DRAWS = 256  # of theta, for the guard
_FEW = 96  # of these, for what a batch teaches
_LOOKED_AT = 40  # people
_LONGER = (1, 4, 16, 64)
_PARTS = (1.0, 0.5, 0.25, 0.1, 0.04)  # of the next slots that a rule might be had for
_MOST_RELEASES = 8.0  # batches grow
_ALIKE = 1e-4  # of earnings: a difference that is none, and the choice with the least noise is taken
_SURE = 0.02  # over `risk`: deviations by which a move must be expected to gain, at first: evidence comes first
_LEAST_SURE = 0.3  # of them, once many have come: a mistake is a smaller share of all then
_SURE_PERSONAL = 0.02  # the same, of what prices for everybody on his own gain over one for all alike
_LIKELY, _LIKELY_SHARE = 0.1, 1.0  # with this probability, no more than this share of risk is lost
_RARE, _RARE_SHARE = 0.01, 2.0
_CHANGED_SHARE = 1.5  # of risk, and no more, is lost before a change of demand is noticed
_WORTH_WATCHING = 4e-6  # of earnings, over the square of `risk`: what conversion alone may teach less, prices at rest
_PROMISED = 1000  # customers, after whom `risk` holds
_SHORTER = 8  # times shorter than asked for, at most, is a batch that the guard cuts


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Past:
    """A batch as far as the guard asks: how many slots were priced by which rule and belief."""

    rule: Rule
    theta: FloatArray
    changes: list[Change]
    released: bool = True  # False: it was dropped, and tells nothing


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What a plan keeps to."""

    risk: float
    noise: tuple[FloatArray, ...]  # deviations of a score's entries, for each of the choices
    horizon: int
    each: tuple[FloatArray | None, ...] = ()  # what each slot adds by itself, where that is all the noise there is
    banked: float = 0.0  # what batches before `past` gained, in visits at today's price


def plan(
    model: ShopModel, people: FloatArray, belief: Belief, past: list[Past], limits: Limits, count: int, slots: int
) -> Rule:
    """The rule for the batch after `slots` slots, of at most `count` slots."""
    left = max(limits.horizon - slots, 1)
    soon = min(max(count // _SHORTER, 1), left)  # what is allowed grows while prices stay: to be looked at again
    count = min(count, left)
    guard = Guard(model, people, belief, past, limits, slots)
    draws = guard.draws[:_FEW]
    lessons = _Lessons(model, people[:_LOOKED_AT], belief, draws, limits)
    best_value, best = -np.inf, Rule(count=count, move=0.0, spread=0.0, choice=0)
    best_allowed: list[tuple[int, int]] = []
    for move, offset in lessons.aims(left):
        for share in _SPREADS:
            tried = Rule(count=count, move=move, spread=share * model.widest, choice=1, offset=offset)
            gain, changed = guard.gain(tried), guard.changed(tried)
            still = move == offset == tried.spread == 0.0
            safe = soon if still else guard.safe_count(gain, changed, count)
            if safe == 0:
                continue
            rule = replace(tried, count=safe)
            allowed = guard.affordable(gain, changed, count, left)
            value = lessons.value(rule, people, float(gain.mean()), left, allowed)
            if value > best_value:
                best_value, best, best_allowed = value, rule, allowed
    expected = float(guard.gain(best).mean())
    values = [
        lessons.value(replace(best, choice=choice), people, expected, left, best_allowed)
        for choice in range(len(SHARES))
    ]
    slack = _WORTH_WATCHING / max(limits.risk**2, _WORTH_WATCHING)
    if best.spread == 0.0 and values[WATCHING] > max(values) - slack:
        return replace(best, choice=WATCHING)
    told = [choice for choice in range(len(SHARES)) if choice != WATCHING or best.spread == 0.0]
    most = max(values[choice] for choice in told)
    return replace(best, choice=next(choice for choice in told if values[choice] >= most - _ALIKE))


class Guard:
    """Does a rule keep the promise? By draws from the belief, over all batches so far and the next one."""

    def __init__(
        self, model: ShopModel, people: FloatArray, belief: Belief, past: list[Past], limits: Limits, slots: int
    ) -> None:
        self._model = model
        self._risk = limits.risk
        self._slots = slots
        customers = with_constant(people)
        self._lines = model.lines(belief.theta, customers)
        factor = np.linalg.cholesky(belief.covariance)
        self.draws = belief.theta + _normals(model.size, _DRAWS) @ factor.T
        self._level, self._response = model.lines(self.draws, customers)
        self._staying = model.earned(self._level, self._response, 0.0)
        self._people = people
        self._changed = changed_thetas(model, people, belief.theta)
        gained, alike = [np.full(_DRAWS, limits.banked)], dict[tuple[float, float], FloatArray]()
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
        likely = np.mean(gained, axis=1)
        changes, counts = [batch.changes for batch in past], [batch.rule.count for batch in past]
        self._unnoticed = [worst_unnoticed(changes, counts, likely, which) for which in range(CHANGES)]

    def gain(self, rule: Rule) -> FloatArray:
        """What a visit earns by the rule more than by staying, as a share of staying, in every draw."""
        return self._gain_at(self._both(rule))

    def _both(self, rule: Rule) -> tuple[FloatArray, FloatArray]:
        return self._model.coin_prices(*self._lines, rule.move, rule.spread, rule.offset)

    def _gain_at(self, both: tuple[FloatArray, FloatArray]) -> FloatArray:
        above, below = (self._model.earned(self._level, self._response, price) for price in both)
        return np.asarray(0.5 * (above + below) / self._staying - 1.0)

    def changed(self, rule: Rule) -> list[float]:
        """The same, were demand to change."""
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
        allowed = self._risk * max(self._slots + max(count, slots), _PROMISED)
        total = np.sort(self.gained + count * gain)
        return bool(
            total[int(_LIKELY * _DRAWS)] >= -_LIKELY_SHARE * allowed
            and total[int(_RARE * _DRAWS)] >= -_RARE_SHARE * allowed
            and all(
                lost + count * min(gained, 0.0) >= -_CHANGED_SHARE * allowed
                for lost, gained in zip(self._unnoticed, changed, strict=False)
            )
        )


class _Lessons:
    """What a batch teaches, in earnings: by the belief after it, drawn for every draw of the truth."""

    def __init__(self, model: ShopModel, people: FloatArray, belief: Belief, draws: FloatArray, limits: Limits) -> None:
        self._model = model
        self._belief = belief
        self._limits = limits
        self._customers = with_constant(people)
        self._away = draws - belief.theta
        self._level, self._response = model.lines(draws, self._customers)
        self._staying = model.earned(self._level, self._response, 0.0)

    def value(self, rule: Rule, people: FloatArray, gain: float, left: int, allowed: list[tuple[int, int]]) -> float:
        """Earnings of a visit over what is left, relative to staying: by the rule, then by what it taught.

        `allowed` says for how many of how many slots the rule could be had; each batch of it has its noise.
        """
        model, belief = self._model, self._belief
        used = used_entries(model.contexts, rule.choice)
        found = score_model(model, people, rule, belief.theta, belief.theta, 1.0)
        jacobian, sampling = found.jacobian[used], found.sampling[np.ix_(used, used)]
        noise = self._limits.noise[rule.choice][used]
        each = self._limits.each[rule.choice] if self._limits.each else None
        misfit = misfit_of(found, belief.covariance)[used]
        luck = _normals(used.size, _FEW, 1)
        best = -np.inf
        for slots, count in allowed:
            releases = min(max(count / rule.count, 1.0), _MOST_RELEASES)
            drawn = releases * noise * noise if each is None else count * each[used] ** 2
            variance = count * sampling + np.diag(count * count * misfit + (drawn + 1e-9))
            moved = count * jacobian @ belief.covariance
            gains = np.linalg.solve(variance + count * moved @ jacobian.T, moved)
            seen = count * self._away @ jacobian.T + luck @ np.linalg.cholesky(variance).T
            learned = belief.theta + seen @ gains
            later = float(self._later(learned, belief.covariance - moved.T @ gains, left - slots).mean())
            best = max(best, (count * gain + max(left - slots, 0) * later) / left)
        return best

    def aims(self, left: int) -> list[tuple[float, float]]:
        """Where prices may go, as `move` and `offset` of a rule: today's, and where evidence leads."""
        theta = self._belief.theta.reshape(1, -1)
        believed = Believed(self._model, theta, self._belief.covariance, self._customers)
        personal, common = (way[0] > 0.0 for way, _, _ in self._ways(believed, left))
        offset = float(believed.best_common[0, 0])
        found = [(0.0, 0.0)]
        found += [(share, 0.0) for share in _MOVES if personal]
        return found + [(0.0, share * offset) for share in _MOVES if common]

    def _later(self, learned: FloatArray, covariance: FloatArray, left: int) -> FloatArray:
        """What the customers after that gain in each draw, priced by beliefs with these means: each for himself, or
        all alike, whatever is believed to gain more."""
        believed = Believed(self._model, learned, covariance, self._customers)
        (personal, more, prices), (common, gain, price) = self._ways(believed, left)
        apart = personal * more > common * gain
        way, prices = np.where(apart, personal, common), np.where(apart[:, None], prices, price)
        return np.asarray(way * (self._model.earned(self._level, self._response, prices) / self._staying - 1.0))

    def _ways(self, believed: Believed, left: int) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
        """To prices for everybody on his own, and to one for all alike: how far of the way could be gone, what is
        believed to be gained there, and the prices.

        Not at all where that would not rest on evidence, own prices on evidence that they are better than the common
        one; and no farther than the guard would let for `left` customers.
        """
        limits, risk = self._limits, max(self._limits.risk, 1e-9)
        share = limits.horizon / max(left, 1)  # of customers: who came before may have lost as much
        come = max(limits.horizon - left, _PROMISED)
        asked = min(_SURE / risk, 1.0) * max(_LEAST_SURE, (_PROMISED / come) ** 0.5)
        lost = [(_LIKELY_SHARE, ndtri(1.0 - _LIKELY)), (_RARE_SHARE, ndtri(1.0 - _RARE))]
        (gain, slopes), (least, other) = believed.gains(believed.best), believed.gains(believed.best_common)
        evident = gain - least >= min(_SURE_PERSONAL / risk, 1.0) * believed.deviation(slopes - other)
        found = []
        for gained, along, told, prices in (
            (gain, slopes, evident, believed.best),
            (least, other, True, believed.best_common),
        ):
            deviation = believed.deviation(along)
            way = np.where((gained >= asked * deviation) & told, 1.0, 0.0)
            for allowed, quantile in lost:
                way = np.minimum(way, allowed * risk * share / np.maximum(quantile * deviation - gained, 1e-9))
            found.append((way, gained, prices))
        return found


@functools.lru_cache(maxsize=256)
def _normals(size: int, count: int, stream: int = 0) -> FloatArray:
    """Fixed standard normals in opposite pairs, (count, size): the same releases give the same plan."""
    half = np.random.default_rng((stream, size)).standard_normal((count // 2, size))
    return np.concatenate([half, -half])[_spread_out(count)]


@functools.lru_cache(maxsize=8)
def _spread_out(count: int) -> IntArray:
    """Opposite pairs next to each other, so that the first few are balanced too."""
    return np.arange(count).reshape(2, -1).T.ravel()
