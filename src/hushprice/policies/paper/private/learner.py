"""The side of the engine that reads records and publishes releases, each charged before its noise is drawn."""

from __future__ import annotations

from hushprice.demand.protocol import Demand, lowest
from hushprice.errors import BudgetExhausted, InvalidInput
from hushprice.mechanisms.exact_covariance import ExactCov
from hushprice.noise import NoiseSource, Normals, System, Tape
from hushprice.policies.paper.noise import Noise, events, open_ledger
from hushprice.policies.paper.private.covariance import CovarianceReleaser, PrivateCov
from hushprice.policies.paper.private.estimate import EstimateReleaser, PrivateMLE
from hushprice.policies.paper.rules import PaperRules
from hushprice.privacy import sensitivity
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.events import CovarianceStream, Event, NotPrivate
from hushprice.records import Records
from hushprice.releases import CovarianceRelease, EstimateRelease
from hushprice.types import FloatArray


class PaperLearner:
    """Records of one product and the two releasers over them."""

    def __init__(
        self,
        *,
        demand: Demand,
        dimension: int,
        horizon: int,
        rules: PaperRules,
        noise: Noise,
        source: NoiseSource,
        adjacency: Adjacency = Adjacency.REPLACE_ONE,
        covariance: CovarianceReleaser | None = None,
        estimates: EstimateReleaser | None = None,
    ) -> None:
        live = not source.simulated
        losses = sensitivity.of_loss(demand)
        self.stream_event, self.estimate_event = events(
            noise, horizon=horizon, dimension=dimension, losses=losses, live=live
        )
        ledger = open_ledger(
            noise,
            horizon=horizon,
            dimension=dimension,
            losses=losses,
            max_estimates=rules.max_estimates,
            live=live,
            adjacency=adjacency,
        )
        self.ledger = ledger.spend(self.stream_event)  # the stream is one release, paid in full at the start
        self.records = Records(dimension, demand.bound, lowest(demand))
        if covariance is None:
            covariance = _covariance(horizon, dimension, source, self.stream_event)
        if estimates is None:
            estimates = PrivateMLE(
                demand=demand,
                dimension=dimension,
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
        return "PaperLearner(<sensitive>)"


def _covariance(
    horizon: int, dimension: int, source: NoiseSource, event: CovarianceStream | NotPrivate
) -> CovarianceReleaser:
    """Ideal noise from a tape, exact noise from the operating system; without noise the two are the same sums."""
    if isinstance(event, NotPrivate):
        return PrivateCov(horizon=horizon, dimension=dimension, source=Tape(0, 0), event=event)  # draws nothing
    if isinstance(source, System):
        return ExactCov(event=event, source=source)
    if not isinstance(source, Normals):
        raise InvalidInput(f"source {source.label!r} gives no normals, which the covariance stream needs")
    return PrivateCov(horizon=horizon, dimension=dimension, source=source, event=event)


def _refuse_unpaid(event: Event, paid: Event) -> None:
    """A releaser of one's own says what its release cost; no price may use one that cost something else."""
    if event != paid:
        raise BudgetExhausted(f"{event!r} was released, where {paid!r} was paid for")
