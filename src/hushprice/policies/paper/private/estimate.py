"""PrivateMLE (alg:private-mle) as a releaser: draw the tilt, solve, certify, release theta and nothing else."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from hushprice import checks
from hushprice.demand import family
from hushprice.demand.protocol import Demand
from hushprice.errors import DidNotConverge, InvalidInput
from hushprice.noise import NoiseSource
from hushprice.numerics import tape
from hushprice.policies.paper import tolerance
from hushprice.policies.paper.private import plain_solver, solver
from hushprice.privacy.events import Event, NotPrivate, PerturbedEstimate
from hushprice.records import Records
from hushprice.releases import EstimateRelease
from hushprice.types import FloatArray


class EstimateReleaser(Protocol):
    """Anything that turns the records so far into a private estimate."""

    def release(self, records: Records, period: int) -> EstimateRelease:
        """An estimate from all records, released in `period`."""
        ...


class PrivateMLE:
    """Objective perturbation as its event describes it; NotPrivate means no noise, and the ridge given.

    The warm start is the last release, so it is public. Whoever calls `release` has charged the ledger first, and a fit
    that is refused stays charged: the refusal depends on records. Noise is drawn once a call, whatever comes of it.
    """

    def __init__(self, *, demand: Demand, dimension: int, ridge: float, source: NoiseSource, event: Event) -> None:
        checks.whole(1, dimension=dimension)
        checks.positive(ridge=ridge)
        if isinstance(event, PerturbedEstimate):
            live = not source.simulated
            described = event.dimension, event.ridge, event.grid > 0.0, event.output_grid > 0.0
            if described != (dimension, ridge, live, live):
                raise InvalidInput(f"event must describe this release, got {event!r}")
        elif not isinstance(event, NotPrivate):
            raise InvalidInput(f"event must be a PerturbedEstimate or NotPrivate, got {event!r}")
        self._demand = demand
        self._ridge = ridge
        self._source = source
        self._event = event
        self._scratch = solver.scratch(dimension)
        self.start: FloatArray = np.zeros(dimension)

    def release(self, records: Records, period: int) -> EstimateRelease:
        theta, event = self.start.copy(), self._event
        if records.phi.shape[0] != theta.size:
            raise InvalidInput(f"records must have {theta.size} features, got {records.phi.shape[0]}")
        tilt = np.zeros(theta.size)
        if isinstance(event, PerturbedEstimate):
            tilt = self._source.add(tilt, event.noise, tape.ESTIMATE_NOISE, period)
        gap = self._solve(records, tilt, theta)
        if not gap <= tolerance.TOLERANCE:
            # Neither the gap nor the number of passes may be told: both depend on raw records.
            raise DidNotConverge("the estimate did not reach its certified tolerance; nothing was released")
        if isinstance(event, PerturbedEstimate):
            # The proof is about the exact minimizer; this hides how far from it the solver stopped.
            theta = self._source.add(theta, event.output_noise, tape.OUTPUT_NOISE, period)
        self.start = theta.copy()
        return EstimateRelease(theta, self._event)

    def _solve(self, records: Records, tilt: FloatArray, theta: FloatArray) -> float:
        if self._demand.family == family.CUSTOM:
            return plain_solver.minimize(
                self._demand,
                records.phi[:, : records.count],
                records.demand[: records.count],
                self._ridge,
                tilt,
                theta=theta,
            )
        return solver.minimize(
            self._demand.family,
            self._demand.slope,
            records.phi,
            records.demand,
            records.count,
            self._ridge,
            tilt,
            theta,
            self._scratch,
        )

    def __repr__(self) -> str:
        return "PrivateMLE(<sensitive>)"
