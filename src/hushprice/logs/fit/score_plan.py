"""What a pass adds up: residuals times instruments, both settled by the releases before it.

With u = [1; u_x] * [1; u_z], x and z whitened by the description, a row adds t psi / (1 + L),

    psi = [a_0; own],  own = a_j u_j held to length b,  a_0^2 + b^2 = 1,  2 b <= 1 + L,
    t = q (y - s) held to [-L, 1],  q = min(c, 1 / (1 - s), L / s),

s the probability of a purchase at theta (of none, both mirrored, where more than half buy). q and psi do not depend on
y, so the sum has mean zero at the truth: weights instead of clipping (docs/proofs/log_fit.md, section 3). With c = 1
and L at the largest s it is the score of maximum likelihood, whose sampling error is least; larger weights outshout
more noise. L and c are those that leave the least variance, sampling and noise together.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit

from hushprice.errors import InvalidInput
from hushprice.logs.fit.description import Moments
from hushprice.logs.fit.lengths import PRICE, settled
from hushprice.logs.fit.likeness import Likeness
from hushprice.logs.fit.row_columns import PIECE, SPARE, score_columns
from hushprice.policies.cautious.pricing.shop_model import ShopModel
from hushprice.types import FloatArray

_LARGEST = tuple(2.0 ** (-0.5 * step) for step in range(12))  # L, those that are tried
_HEAVIEST = (1.0, 1.25, 1.5, 2.0, 4.0)  # c
# Root of the squared length of own, before it is held, in units of what it is held to: with the first, rows up to twice
# as long are not held. It grows with the root of noise by sampling: what is held is biased where the model is wrong.
_WIDTHS = (0.5, 1.5)
_ROUNDED = 1e-12  # a share of what the accountant adds for rounding


@dataclass(frozen=True, slots=True, eq=False)
class ScorePlan:
    """Public: everything that a row's contribution depends on besides the row."""

    model: ShopModel
    theta: FloatArray
    centre: FloatArray  # of [x; z]
    whitening: FloatArray  # of x: lower triangle
    price_scale: float
    weights: FloatArray  # a
    largest: float  # L
    heaviest: float  # c
    mirrored: bool

    def check(self) -> None:
        """Refuse what the proof does not cover: a_0 past 1, L out of (0, 1], own parts too long, numbers that are none.

        theta may hold anything: t is held to its bounds. Compiled steps ask nobody how long an array is.
        """
        k, size = self.model.contexts, self.model.size
        arrays = (self.centre, (k + 1,)), (self.whitening, (k, k)), (self.weights, (size,)), (self.theta, (size,))
        if any(array.shape != shape for array, shape in arrays):
            raise InvalidInput(f"a plan of a score for contexts of {k} entries must have arrays of that size")
        finite = (self.centre, self.whitening, self.weights, np.array([self.price_scale, self.heaviest]))
        sound = all(np.isfinite(each).all() for each in finite) and abs(self.weights[0]) <= 1.0
        if not (sound and 0.0 < self.largest <= 1.0 and 2.0 * self.own <= (1.0 + self.largest) * (1.0 + _ROUNDED)):
            raise InvalidInput("a plan of a score must be finite, and its own parts within what two rows may differ by")

    @property
    def own(self) -> float:
        """b: what the record's own part of psi is held to."""
        return math.sqrt(1.0 - float(self.weights[0]) ** 2)

    def residual_weights(self, chances: FloatArray) -> FloatArray:
        """q, of the chances of a purchase."""
        rare = self.rare(chances)
        # A chance of 0 or 1 is a float's: its weight is bounded by the other of the two.
        tiny = 1e-300
        free = np.minimum(1.0 / np.maximum(1.0 - rare, tiny), self.heaviest)
        return np.minimum(free, self.largest / np.maximum(rare, tiny))

    def rare(self, chances: FloatArray) -> FloatArray:
        """s: of whichever outcome was taken to be the rarer."""
        return 1.0 - chances if self.mirrored else chances

    def instruments(self, contexts: FloatArray, prices: FloatArray) -> FloatArray:
        """Rows psi. Columns are added one by one, so that a row's is the same whoever comes with it."""
        own = [weight * column for weight, column in zip(self.weights[1:], self._parts(contexts, prices), strict=True)]
        squares = np.zeros(len(prices))
        for column in own:
            squares = squares + column * column
        scale = np.minimum(1.0, self.own / np.maximum(np.sqrt(squares), 1e-12))
        return np.stack([np.full(len(prices), self.weights[0]), *(column * scale for column in own)]).T

    def whitened(self, contexts: FloatArray, prices: FloatArray) -> FloatArray:
        """Rows u."""
        return np.stack([np.ones(len(prices)), *self._parts(contexts, prices)]).T

    def _parts(self, contexts: FloatArray, prices: FloatArray) -> list[FloatArray]:
        """The columns of u but the first."""
        k = self.model.contexts
        centred = [column - middle for column, middle in zip(contexts.T, self.centre, strict=False)]
        white = []
        for i in range(k):
            total = np.zeros(len(prices))
            for j in range(i + 1):
                total = total + self.whitening[i, j] * centred[j]
            white.append(total)
        price = (prices - self.centre[k]) * self.price_scale
        return [*white, price, *(price * column for column in white)]

    def contributions(self, contexts: FloatArray, prices: FloatArray, demands: FloatArray) -> FloatArray:
        """What rows, held to their bounds, add: of length at most 1, and two are at most 1 apart."""
        k, half = self.model.contexts, self.model.contexts + 1
        if contexts.shape[1] != k:
            raise InvalidInput(
                f"rows must have contexts of {k} entries, as the plan of their score, got {contexts.shape[1]}"
            )
        lines = np.vstack([self.theta[:half], self.theta[half:]])
        lines[:, 0] += self.model.level, self.model.response
        bounds = np.array([self.largest, self.heaviest, self.own, self.price_scale, float(self.mirrored)])
        added, work = np.empty((self.model.size, len(prices))), np.empty((k + SPARE, PIECE))
        x, z, y = np.ascontiguousarray(contexts.T), np.ascontiguousarray(prices), np.ascontiguousarray(demands)
        score_columns(x, z, y, lines, self.centre, self.whitening, self.weights, bounds, work, added)
        return added.T


def plan_score(
    *, model: ShopModel, moments: Moments, likeness: Likeness, theta: FloatArray, covariance: FloatArray, noise: float
) -> ScorePlan:
    """The next score: what it is taken at, and where it spends its length. `noise` is per unit of what a unit moves."""
    k, size = model.contexts, model.size
    mirrored = model.level > 0.0
    chances = expit(likeness.log_odds(model, theta))
    given: dict[str, Any] = {
        "model": model,
        "theta": theta,
        "centre": moments.mean,
        "whitening": np.linalg.inv(np.linalg.cholesky(moments.covariance[:k, :k])) if k else np.zeros((0, 0)),
        "price_scale": 1.0 / math.sqrt(float(moments.covariance[k, k])),
        "mirrored": mirrored,
    }
    plain = ScorePlan(weights=np.zeros(size), largest=1.0, heaviest=1.0, **given)
    turned = _turned(plain)
    doubts = turned @ covariance @ turned.T
    doubt = np.diag(doubts)
    matters = np.where(np.arange(size) == k + 1, PRICE * (size - 1.0), 1.0)
    tried = [replace(plain, largest=each, heaviest=most) for each, most in itertools.product(_LARGEST, _HEAVIEST)]
    q, variance = np.stack([each.residual_weights(chances) for each in tried]), chances * (1.0 - chances)
    slopes, spreads = np.mean(q * variance, axis=1), np.mean(q * q * variance, axis=1)
    scales = noise * (1.0 + np.array([each.largest for each in tried]))
    alphas, betas = (scales / (likeness.count * slopes)) ** 2, spreads / (slopes * slopes * likeness.count)
    shared = poured(doubt, alphas[:, None], betas[:, None], matters)
    at = int(np.argmin((matters * _left(doubt, alphas[:, None], betas[:, None], shared)).sum(axis=1)))
    chosen, shares = tried[at], shared[at]
    ratio = float(scales[at]) * math.sqrt(size / (likeness.count * float(spreads[at])))
    width = min(_WIDTHS[0] * math.sqrt(max(ratio, 1.0)), _WIDTHS[1])
    constant = max(math.sqrt(float(shares[0])), math.sqrt(max(0.0, 1.0 - (0.5 * (1.0 + chosen.largest)) ** 2)))
    own = math.sqrt(max(1.0 - constant * constant, 0.0))
    even = np.full(size - 1, own * width / math.sqrt(size - 1.0))
    begun = replace(chosen, weights=np.concatenate([[constant], even]))
    return settled(begun, likeness, chances, doubts, float(scales[at]))


def _turned(plan: ScorePlan) -> FloatArray:
    """The matrix T with phi' theta = u' T theta: [1; x] and -[1; x] z in whitened terms."""
    k = plan.model.contexts
    inverse = np.linalg.inv(plan.whitening) if k else np.zeros((0, 0))
    people = np.block([[np.ones((1, 1)), plan.centre[None, :k]], [np.zeros((k, 1)), inverse.T]])  # [1; x] = people' u
    middle, scale = float(plan.centre[k]), 1.0 / plan.price_scale
    return np.block([[people, -middle * people], [np.zeros((k + 1, k + 1)), -scale * people]])


def poured(doubt: FloatArray, alpha: FloatArray | float, beta: FloatArray | float, matters: FloatArray) -> FloatArray:
    """Shares of squared length, 1 in all, that leave the least variance in all: directions nobody can learn get none.

    With share x, doubt tau^2 before and noise alpha / x + beta, tau^2 (alpha + beta x) / ((tau^2 + beta) x + alpha) is
    left, times how much that `matters`; its slope in x is the same wherever x > 0, at a level found by halving. A row
    for each alpha and beta.
    """

    def at(log_level: FloatArray) -> FloatArray:
        given = (doubt * np.sqrt(matters * alpha) * np.exp(-0.5 * log_level) - alpha) / (doubt + beta)
        return np.asarray(np.maximum(given, 0.0))

    low = np.full(np.shape(alpha), -200.0)
    high = -low
    for _ in range(100):
        middle = 0.5 * (low + high)
        above = at(middle).sum(axis=-1, keepdims=low.ndim > 0) > 1.0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    shares = at(low)
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True))


def _left(doubt: FloatArray, alpha: FloatArray, beta: FloatArray, shares: FloatArray) -> FloatArray:
    """The variances that are left after a score with these shares."""
    return np.asarray(doubt * (alpha + beta * shares) / ((doubt + beta) * shares + alpha))
