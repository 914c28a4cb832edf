"""What a rule is expected to earn, itself and by what it teaches: the belief after it is drawn for draws of the truth.

All rules of a plan are looked at together: the passes over the population are theirs in common.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from hushprice.policies.cautious.pricing.belief import Belief, Rule, ScoreModel, misfit_of, score_models
from hushprice.policies.cautious.pricing.believed import Believed
from hushprice.policies.cautious.pricing.instruments import used_entries
from hushprice.policies.cautious.pricing.shop_model import ShopModel, with_constant
from hushprice.types import FloatArray, IntArray

FEW = 96  # draws of theta, for what a batch teaches
LIKELY, LIKELY_SHARE = 0.1, 1.0  # with this probability, no more than this share of risk is lost
RARE, RARE_SHARE = 0.01, 2.0
PROMISED = 1000  # customers, after whom `risk` holds
_LOOKED_AT = 40  # people
_MOVES = (1.0, 0.5, 0.2)
_LITTLE = 0.02  # a risk at which trying out has to show changes of demand too: what it teaches makes it no cheaper
_MOST_RELEASES = 8.0  # batches grow
_SURE = 0.02  # over `risk`: deviations by which a move must be expected to gain, at first: evidence comes first
_LEAST_SURE = 0.3  # of them, once many have come: a mistake is a smaller share of all then
_SURE_PERSONAL = 0.02  # the same, of what prices for everybody on his own gain over one for all alike


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What a plan keeps to."""

    risk: float
    noise: tuple[FloatArray, ...]  # deviations of a score's entries, for each of the choices
    horizon: int
    each: tuple[FloatArray | None, ...] = ()  # what each slot adds by itself, where that is all the noise there is
    banked: float = 0.0  # what batches before `past` gained, in visits at today's price


@dataclass(frozen=True, slots=True)
class Candidate:
    """A rule that keeps the promise."""

    rule: Rule
    gain: float  # of a visit over staying, as is believed
    cost: float  # how much less that is than the most that any rule gains
    allowed: list[tuple[int, int]]  # for how many of how many slots it could be had; each batch of it has its noise


class Lessons:
    """What batches teach, in earnings: by the belief after them, drawn for every draw of the truth."""

    def __init__(
        self, model: ShopModel, people: FloatArray, belief: Belief, *, draws: FloatArray, limits: Limits, left: int
    ) -> None:
        self._model = model
        self._people = people
        self._belief = belief
        self._limits = limits
        self._left = left  # slots
        self._customers = with_constant(people[:_LOOKED_AT])
        self._away = draws - belief.theta
        self._level, self._response = model.lines(draws, self._customers)
        self._staying = model.earned(self._level, self._response, 0.0)

    def values(self, candidates: list[Candidate]) -> list[float]:
        """Earnings of a visit over what is left, relative to staying: by the rule, and by what it teaches."""
        theta, rules = self._belief.theta, [each.rule for each in candidates]
        priced_by = np.broadcast_to(theta, (len(rules), theta.size))
        found = score_models(self._model, self._people, rules, priced_by, theta, counts=np.ones(len(rules)))
        return [self._value(each, found.of(k)) for k, each in enumerate(candidates)]

    def _value(self, candidate: Candidate, found: ScoreModel) -> float:
        if not candidate.allowed:
            return -np.inf
        belief, choice, left = self._belief, candidate.rule.choice, self._left
        used = used_entries(self._model.contexts, choice)
        jacobian, sampling = found.jacobian[used], found.sampling[np.ix_(used, used)]
        noise = self._limits.noise[choice][used]
        each = self._limits.each[choice] if self._limits.each else None
        misfit = misfit_of(found, belief.covariance)[used]
        away, luck = self._away @ jacobian.T, normals(used.size, FEW, 1)
        spread = jacobian @ belief.covariance
        known, explained = spread @ jacobian.T, []
        for _, count in candidate.allowed:
            releases = min(max(count / candidate.rule.count, 1.0), _MOST_RELEASES)
            drawn = releases * noise * noise if each is None else count * each[used] ** 2
            variance = count * sampling + np.diag(count * count * misfit + (drawn + 1e-9))
            gains = np.linalg.solve(variance + count * count * known, count * spread)
            seen = count * away + luck @ np.linalg.cholesky(variance).T
            explained.append((belief.theta + seen @ gains, belief.covariance - (count * spread).T @ gains))
        learned, covariances = (np.array(each) for each in zip(*explained, strict=True))
        later = self._later(learned, covariances, np.array([left - slots for slots, _ in candidate.allowed]))
        following = min(max(self._limits.risk - _LITTLE, 0.0) / (1.0 - _LITTLE), 1.0)
        return earned_while_trying(candidate, later.tolist(), left, following) / left

    def aims(self) -> list[tuple[float, float]]:
        """Where prices may go, as `move` and `offset` of a rule: today's, and where evidence leads."""
        theta = self._belief.theta.reshape(1, -1)
        believed = Believed(self._model, theta, self._belief.covariance, self._customers)
        personal, common = (way[0] > 0.0 for way, _, _ in self._ways(believed, np.array([self._left])))
        offset = float(believed.best_common[0, 0])
        found = [(0.0, 0.0)]
        found += [(share, 0.0) for share in _MOVES if personal]
        return found + [(0.0, share * offset) for share in _MOVES if common]

    def _later(self, learned: FloatArray, covariances: FloatArray, left: FloatArray) -> FloatArray:
        """What the customers after that gain on average, priced by beliefs with these means: each for himself, or all
        alike, whatever is believed to gain more. `learned` has groups of draws; a group has one covariance, and so many
        customers left."""
        groups = len(learned)
        believed = Believed(self._model, learned.reshape(-1, learned.shape[-1]), covariances, self._customers)
        (personal, more, prices), (common, gain, price) = self._ways(believed, np.repeat(left, FEW))
        apart = personal * more > common * gain
        way, prices = np.where(apart, personal, common), np.where(apart[:, None], prices, price)
        prices = prices.reshape(groups, FEW, -1)
        gained = self._model.earned(self._level, self._response, prices) / self._staying - 1.0
        return np.asarray((way.reshape(groups, FEW) * gained).mean(axis=1))

    def _ways(self, believed: Believed, left: FloatArray) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
        """To prices for everybody on his own, and to one for all alike: how far of the way could be gone, what is
        believed to be gained there, and the prices.

        Not at all where that would not rest on evidence, own prices on evidence that they are better than the common
        one; and no farther than the guard would let for `left` customers.
        """
        limits, risk = self._limits, max(self._limits.risk, 1e-9)
        share = limits.horizon / np.maximum(left, 1)  # of customers: who came before may have lost as much
        come = np.maximum(limits.horizon - left, PROMISED)
        asked = min(_SURE / risk, 1.0) * np.maximum(_LEAST_SURE, (PROMISED / come) ** 0.5)
        lost = [(LIKELY_SHARE, ndtri(1.0 - LIKELY)), (RARE_SHARE, ndtri(1.0 - RARE))]
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


def earned_while_trying(candidate: Candidate, later: list[float], left: int, following: float) -> float:
    """What `left` slots earn, trying out as long as is best. `later` is what a slot gains by what was learned by then.

    While more is tried out all pay as the rule says; or, with weight `following`, prices follow what was learned, and
    what trying out costs is lost besides.
    """
    (slots, count), gain, best = candidate.allowed[0], later[0], -math.inf
    followed = count * candidate.gain
    for (further, more), learned in zip(candidate.allowed, later, strict=True):
        followed += (further - slots) * gain - max(more - count, 0) * candidate.cost
        slots, count, gain = further, more, learned
        earned = following * followed + (1.0 - following) * count * candidate.gain
        best = max(best, earned + max(left - slots, 0) * gain)
    return best


@functools.lru_cache(maxsize=256)
def normals(size: int, count: int, stream: int = 0) -> FloatArray:
    """Fixed standard normals in opposite pairs, (count, size): the same releases give the same plan."""
    half = np.random.default_rng((stream, size)).standard_normal((count // 2, size))
    return np.concatenate([half, -half])[_spread_out(count)]


@functools.lru_cache(maxsize=8)
def _spread_out(count: int) -> IntArray:
    """Opposite pairs next to each other, so that the first few are balanced too."""
    return np.arange(count).reshape(2, -1).T.ravel()
