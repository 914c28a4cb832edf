"""The side of the engine that reads records and publishes releases, each charged to the ledger before noise is drawn."""

from __future__ import annotations

from hushprice.accounting.calibration import Noise, events, open_ledger
from hushprice.demand.protocol import Demand
from hushprice.policies.tuning import Tuning
from hushprice.releasers.covariance import CovarianceReleaser, PrivateCov
from hushprice.releasers.estimate import EstimateReleaser, PrivateMLE
from hushprice.releasers.noise import NoiseSource
from hushprice.releases import CovarianceRelease, EstimateRelease
from hushprice.sensitive.records import Records
from hushprice.types import FloatArray


class Learner:
    """Records of one product and the two releasers over them."""

    def __init__(
        self,
        *,
        demand: Demand,
        dimension: int,
        horizon: int,
        tuning: Tuning,
        noise: Noise,
        source: NoiseSource,
        covariance: CovarianceReleaser | None = None,
        estimates: EstimateReleaser | None = None,
    ) -> None:
        stream, estimate = events(noise, horizon, dimension)
        self.ledger = open_ledger(noise, horizon=horizon, dimension=dimension, max_estimates=tuning.max_estimates)
        self.ledger = self.ledger.spend(stream)  # the stream is one release, paid in full at the start
        self.records = Records(dimension, demand.bound)
        self.estimates_left = tuning.max_estimates
        self._event = estimate
        self.covariance: CovarianceReleaser = covariance or PrivateCov(
            horizon=horizon, dimension=dimension, noise=noise.covariance_noise, source=source, event=stream
        )
        self.estimates: EstimateReleaser = estimates or PrivateMLE(
            demand=demand,
            dimension=dimension,
            noise=noise.estimate_noise,
            ridge=noise.estimate_ridge,
            source=source,
            event=estimate,
        )

    def absorb(self, phi: FloatArray, demand: float) -> CovarianceRelease | None:
        """Learn one record. Nothing is drawn or stored once every estimate is used up: nothing would ever read it."""
        if self.estimates_left == 0:
            return None
        return self.covariance.absorb(self.records.append(phi, demand))

    def estimate(self, period: int) -> EstimateRelease:
        """A fresh estimate, paid for first."""
        self.ledger = self.ledger.spend(self._event)
        self.estimates_left -= 1
        return self.estimates.release(self.records, period)

    def __repr__(self) -> str:
        return "Learner(<sensitive>)"
