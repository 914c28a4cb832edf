"""What must hold of the ledger and of the engine, from quote to file. Each check raises AssertionError otherwise."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.planted.release_checks import STEPS, Counting, event_of, stream
from tests.policies.paper.paper_runs import on_tape

from hushprice import Pricer, noise
from hushprice.errors import BudgetExhausted, InvalidInput
from hushprice.mechanisms.exact_covariance import ExactCov
from hushprice.noise import System, Tape
from hushprice.policies.paper.private.estimate import PrivateMLE
from hushprice.privacy import accountant, gaussian
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.events import CovarianceStream
from hushprice.privacy.ledger import Ledger
from hushprice.privacy.loss import compose, loss_of
from hushprice.privacy.streams import tree
from hushprice.records import Records
from hushprice.releases import CovarianceRelease, EstimateRelease
from hushprice.research.audits.linear_gaussian import audit_stream
from hushprice.slots import Observation
from hushprice.types import FloatArray

# ---- the ledger -----------------------------------------------------------------------------------------------------


def every_release_is_counted() -> None:
    """k releases cost what k losses cost that are added one by one."""
    for adjacency in Adjacency:
        for event in (stream(tree(STEPS + 1)), event_of()):
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
    """Without a bonus, from the first customer on."""
    given: dict[str, Any] = {"horizon": 16, "exploration_periods": 0, "ridge": 0.1, "width": 0.0, "max_estimates": 10}
    return on_tape(**given | {"source": Tape(5, 0)} | changes)


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
                        pricer = _loaded(Path(folder, "pricer"))
                    prices += run(pricer, np.array([context]), start=n)
                seen.append((prices, calls[0]))
                spent.append(pricer.ledger)
        assert seen[0] == seen[1]
        assert spent[0] == spent[1]
        assert spent[0].count(pricer.learner.estimate_event) > 0


def _loaded(path: Path) -> Pricer:
    """What was just saved must load: a refusal is a finding as well."""
    try:
        return Pricer.load(path)
    except InvalidInput as refusal:
        raise AssertionError("a pricer does not load what it saved") from refusal


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
