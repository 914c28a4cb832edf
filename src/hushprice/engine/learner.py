"""The side of the engine that reads records and publishes releases, each charged before its noise is drawn."""

from __future__ import annotations

from hushprice.accounting.calibration import Noise, events, open_ledger
from hushprice.accounting.events import Event
from hushprice.demand.protocol import Demand
from hushprice.errors import BudgetExhausted
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
        self.stream_event, self.estimate_event = events(noise, horizon, dimension)
        ledger = open_ledger(noise, horizon=horizon, dimension=dimension, max_estimates=tuning.max_estimates)
        self.ledger = ledger.spend(self.stream_event)  # the stream is one release, paid in full at the start
        self.records = Records(dimension, demand.bound)
        if covariance is None:
            covariance = PrivateCov(
                horizon=horizon,
                dimension=dimension,
                noise=noise.covariance_noise,
                source=source,
                event=self.stream_event,
            )
        if estimates is None:
            estimates = PrivateMLE(
                demand=demand,
                dimension=dimension,
                noise=noise.estimate_noise,
                ridge=noise.estimate_ridge,
                source=source,
                event=self.estimate_event,
            )
        self.covariance = covariance
        self.estimates = estimates

    @property
    def estimates_left(self) -> int:
        """How many more estimates were paid for."""
        return self.ledger.remaining(self.estimate_event)

    def absorb(self, phi: FloatArray, demand: float) -> CovarianceRelease:
        """Learn one record; releases the covariance of all so far."""
        release = self.covariance.absorb(self.records.append(phi, demand))
        _refuse_unpaid(release.event, self.stream_event)
        return release

    def estimate(self, period: int) -> EstimateRelease:
        """A fresh estimate, paid for first."""
        self.ledger = self.ledger.spend(self.estimate_event)
        release = self.estimates.release(self.records, period)
        _refuse_unpaid(release.event, self.estimate_event)
        return release

    def __repr__(self) -> str:
        return "Learner(<sensitive>)"


def _refuse_unpaid(event: Event, paid: Event) -> None:
    """A releaser of one's own says what its release cost; no price may use one that cost something else."""
    if event != paid:
        raise BudgetExhausted(f"{event!r} was released, where {paid!r} was paid for")
