"""What a pass adds up: residuals times instruments, both settled by the releases before it.

With u = [1; u_x] * [1; u_z], x and z whitened by the description, a row adds t psi / (1 + L),

    psi = [a_0; own],  own = a_j u_j held to length b,  a_0^2 + b^2 = 1,  2 b <= 1 + L,
    t = q (y - s) held to [-L, 1],  q = min(1 / (1 - s), L / s),

s the probability of a purchase at theta (of none, both mirrored, where more than half buy). q and psi do not depend on
y, so the sum has mean zero at the truth: weights instead of clipping (docs/proofs/log_fit.md, section 3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from hushprice.logs.fit.description import Moments
from hushprice.logs.fit.likeness import Likeness
from hushprice.policies.cautious.pricing.shop_model import ShopModel
from hushprice.types import FloatArray

_MOST_LIKELY = 0.9  # quantile of s on the likeness
_ROOM = 1.5  # times its odds: L
_LEAST_LARGEST = 0.02
_WIDTH = 0.8  # of own, in deviations of the root of its squared length, where noise is as large as sampling
_WIDTHS = (0.2, 0.9)
_PRICED = 2.0  # times as bad as any other doubt is one about the price response


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
    mirrored: bool

    @property
    def own(self) -> float:
        """b: what the record's own part of psi is held to."""
        return math.sqrt(1.0 - float(self.weights[0]) ** 2)

    def residual_weights(self, chances: FloatArray) -> FloatArray:
        """q, of the chances of a purchase."""
        rare = self.rare(chances)
        # A chance of 0 or 1 is a float's: its weight is bounded by the other of the two.
        tiny = 1e-300
        return np.minimum(1.0 / np.maximum(1.0 - rare, tiny), self.largest / np.maximum(rare, tiny))

    def rare(self, chances: FloatArray) -> FloatArray:
        """s: of whichever outcome was taken to be the rarer."""
        return 1.0 - chances if self.mirrored else chances

    def instruments(self, contexts: FloatArray, prices: FloatArray) -> FloatArray:
        """Rows psi. Columns are added one by one, so that a row's is the same whoever comes with it."""
        k = self.model.contexts
        centred = [column - middle for column, middle in zip(contexts.T, self.centre, strict=False)]
        white = []
        for i in range(k):
            total = np.zeros(len(prices))
            for j in range(i + 1):
                total = total + self.whitening[i, j] * centred[j]
            white.append(total)
        price = (prices - self.centre[k]) * self.price_scale
        parts = [*white, price, *(price * column for column in white)]
        own = [weight * column for weight, column in zip(self.weights[1:], parts, strict=True)]
        squares = np.zeros(len(prices))
        for column in own:
            squares = squares + column * column
        scale = np.minimum(1.0, self.own / np.maximum(np.sqrt(squares), 1e-12))
        return np.stack([np.full(len(prices), self.weights[0]), *(column * scale for column in own)], axis=1)

    def contributions(self, contexts: FloatArray, prices: FloatArray, demands: FloatArray) -> FloatArray:
        """What rows, held to their bounds, add: of length at most 1, and two are at most 1 apart."""
        k, half = self.model.contexts, self.model.contexts + 1
        level, response = np.full(len(prices), self.model.level), np.full(len(prices), self.model.response)
        level, response = level + self.theta[0], response + self.theta[half]
        for j in range(k):
            level = level + self.theta[1 + j] * contexts[:, j]
            response = response + self.theta[half + 1 + j] * contexts[:, j]
        chances = expit(level - response * prices)
        weighted = self.residual_weights(chances) * (self.rare(demands) - self.rare(chances))
        # Not np.clip, which lets a number that is none pass: beliefs beyond all floats make some.
        held = np.fmax(np.fmin(weighted, 1.0), -self.largest)
        scaled = held * (1.0 / (1.0 + self.largest))
        return np.asarray(scaled[:, None] * self.instruments(contexts, prices))


def plan_score(
    *, model: ShopModel, moments: Moments, likeness: Likeness, theta: FloatArray, covariance: FloatArray, noise: float
) -> ScorePlan:
    """The next score: what it is taken at, and where it spends its length. `noise` is per unit of what a unit moves."""
    k, size = model.contexts, model.size
    mirrored = model.level > 0.0
    chances = expit(likeness.log_odds(model, theta))
    rare = 1.0 - chances if mirrored else chances
    likely = min(float(np.quantile(rare, _MOST_LIKELY)), 0.5)
    largest = min(1.0, max(_LEAST_LARGEST, _ROOM * likely / (1.0 - likely)))
    whitening = np.linalg.inv(np.linalg.cholesky(moments.covariance[:k, :k])) if k else np.zeros((0, 0))
    given: dict[str, Any] = {
        "model": model,
        "theta": theta,
        "centre": moments.mean,
        "whitening": whitening,
        "price_scale": 1.0 / math.sqrt(float(moments.covariance[k, k])),
        "largest": largest,
        "mirrored": mirrored,
    }
    plain = ScorePlan(weights=np.zeros(size), **given)
    q = plain.residual_weights(chances)
    variance = chances * (1.0 - chances)
    slope, spread = float(np.mean(q * variance)), float(np.mean(q * q * variance))
    deviation = noise * (1.0 + largest)
    doubt = np.diag(_turned(plain) @ covariance @ _turned(plain).T)
    alpha = (deviation / (likeness.count * slope)) ** 2
    matters = np.where(np.arange(size) == k + 1, _PRICED, 1.0)
    shares = poured(doubt, alpha, spread / (slope * slope * likeness.count), matters)
    ratio = deviation * math.sqrt(size / (likeness.count * spread))
    width = min(max(_WIDTH * math.sqrt(ratio), _WIDTHS[0]), _WIDTHS[1])
    constant = max(math.sqrt(float(shares[0])), math.sqrt(max(0.0, 1.0 - (0.5 * (1.0 + largest)) ** 2)))
    own = math.sqrt(max(1.0 - constant * constant, 0.0))
    rest = np.sqrt(shares[1:] / max(float(shares[1:].sum()), 1e-300)) * (own * width)
    return ScorePlan(weights=np.concatenate([[constant], rest]), **given)


def _turned(plan: ScorePlan) -> FloatArray:
    """The matrix T with phi' theta = u' T theta: [1; x] and -[1; x] z in whitened terms."""
    k = plan.model.contexts
    inverse = np.linalg.inv(plan.whitening) if k else np.zeros((0, 0))
    people = np.block([[np.ones((1, 1)), plan.centre[None, :k]], [np.zeros((k, 1)), inverse.T]])  # [1; x] = people' u
    middle, scale = float(plan.centre[k]), 1.0 / plan.price_scale
    return np.block([[people, -middle * people], [np.zeros((k + 1, k + 1)), -scale * people]])


def poured(doubt: FloatArray, alpha: float, beta: float, matters: FloatArray) -> FloatArray:
    """Shares of squared length, 1 in all, that leave the least variance in all: directions nobody can learn get none.

    With share x, doubt tau^2 before and noise alpha / x + beta, tau^2 (alpha + beta x) / ((tau^2 + beta) x + alpha) is
    left, times how much that `matters`; its slope in x is the same wherever x > 0, at a level found by halving.
    """

    def at(log_level: float) -> FloatArray:
        given = (doubt * np.sqrt(matters * alpha) * math.exp(-0.5 * log_level) - alpha) / (doubt + beta)
        return np.asarray(np.maximum(given, 0.0))

    low, high = -200.0, 200.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if at(middle).sum() > 1.0 else (low, middle)
    shares = at(low)
    return np.asarray(shares / shares.sum())
