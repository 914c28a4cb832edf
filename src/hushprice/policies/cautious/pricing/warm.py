"""A warm start: what a log says beside what the shop says, each fitted to all releases, weighed by what these say.

A log may be of other customers or another season; and where its prices followed demand, it may be right about who buys
and wrong about what a price does. So what it says is made less sure by a share of what the shop leaves open, and there
are three first beliefs: all that the log says; what it says about who buys, with the shop's own view of prices; and the
shop's own, as without a log. Every release is more or less likely under each of them (from releases alone: nothing is
paid for it), and prices are set by the mixture, as one normal belief with its mean and covariance. While releases have
not spoken, that belief leaves open what the shop's does, and `risk` is guarded by it: prices do not leave today's on
the log's word alone. A log that was right is soon believed, and one that was wrong is forgotten.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

from hushprice.policies.cautious.pricing.belief import (
    MISFIT,
    Belief,
    ReleasedBatch,
    score_model,
    score_variance,
)
from hushprice.policies.cautious.pricing.instruments import used_entries
from hushprice.policies.cautious.pricing.shop_model import ShopModel
from hushprice.prior import Prior
from hushprice.types import FloatArray

# Chosen on the worlds of benchmarks/shops/designed.py (docs/lab/warm_start.md).
TRUST = (0.45, 0.45, 0.1)  # before the first release: in all that the log says, in who buys, in the shop alone
WIDER = 1.2  # times the log's own covariance
DOUBT = 0.2  # and this share of each deviation that the shop leaves open
_LEAST = -30.0  # of a log-weight: a belief that is out never comes back by rounding alone

# A first belief, may its deviations be scaled, and where to begin: the belief after all batches.
Refit = Callable[[Belief, bool, FloatArray], Belief]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class WarmStart:
    """The first beliefs by the log, what became of them and, last, of the shop's; and the logarithms of weights."""

    first: tuple[Belief, ...]
    beliefs: tuple[Belief, ...]
    weighed: tuple[float, ...] = tuple(math.log(each) for each in TRUST)

    @property
    def weights(self) -> FloatArray:
        """How likely each belief is."""
        return np.exp(np.array(self.weighed))

    @property
    def belief(self) -> Belief:
        """The mixture's mean and covariance."""
        return mixed(self.beliefs, self.weights)

    def after(self, model: ShopModel, people: FloatArray, batch: ReleasedBatch, misfit: float) -> WarmStart:
        """With one more batch's say on which of them is right. They are as they were before it."""
        likely = np.array([log_likelihood(model, people, batch, each, misfit) for each in self.beliefs])
        raw = np.array(self.weighed) + likely
        weighed = np.maximum(raw - logsumexp(raw), _LEAST)
        return replace(self, weighed=tuple((weighed - logsumexp(weighed)).tolist()))

    def fitted(self, refit: Refit, shop: Belief) -> WarmStart:
        """With all of them fitted to all batches; the shop's is given."""
        logs = [refit(first, False, now.theta) for first, now in zip(self.first, self.beliefs[:-1], strict=True)]
        return replace(self, beliefs=(*logs, shop))


def warm_start(prior: Prior, first: Belief) -> WarmStart:
    """Before any release; `first` is the shop's own belief, in which levels and responses are independent."""
    half = first.theta.size // 2
    said, unsure = np.array(prior.theta), WIDER * np.array(prior.covariance) + DOUBT * DOUBT * first.covariance
    who = _believed(Belief(first.theta[:half], first.covariance[:half, :half]), said[:half], unsure[:half, :half])
    buying = Belief(first.theta.copy(), first.covariance.copy())
    buying.theta[:half], buying.covariance[:half, :half] = who.theta, who.covariance
    logs = (_believed(first, said, unsure), buying)
    return WarmStart(first=logs, beliefs=(*logs, first))


def _believed(first: Belief, said: FloatArray, unsure: FloatArray) -> Belief:
    """What is said, in the directions in which it is surer than the shop; elsewhere the shop's word counts.

    In units of the shop's own deviations: a direction that is w times as unsure, w > 1, moves by 1/w of what is said.
    """
    root = np.linalg.cholesky(first.covariance)
    scaled = np.linalg.solve(root, np.linalg.solve(root, unsure).T)
    variances, directions = np.linalg.eigh(0.5 * (scaled + scaled.T))
    back = root @ directions
    moved = np.minimum(1.0, 1.0 / variances) * np.linalg.solve(back, said - first.theta)
    return Belief(first.theta + back @ moved, (back * np.minimum(variances, 1.0)) @ back.T)


def mixed(beliefs: Sequence[Belief], weights: FloatArray) -> Belief:
    """One normal belief with the mean and the covariance of a mixture."""
    theta = np.sum([weight * each.theta for weight, each in zip(weights, beliefs, strict=True)], axis=0)
    covariance = np.zeros((theta.size, theta.size))
    for weight, each in zip(weights, beliefs, strict=True):
        apart = each.theta - theta
        covariance += weight * (each.covariance + np.outer(apart, apart))
    return Belief(theta, covariance)


def log_likelihood(model: ShopModel, people: FloatArray, batch: ReleasedBatch, belief: Belief, misfit: float) -> float:
    """Of a batch's score under a belief about its customers, up to a constant that no belief changes."""
    found = score_model(model, people, batch.rule, batch.theta, belief.theta, count=batch.rule.count)
    used = used_entries(model.contexts, batch.rule.choice)
    wrong = MISFIT * MISFIT * found.doubt + misfit * misfit * found.variety
    spread = found.jacobian @ belief.covariance @ found.jacobian.T + score_variance(found, wrong, batch.noise)
    factor = np.linalg.cholesky(spread[np.ix_(used, used)])
    away = np.linalg.solve(factor, (batch.score - found.expected)[used])
    return float(-0.5 * away @ away - np.log(np.diag(factor)).sum())
