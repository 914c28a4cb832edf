"""What must hold of sound code. Each check raises AssertionError where it does not; each catches planted bugs.

Checks are deterministic but for the operating system's randomness, where they say how often sound code would fail.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from hushprice import Pricer, open_pricer
from hushprice.accounting import accountant, gaussian, inexact, sensitivity
from hushprice.accounting.adjacency import Adjacency
from hushprice.accounting.events import FROBENIUS, TRIANGLE, CovarianceStream, PerturbedEstimate, grid_of
from hushprice.accounting.ledger import Ledger
from hushprice.accounting.loss import compose, loss_of
from hushprice.accounting.streams import Strategy, toeplitz, tree
from hushprice.audits.linear_gaussian import Finding, audit_stream
from hushprice.audits.objective_density import Neighbours, audit_estimate
from hushprice.demand.families import Logistic
from hushprice.engine.slots import Observation
from hushprice.errors import BudgetExhausted, InvalidInput
from hushprice.numerics import tape
from hushprice.releasers import noise
from hushprice.releasers.estimate import PrivateMLE
from hushprice.releasers.exact import ExactCov
from hushprice.releasers.noise import System, Tape
from hushprice.releases import CovarianceRelease, EstimateRelease
from hushprice.sensitive.records import Records
from hushprice.types import FloatArray

STEPS, SIGMA = 15, 5.0
DEMAND = Logistic()
RARE = 1e-9  # how often sound code fails a statistical check


# ---- the covariance stream ------------------------------------------------------------------------------------------


def stream(strategy: Strategy, *, layout: str = FROBENIUS, live: bool = False) -> CovarianceStream:
    grid = grid_of(SIGMA) if live else 0.0
    return CovarianceStream(strategy=strategy, steps=STEPS, dimension=2, noise=SIGMA, layout=layout, grid=grid)


def _attained(finding: Finding) -> None:
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


def estimate_event(*, noise: float = 10.0, ridge: float = 210.0, live: bool = False) -> PerturbedEstimate:
    losses = sensitivity.of_loss(DEMAND)
    grid, output = (grid_of(noise), grid_of(1e-5)) if live else (0.0, 0.0)
    return PerturbedEstimate(
        dimension=2,
        noise=noise,
        ridge=ridge,
        gradient=losses.gradient,
        difference=losses.difference,
        curvature=losses.curvature,
        distance=inexact.distance(ridge=ridge, noise=noise, grid=grid, steps=2000, dimension=2, losses=losses),
        output_noise=1e-5,
        grid=grid,
        output_grid=output,
    )


def _pulled(phi: list[float], bought: float, other: list[float], other_bought: float, size: int = 1500) -> Neighbours:
    """A pair among `size` customers whose purchases pull theta along the first coordinate."""
    base = np.tile([[1.0], [0.0]], size)
    demands = np.append(np.ones(size), bought)
    return Neighbours(np.column_stack([base, phi]), demands, np.array(other), other_bought)


def _all_hold(findings: list[Finding]) -> None:
    for finding in findings:
        assert finding.holds, finding


def estimate_by_density() -> None:
    """A pair that sees 5.9 of the 7.1 by which gradients may differ, and one that asks to be clipped."""
    h = math.radians(63)
    pairs = [
        _pulled([math.cos(h), math.sin(h)], 0.0, [math.cos(h), -math.sin(h)], 0.0),
        _pulled([3.0, 4.0], 9.0, [0.0, -2.0], -5.0, size=30),
    ]
    _all_hold(audit_estimate(estimate_event(), DEMAND, pairs, Adjacency.REPLACE_ONE, draws=60))


def determinant_by_density() -> None:
    """Noise so large that the determinant makes most of the loss, and half of the solutions lie on the sphere."""
    pair = Neighbours(np.array([[1.0], [0.0]]), np.array([1.0]), np.zeros(2), 0.0)
    _all_hold(audit_estimate(estimate_event(noise=300.0), DEMAND, [pair], Adjacency.ZERO_OUT, draws=200))


def live_estimate_on_its_grid() -> None:
    event = estimate_event(live=True)
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
    event = estimate_event(live=True)
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


# ---- the ledger -----------------------------------------------------------------------------------------------------


def every_release_is_counted() -> None:
    """k releases cost what k losses cost that are added one by one."""
    for adjacency in Adjacency:
        for event in (stream(tree(STEPS + 1)), estimate_event()):
            ledger = Ledger(adjacency=adjacency, claimed=None)
            for _ in range(5):
                ledger = ledger.spend(event)
            expected = accountant.epsilon_of(compose([loss_of(event, 1, adjacency)] * 5), 1e-6)
            assert math.isclose(ledger.epsilon(1e-6), expected, rel_tol=1e-3), (ledger.epsilon(1e-6), expected)


def the_ledger_covers_what_the_stream_reveals() -> None:
    """A pricer's ledger, its stream alone spent, proves no less than the audit finds for the adjacency it states."""
    pricer = opened()
    event = pricer.learner.stream_event
    assert isinstance(event, CovarianceStream)
    found = audit_stream(event, pricer.policy.adjacency, adaptive=0).found
    assert pricer.ledger.epsilon(1e-6) >= gaussian.epsilon_of(1e-6, found) * (1.0 - 1e-9)


# ---- the engine -----------------------------------------------------------------------------------------------------


def opened(**changes: Any) -> Pricer:
    """A pricer on a tape with so little noise that it refreshes often."""
    given: dict[str, Any] = {
        "horizon": 16,
        "contexts": 1,
        "epsilon": 3000.0,
        "exploration_periods": 0,
        "ridge": 0.1,
        "width": 0.0,
        "max_estimates": 10,
        "source": Tape(5, 0),
        "simulation": True,
    }
    return open_pricer(**given | changes)


def run(pricer: Pricer, contexts: FloatArray, start: int = 0) -> list[tuple[float, int]]:
    """Prices and versions; every customer in three buys, if the price is low enough."""
    seen = []
    for n, context in enumerate(contexts, start):
        quote = pricer.quote([float(context)])
        pricer.observe(quote.id, float(n % 3 == 0 and quote.price < 0.7))
        seen.append((quote.price, quote.version))
    return seen


CONTEXTS = np.random.default_rng(8).uniform(-1, 1, 14)


class Recorder:
    """A releaser that notes what it releases; `replay` makes one that releases the same whatever the records say."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.releases = inner, []

    def absorb(self, phi: FloatArray) -> CovarianceRelease:
        self.releases.append(self.inner.absorb(phi))
        return self.releases[-1]

    def release(self, records: Records, period: int) -> EstimateRelease:
        self.releases.append(self.inner.release(records, period))
        return self.releases[-1]


class Replay:
    def __init__(self, releases: list[Any]) -> None:
        self.releases = list(releases)

    def absorb(self, phi: FloatArray) -> CovarianceRelease:
        return self.releases.pop(0)

    def release(self, records: Records, period: int) -> EstimateRelease:
        assert self.releases, "an estimate was asked for that the other world did not need"
        return self.releases.pop(0)


def prices_follow_releases() -> None:
    """Same releases, other records: everybody whose own context is the same sees the same price (prop:na-privacy)."""
    first = opened()
    covariance, estimates = Recorder(first.learner.covariance), Recorder(first.learner.estimates)
    first.learner.covariance, first.learner.estimates = covariance, estimates
    seen = run(first, CONTEXTS)
    assert len({price for price, _ in seen[5:]}) > 5  # they do move
    assert first.quoter.version > 2
    second = opened(covariance=Replay(covariance.releases), estimates=Replay(estimates.releases))
    others = CONTEXTS.copy()
    others[:5] = -np.sign(others[:5])  # five customers change who they are and what they buy
    again = run(second, others, start=1)
    assert seen[5:] == again[5:]


def no_estimate_past_the_cap() -> None:
    pricer = opened(max_estimates=2, horizon=60)
    run(pricer, np.random.default_rng(1).uniform(-1, 1, 58))
    assert pricer.quoter.version <= 2
    assert pricer.ledger.count(pricer.learner.estimate_event) <= 2


def paid_before_drawn() -> None:
    """A refused estimate draws nothing."""
    pricer = opened(source=None, simulation=False, max_estimates=1, epsilon=300.0)
    counting: Any = Counting()
    pricer.learner.estimates = PrivateMLE(
        demand=pricer.demand,
        dimension=2,
        ridge=pricer.policy.noise.estimate_ridge,  # type: ignore[union-attr]
        source=counting,
        event=pricer.learner.estimate_event,
    )
    pricer.learner.estimate(1)
    assert len(counting.draws) == 2
    refused = False
    try:
        pricer.learner.estimate(2)
    except BudgetExhausted:
        refused = True
    assert refused
    assert len(counting.draws) == 2


def unpaid_releases_are_refused() -> None:
    """A releaser that says it cost something else than was paid for is not priced from."""
    pricer = opened()
    cheap = CovarianceRelease(np.zeros(3), 1, stream(tree(STEPS + 1)))
    pricer.learner.covariance = Replay([cheap])
    refused = False
    try:
        run(pricer, CONTEXTS[:2])
    except BudgetExhausted:
        refused = True
    assert refused


@contextmanager
def scripted_system() -> Iterator[list[int]]:
    """Live noise that repeats itself, one draw a call, so that two runs can be compared; yields the number of calls."""
    calls = [0]

    def measurement(scale: float) -> Callable[[list[int]], list[int]]:
        def draw(zeros: list[int]) -> list[int]:
            calls[0] += 1
            return [round(scale * z) for z in np.random.default_rng(calls[0]).normal(size=len(zeros))]

        return draw

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(noise, "_measurement", measurement)
        yield calls


def restarts_change_nothing() -> None:
    """A pricer saved to a file and loaded goes on as if nothing had happened, in its draws, prices and spending."""
    for strategy, epsilon in (("tight", 3000.0), ("printed", 2000.0)):  # a Toeplitz stream, and a tree
        seen, spent = [], []
        for stops in ((), (4, 9)):
            with scripted_system() as calls, tempfile.TemporaryDirectory() as folder:
                pricer = opened(source=None, simulation=False, calibration=strategy, epsilon=epsilon)
                prices = []
                for n, context in enumerate(CONTEXTS):
                    if n in stops:
                        pricer.save(Path(folder, "pricer"))
                        pricer = Pricer.load(Path(folder, "pricer"))
                    prices += run(pricer, np.array([context]), start=n)
                seen.append((prices, calls[0]))
                spent.append(pricer.ledger)
        assert seen[0] == seen[1]
        assert spent[0] == spent[1]
        assert spent[0].count(pricer.learner.estimate_event) > 0


def each_slot_is_learned_once() -> None:
    """Late, repeated or missing outcomes: slot n is learned once, with the features it was quoted with."""
    pricer = opened(delay=2, max_estimates=50, horizon=40)
    quotes, phis, late = [], [], []
    for n, context in enumerate(np.random.default_rng(4).uniform(-1, 1, 25)):
        quote = pricer.quote([float(context)])
        quotes.append(quote.id)
        u, v = pricer.features.parts(np.array([context]))
        phis.append(u + quote.price * v)
        if n % 2:
            pricer.observe(quote.id, 1.0)
        if n >= 6 and n % 4 == 0:
            late.append(pricer.observe(quotes[n - 4], 1.0))  # 4 quotes later with a delay of 2
    records = pricer.learner.records
    assert records.count == 25 - 3
    np.testing.assert_allclose(records.phi[:, :22].T, phis[:22], rtol=1e-12)
    np.testing.assert_array_equal(records.demand[:22], [n % 2 for n in range(22)])
    assert set(late) == {Observation.LATE}


def silence_is_an_outcome() -> None:
    """Whether a customer answers does not change when anything is learned or released."""
    counts = []
    for silent in (False, True):
        pricer = opened(horizon=20, max_estimates=50)
        covariance = Recorder(pricer.learner.covariance)
        pricer.learner.covariance = covariance
        released = []
        for n in range(10):
            quote = pricer.quote([0.1 * n])
            released.append(len(covariance.releases))
            if not (silent and n == 4):
                pricer.observe(quote.id, 0.0)
        counts.append((released, pricer.learner.records.count))
    assert counts[0] == counts[1]


def refusals_quote_no_record() -> None:
    """What a refused record held is in no message."""
    records = Records(2, 1.0)
    releaser = ExactCov(event=stream(tree(STEPS + 1), live=True), source=System())
    for act in (lambda phi: records.append(phi, 0.0), releaser.absorb):
        with pytest.raises(InvalidInput) as refusal:
            act(np.array([0.123456789, math.nan]))
        assert "0.1234" not in str(refusal.value)
