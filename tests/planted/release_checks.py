"""What must hold of sound releases: the stream, the estimate and their noise.

Each check raises AssertionError where something does not hold. Checks are deterministic but for the operating system's
randomness, where they say how often sound code would fail.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import stats
from tests.policies.paper.paper_runs import estimate_event

from hushprice.demand.families import Logistic
from hushprice.errors import BudgetExhausted
from hushprice.mechanisms.exact_covariance import ExactCov
from hushprice.noise import System, Tape
from hushprice.numerics import tape
from hushprice.policies.paper.private.estimate import PrivateMLE
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.events import FROBENIUS, TRIANGLE, CovarianceStream, PerturbedEstimate, grid_of
from hushprice.privacy.streams import Strategy, toeplitz, tree
from hushprice.records import Records
from hushprice.research.audits.finding import Measurement
from hushprice.research.audits.linear_gaussian import audit_stream
from hushprice.research.audits.objective_density import NeighbouringDatabases, audit_estimate
from hushprice.types import FloatArray

STEPS, SIGMA = 15, 5.0
DEMAND = Logistic()
RARE = 1e-9  # how often sound code fails a statistical check


# ---- the covariance stream ------------------------------------------------------------------------------------------


def stream(strategy: Strategy, *, layout: str = FROBENIUS, live: bool = False) -> CovarianceStream:
    grid = grid_of(SIGMA) if live else 0.0
    return CovarianceStream(strategy=strategy, steps=STEPS, dimension=2, noise=SIGMA, layout=layout, grid=grid)


def _attained(finding: Measurement) -> None:
    """The claim holds, and the extremal pairs reach it: a claim beyond them would be a mistake too."""
    assert finding.holds, finding
    assert finding.found > finding.allowed * (1.0 - 1e-6), finding


def ideal_toeplitz_stream() -> None:
    _attained(audit_stream(stream(toeplitz(STEPS + 1)), Adjacency.REPLACE_ONE))


def ideal_tree_stream() -> None:
    _attained(audit_stream(stream(tree(STEPS + 1), layout=TRIANGLE), Adjacency.REPLACE_ONE))


def live_toeplitz_stream() -> None:
    _attained(audit_stream(stream(toeplitz(STEPS + 1), live=True), Adjacency.REPLACE_ONE))


def live_tree_stream() -> None:
    _attained(audit_stream(stream(tree(STEPS + 1), live=True), Adjacency.REPLACE_ONE))


def zero_out_stream() -> None:
    _attained(audit_stream(stream(tree(STEPS + 1)), Adjacency.ZERO_OUT))


class Counting:
    """The system's noise, with a note of how often it was asked."""

    label, secure, simulated = "counting", True, False

    def __init__(self) -> None:
        self.draws: list[float] = []

    def integers(self, scale: float, count: int) -> list[int]:
        self.draws.append(scale)
        return System().integers(scale, count)

    def add(self, values: FloatArray, scale: float, stream: int, period: int) -> FloatArray:
        self.draws.append(scale)
        return System().add(values, scale, stream, period)

    def uniform(self, stream: int, period: int) -> float:
        return 0.5


def one_draw_a_record() -> None:
    """However the noise comes out: a first release is indefinite with odds 0.85, so one of 12 is, but for 1e-9."""
    source: Any = Counting()
    for _ in range(12):
        releaser = ExactCov(event=stream(toeplitz(STEPS + 1), live=True), source=source)
        for n in range(3):
            releaser.absorb(np.eye(2)[n % 2] * 0.1)
    assert source.draws == [SIGMA / grid_of(SIGMA)] * 36


def no_record_past_the_horizon() -> None:
    """Refused, and before noise is drawn: a draw that comes to nothing could be made to come to something."""
    source: Any = Counting()
    releaser = ExactCov(event=stream(tree(STEPS + 1), live=True), source=source)
    for _ in range(STEPS):
        releaser.absorb(np.zeros(2))
    refused = False
    try:
        releaser.absorb(np.ones(2))
    except BudgetExhausted:
        refused = True
    assert refused
    assert len(source.draws) == STEPS


def clipped_one_by_one() -> None:
    """What is stored of a record does not depend on any other record."""
    alone, together = Records(2, 1.0), Records(2, 1.0)
    together.append(np.array([30.0, -4.0]), 7.0)
    for phi in np.random.default_rng(3).normal(size=(20, 2)):
        kept = alone.append(phi, 0.5)
        assert np.array_equal(kept, together.append(phi, 0.5))
        assert float(kept @ kept) <= 1.0 + 1e-12
        assert alone.demand[alone.count - 1] == together.demand[together.count - 1] == 0.5


# ---- the estimate ---------------------------------------------------------------------------------------------------


def event_of(*, noise: float = 10.0, ridge: float = 210.0, live: bool = False) -> PerturbedEstimate:
    return estimate_event(DEMAND, noise=noise, ridge=ridge, output=1e-5, steps=2000, live=live)


def _pulled(
    phi: list[float], bought: float, other: list[float], other_bought: float, size: int = 1500
) -> NeighbouringDatabases:
    """A pair among `size` customers whose purchases pull theta along the first coordinate."""
    base = np.tile([[1.0], [0.0]], size)
    demands = np.append(np.ones(size), bought)
    return NeighbouringDatabases(np.column_stack([base, phi]), demands, np.array(other), other_bought)


def _all_hold(findings: list[Measurement]) -> None:
    for finding in findings:
        assert finding.holds, finding


def estimate_by_density() -> None:
    """A pair that sees 5.9 of the 7.1 by which gradients may differ, and one that asks to be clipped."""
    h = math.radians(63)
    pairs = [
        _pulled([math.cos(h), math.sin(h)], 0.0, [math.cos(h), -math.sin(h)], 0.0),
        _pulled([3.0, 4.0], 9.0, [0.0, -2.0], -5.0, size=30),
    ]
    _all_hold(audit_estimate(event_of(), DEMAND, pairs, Adjacency.REPLACE_ONE, draws=60))


def determinant_by_density() -> None:
    """Noise so large that the determinant makes most of the loss, and half of the solutions lie on the sphere."""
    pair = NeighbouringDatabases(np.array([[1.0], [0.0]]), np.array([1.0]), np.zeros(2), 0.0)
    _all_hold(audit_estimate(event_of(noise=300.0), DEMAND, [pair], Adjacency.ZERO_OUT, draws=200))


def live_estimate_on_its_grid() -> None:
    event = event_of(live=True)
    records = Records(2, 1.0, 0.0)
    for phi in np.random.default_rng(2).normal(size=(40, 2)):
        records.append(phi, float(phi[0] > 0.0))
    releaser = PrivateMLE(demand=DEMAND, dimension=2, ridge=event.ridge, source=System(), event=event)
    for period in range(4):
        steps = releaser.release(records, period).theta / event.output_grid
        assert np.array_equal(steps, np.rint(steps))


def live_stream_on_its_grid() -> None:
    event = stream(tree(STEPS + 1), layout=TRIANGLE, live=True)
    releaser = ExactCov(event=event, source=System())
    for phi in np.random.default_rng(2).normal(size=(STEPS, 2)):
        steps = releaser.absorb(phi).packed / event.grid
        assert np.array_equal(steps, np.rint(steps))


# ---- noise ----------------------------------------------------------------------------------------------------------


def live_noise_has_its_scale() -> None:
    """1500 draws against the normal law they are 2^-32 away from; sound noise fails with probability RARE."""
    drawn = System().add(np.zeros(1500), SIGMA, tape.ESTIMATE_NOISE, 1)
    assert stats.kstest(drawn, stats.norm(scale=SIGMA).cdf).pvalue > RARE


def live_noise_never_repeats() -> None:
    """400 draws of 66 bits and more: two agree with probability 1e-15; from 256 seeds two must."""
    drawn = {tuple(System().integers(2.0**32, 2)) for _ in range(400)}
    assert len(drawn) == 400


def live_noise_ignores_its_address() -> None:
    """Two products with the same customers and the same periods do not share their noise."""
    event = event_of(live=True)
    records = Records(2, 1.0, 0.0)
    releasers = [
        PrivateMLE(demand=DEMAND, dimension=2, ridge=event.ridge, source=System(), event=event) for _ in range(2)
    ]
    first, second = (releaser.release(records, 1).theta for releaser in releasers)
    # Without records theta is -w / ridge plus output noise of 1e-5; closer than 1e-4 happens once in a million.
    assert np.linalg.norm(first - second) > 1e-4


def streams_share_no_draw() -> None:
    """The tilt and the noise that hides the solver's error are independent draws."""
    tilt, output = (Tape(5, 0).add(np.zeros(8), 1.0, kind, 3) for kind in (tape.ESTIMATE_NOISE, tape.OUTPUT_NOISE))
    assert not np.any(tilt == output)
