"""A warm start: what a log says beside what the shop says, each fitted to all releases, weighed by what these say.

A log may be of other customers, another season, or prices that followed demand. So what it says is made less sure by a
share of what the shop leaves open, and it is one of two first beliefs: the other is the shop's own, as without a log.
Every release is more or less likely under each of them (from releases alone: nothing is paid for it), and prices are
set by the mixture, as one normal belief with its mean and covariance. While releases have not spoken, that belief
leaves open what the shop's does, and `risk` is guarded by it: prices do not leave today's on the log's word alone. A
log that was right is soon believed, and one that was wrong is forgotten.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from hushprice.policies.cautious.pricing.belief import (
    MISFIT,
    Belief,
    ReleasedBatch,
    score_model,
    score_variance,
    used_entries,
)
from hushprice.policies.cautious.pricing.shop_model import ShopModel
from hushprice.prior import Prior
from hushprice.types import FloatArray

# Chosen on the worlds of benchmarks/shops/designed.py (docs/lab/warm_start.md).
TRUSTED = 0.8  # how likely a log is to be of this demand, before the first release
WIDER = 1.5  # times the log's own covariance
DOUBT = 0.2  # and this share of each deviation that the shop leaves open
_MOST = 30.0  # log-odds either way: a belief that is out never comes back by rounding alone

# A first belief, may its deviations be scaled, and where to begin: the belief after all batches.
Refit = Callable[[Belief, bool, FloatArray], Belief]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class WarmStart:
    """Both first beliefs, what became of them, and the log-odds of the log's."""

    log: Belief
    first_log: Belief
    shop: Belief
    odds: float = math.log(TRUSTED / (1.0 - TRUSTED))

    @property
    def weight(self) -> float:
        """How likely the log's belief is."""
        return 1.0 / (1.0 + math.exp(-self.odds))

    @property
    def belief(self) -> Belief:
        """The mixture's mean and covariance."""
        return mixed(self.log, self.shop, self.weight)

    def after(self, model: ShopModel, people: FloatArray, batch: ReleasedBatch, misfit: float) -> WarmStart:
        """With one more batch's say on which of the two is right. They are as they were before it."""
        likelier = [log_likelihood(model, people, batch, each, misfit) for each in (self.log, self.shop)]
        odds = self.odds + likelier[0] - likelier[1]
        return replace(self, odds=min(max(odds, -_MOST), _MOST))

    def fitted(self, refit: Refit, shop: Belief) -> WarmStart:
        """With both fitted to all batches; the shop's is given."""
        return replace(self, log=refit(self.first_log, False, self.log.theta), shop=shop)


def warm_start(prior: Prior, first: Belief) -> WarmStart:
    """Before any release. What the log says is an observation of the shop's demand: where it says little, the shop does.

    The fit's own covariance is that of its estimate alone, without any belief of the shop's.
    """
    unsure = WIDER * np.array(prior.covariance) + DOUBT * DOUBT * first.covariance
    gain = np.linalg.solve(unsure + first.covariance, first.covariance).T
    covariance = first.covariance - gain @ first.covariance
    log = Belief(first.theta + gain @ (np.array(prior.theta) - first.theta), 0.5 * (covariance + covariance.T))
    return WarmStart(log=log, first_log=log, shop=first)


def mixed(one: Belief, other: Belief, weight: float) -> Belief:
    """One normal belief with the mean and the covariance of a mixture, `weight` of it the first."""
    apart = one.theta - other.theta
    return Belief(
        weight * one.theta + (1.0 - weight) * other.theta,
        weight * one.covariance + (1.0 - weight) * other.covariance + weight * (1.0 - weight) * np.outer(apart, apart),
    )


def log_likelihood(
    model: ShopModel, people: FloatArray, batch: ReleasedBatch, belief: Belief, misfit: float
) -> float:
    """Of a batch's score under a belief about its customers, up to a constant that no belief changes."""
    found = score_model(model, people, batch.rule, batch.theta, belief.theta, batch.rule.count)
    used = used_entries(model.contexts, batch.rule.choice)
    wrong = MISFIT * MISFIT * found.doubt + misfit * misfit * found.variety
    spread = found.jacobian @ belief.covariance @ found.jacobian.T + score_variance(found, wrong, batch.noise)
    factor = np.linalg.cholesky(spread[np.ix_(used, used)])
    away = np.linalg.solve(factor, (batch.score - found.expected)[used])
    return float(-0.5 * away @ away - np.log(np.diag(factor)).sum())
