"""alg:framework over its two sides: when a record is learned, when an estimate is made, and what the price is."""

from __future__ import annotations

from hushprice.demand.features import FeatureMap
from hushprice.demand.protocol import Demand
from hushprice.mechanisms.exact_covariance import ExactCov
from hushprice.noise import NoiseSource
from hushprice.numerics import tape
from hushprice.policies.paper.policy import PaperPolicy
from hushprice.policies.paper.pricing import refresh
from hushprice.policies.paper.pricing.quoter import PaperQuoter
from hushprice.policies.paper.private.covariance import CovarianceReleaser, PrivateCov
from hushprice.policies.paper.private.estimate import EstimateReleaser, PrivateMLE
from hushprice.policies.paper.private.learner import PaperLearner
from hushprice.policies.protocol import SlotsDue
from hushprice.types import FloatArray


class Framework:
    """Quoter and learner of policies 'paper' and 'nonprivate', joined."""

    def __init__(
        self,
        *,
        policy: PaperPolicy,
        demand: Demand,
        features: FeatureMap,
        horizon: int,
        source: NoiseSource,
        covariance: CovarianceReleaser | None = None,
        estimates: EstimateReleaser | None = None,
    ) -> None:
        rules, noise = policy.rules, policy.noise
        self._source = source
        self._horizon = horizon
        self._exploration = rules.exploration_periods
        self.quoter = PaperQuoter(
            demand=demand,
            features=features,
            ridge=rules.ridge,
            width=rules.width,
            repair=refresh.FLOOR if noise.floored else refresh.AS_IS,
        )
        self.learner = PaperLearner(
            demand=demand,
            dimension=features.dimension,
            horizon=horizon,
            rules=rules,
            noise=noise,
            source=source,
            adjacency=policy.adjacency,
            covariance=covariance,
            estimates=estimates,
        )

    def learn(self, slots: SlotsDue, period: int) -> None:
        """Learn what the quote of this period makes due."""
        due = slots.due()
        if due is None:
            return
        release = self.learner.absorb(*due)
        if period <= self._exploration or not self.quoter.wants_estimate(release):
            return
        try:
            self.quoter.accept(self.learner.estimate(period), release)
        finally:
            if self.learner.estimates_left == 0:  # no later covariance would be used: stop drawing and storing
                slots.close()

    def price(self, u: FloatArray, v: FloatArray, period: int) -> float:
        """The price for a customer whose features are u + p v."""
        if period <= min(self._exploration, self._horizon):
            return self._source.uniform(tape.EXPLORATION, period)
        return self.quoter.price_of(u, v)

    def own_parts(self, *, certified: bool) -> dict[str, bool]:
        """Are the two releasers hushprice's own, drawing live noise where that is to be certified?"""
        covariances = (ExactCov,) if certified else (PrivateCov, ExactCov)
        return {
            "covariance": type(self.learner.covariance) in covariances,
            "estimates": type(self.learner.estimates) is PrivateMLE,
        }


make_engine = Framework
