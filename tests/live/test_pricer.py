"""One live product: what is refused, what is counted, what is spent, and what happens when learning ends."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.policies.paper.paper_runs import on_tape

from hushprice import Pricer, Quote, open_pricer
from hushprice.demand.families import Logistic
from hushprice.demand.features import Affine
from hushprice.demand.schema import Boolean, Category, Number, Schema
from hushprice.errors import DidNotConverge, InvalidInput, RepeatedOutcome, UnknownQuote
from hushprice.noise import System, Tape
from hushprice.numerics import tape
from hushprice.policies.paper.calibration import CALIBRATIONS
from hushprice.policies.paper.private.estimate import PrivateMLE
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import CovarianceStream, NotPrivate, PerturbedEstimate
from hushprice.records import Records
from hushprice.releases import EstimateRelease
from hushprice.slots import Observation
from hushprice.types import FloatArray

REGION = Category(name="region", levels=("south", "north"))
SCHEMA = Schema(attributes=(Number(name="age", low=18, high=98), REGION, Boolean(name="member")))


class Counting(Tape):
    """The tape, with a count of what was drawn from each stream."""

    drawn: Counter[int]

    def __init__(self) -> None:
        super().__init__(seed=1, trial=1)
        object.__setattr__(self, "drawn", Counter[int]())

    def normals(self, stream: int, period: int, count: int) -> FloatArray:
        self.drawn[stream] += 1
        return super().normals(stream, period, count)

    def uniform(self, stream: int, period: int) -> float:
        self.drawn[stream] += 1
        return super().uniform(stream, period)


def simulated(**changes: Any) -> Pricer:
    return on_tape(**{"horizon": 60, "exploration_periods": 2} | changes)


def live(**changes: Any) -> Pricer:
    """With little noise, so that estimates come often."""
    given: dict[str, Any] = {"horizon": 60, "contexts": 1, "epsilon": 3000.0, "exploration_periods": 2, "ridge": 1.0}
    return open_pricer(**{"policy": "paper"} | given | changes)


def run(pricer: Pricer, count: int) -> list[Quote]:
    quotes = []
    for n in range(count):
        quotes.append(pricer.quote([np.sin(7.0 * pricer.slots.count)] * pricer.features.contexts))
        pricer.observe(quotes[-1].id, float(n % 3 == 0))
    return quotes


def everything(pricer: Pricer, folder: Path) -> bytes:
    pricer.save(folder / "state")
    return (folder / "state").read_bytes()


BAD_CUSTOMERS: list[tuple[Any, str]] = [
    ([0.1, 0.2], "context must have 1 entries"),
    ([], "context must"),
    (0.5, "context must have 1 entries"),
    ([[0.1]], "context must have 1 entries"),
    (["0.1"], "context must be a vector of 1 numbers, got"),
    ("x", "context must be a vector of 1 numbers, got 'x'"),
    (None, "context must be a vector of 1 numbers, got None"),
    ([np.nan], r"context\[0\] must be a finite number, got nan"),
    ([1.0000001], r"context\[0\] must lie in \[-1, 1\], got 1.0000001"),
    ({"age": 40}, "attributes by name need a schema"),
]


@pytest.mark.parametrize(("customer", "message"), BAD_CUSTOMERS)
def test_a_bad_customer_is_refused_in_one_line_and_changes_nothing(customer: Any, message: str, tmp_path: Path) -> None:
    pricer = simulated(delay=1)
    run(pricer, 10)
    before = everything(pricer, tmp_path)
    with pytest.raises(InvalidInput, match=message) as refusal:
        pricer.quote(customer)
    assert "\n" not in str(refusal.value)
    assert everything(pricer, tmp_path) == before


@pytest.mark.parametrize("broken", [{}, {"member": 1}, {"age": "old"}, {"region": "east"}, {"vip": True}])
def test_bad_attributes_are_refused_and_change_nothing(broken: dict[str, Any], tmp_path: Path) -> None:
    pricer = simulated(contexts=None, schema=SCHEMA)
    sound = {"age": 200, "region": "north", "member": True}  # clipped: a refused customer's clip is not counted either
    pricer.quote(sound)
    before = everything(pricer, tmp_path)
    with pytest.raises(InvalidInput):
        pricer.quote(sound | broken if broken else {})
    assert everything(pricer, tmp_path) == before


def test_a_map_of_ones_own_may_refuse_a_customer_and_nothing_changes() -> None:
    own = Affine(1, 2, lambda x: np.array([2.0 * x[0], 0.0]), lambda x: np.array([0.0, -1.0]), 1.5)
    pricer = simulated(contexts=None, features=own)
    pricer.quote([0.1])
    pricer.quote([0.1])
    with pytest.raises(InvalidInput, match="features: "):
        pricer.quote([1.0])
    assert (pricer.slots.count, pricer.slots.learned, pricer.learner.records.count) == (2, 1, 1)
    assert pricer.quote([0.1]).id.startswith("3-")


def test_unknown_repeated_and_bad_outcomes_change_nothing(tmp_path: Path) -> None:
    pricer = simulated(delay=2)
    quotes = run(pricer, 10)
    last = pricer.quote([0.0])
    before = everything(pricer, tmp_path)
    refused: list[tuple[type[Exception], Any, Any]] = [
        (UnknownQuote, "b-00000000000000000000000000000000", 1.0),
        (UnknownQuote, simulated().quote([0.0]).id, 1.0),
        (RepeatedOutcome, quotes[0].id, 1.0),
        (RepeatedOutcome, quotes[-1].id, 0.0),
        (InvalidInput, last.id, float("nan")),
        (InvalidInput, last.id, "sold"),
    ]
    for error, quote_id, demand in refused:
        with pytest.raises(error):
            pricer.observe(quote_id, demand)
    assert everything(pricer, tmp_path) == before
    assert pricer.observe(last.id, 1) is Observation.RECORDED


def test_after_the_horizon_prices_go_on_and_nothing_is_learned_or_drawn() -> None:
    source = Counting()
    pricer = simulated(source=source, horizon=30)
    quotes = run(pricer, 30)
    assert pricer.quoter.version > 2
    assert not pricer.learning
    drawn, ledger, priced = source.drawn.copy(), pricer.ledger, pricer.quoter.price(np.array([0.3]))
    assert drawn[tape.COVARIANCE_NOISE] == 29
    for _ in range(40):
        quote = pricer.quote([0.3])
        assert (quote.price, quote.version) == (priced, quotes[-1].version)
        assert pricer.observe(quote.id, 1.0) is Observation.NOT_LEARNED
    assert (source.drawn, pricer.ledger, pricer.learner.records.count) == (drawn, ledger, 29)


def test_nothing_is_drawn_or_stored_once_every_estimate_is_used_up() -> None:
    source = Counting()
    pricer = simulated(source=source, max_estimates=2, delay=3)
    while pricer.learning:
        last = run(pricer, 1)[0]
    drawn, stored = source.drawn.copy(), pricer.learner.records.count
    assert (last.version, pricer.learner.estimates_left) == (2, 0)
    assert (drawn[tape.ESTIMATE_NOISE], drawn[tape.OUTPUT_NOISE]) == (2, 2)
    assert pricer.slots.count < 40
    assert drawn[tape.COVARIANCE_NOISE] == stored == pricer.slots.learned
    assert pricer.observe(pricer.quote([0.2]).id, 1.0) is Observation.NOT_LEARNED
    assert run(pricer, 20)[-1].version == 2
    assert (source.drawn, pricer.learner.records.count, len(pricer.slots.pending)) == (drawn, stored, 0)


def test_the_ledger_holds_one_stream_and_one_entry_an_estimate() -> None:
    pricer = simulated(max_estimates=9)
    stream, estimate = (entry.event for entry in pricer.ledger.allowance)
    assert isinstance(stream, CovarianceStream)
    assert isinstance(estimate, PerturbedEstimate)
    assert [entry.count for entry in pricer.ledger.allowance] == [1, 9]
    for _ in range(40):
        version = run(pricer, 1)[0].version
        assert (pricer.ledger.count(stream), pricer.ledger.count(estimate)) == (1, version)
    assert version > 3
    assert pricer.ledger.claimed == EpsilonDelta(3000.0, 2 / 60**2)


@pytest.mark.parametrize("calibration", CALIBRATIONS)
def test_a_live_ledger_proves_what_the_policy_says_and_no_more_than_is_claimed(calibration: str) -> None:
    pricer = open_pricer(policy="paper", horizon=200, contexts=1, epsilon=2.0, calibration=calibration)
    ledger = pricer.ledger
    assert ledger.claimed == EpsilonDelta(2.0, 2 / 200**2)
    assert ledger.proven == pricer.policy.proven
    assert ledger.proven is not None
    assert 0.0 < ledger.proven.epsilon <= 2.0
    if calibration == "tight":  # nothing of the budget is left unused
        assert ledger.proven.epsilon == pytest.approx(2.0, rel=1e-6)
    stream, estimate = (entry.event for entry in ledger.allowance)
    assert isinstance(stream, CovarianceStream)
    assert isinstance(estimate, PerturbedEstimate)
    assert min(stream.grid, estimate.grid, estimate.output_grid) > 0.0


def test_a_simulated_ledger_proves_no_more_than_the_live_one() -> None:
    """Ideal noise costs at most as much as noise on a grid, which is what the policy states."""
    exact, ideal = (
        open_pricer(**{"policy": "paper", "horizon": 200, "contexts": 1} | given).ledger.proven
        for given in ({}, {"source": Tape(seed=1, trial=1), "simulation": True})
    )
    assert exact is not None
    assert ideal is not None
    assert exact.epsilon * (1 - 1e-3) <= ideal.epsilon <= exact.epsilon


@pytest.mark.parametrize("delta", [1e-2, 2 / 60**2, 1e-9])
def test_what_is_proven_to_be_spent_grows_with_every_estimate(delta: float) -> None:
    pricer = live()
    spent = {0: pricer.ledger.epsilon(delta)}
    for _ in range(59):
        version = run(pricer, 1)[0].version
        assert spent.setdefault(version, pricer.ledger.epsilon(delta)) == pricer.ledger.epsilon(delta)
    assert version > 3
    assert list(spent) == list(range(version + 1))
    assert np.all(np.diff(list(spent.values())) > 0.0)
    if delta == pricer.ledger.claimed.delta:
        assert spent[version] <= pricer.ledger.proven.epsilon <= pricer.ledger.claimed.epsilon


def test_when_the_budget_is_spent_prices_go_on_from_the_last_release(monkeypatch: pytest.MonkeyPatch) -> None:
    pricer = live(max_estimates=2)
    while pricer.learning:
        run(pricer, 1)
    ledger, theta, inverse = pricer.ledger, pricer.quoter.theta.copy(), pricer.quoter.inverse.copy()
    assert (pricer.quoter.version, pricer.learner.estimates_left) == (2, 0)
    assert ledger.epsilon(ledger.claimed.delta) == pytest.approx(ledger.proven.epsilon, rel=1e-9)
    monkeypatch.setattr(System, "integers", lambda *given: pytest.fail("noise was drawn after the budget was spent"))
    for x in np.linspace(-1.0, 1.0, 30):
        quote = pricer.quote([x])
        assert (quote.price, quote.version) == (pricer.quoter.price(np.array([x])), 2)
        assert pricer.observe(quote.id, 1.0) is Observation.NOT_LEARNED
    assert pricer.ledger == ledger
    np.testing.assert_array_equal(pricer.quoter.theta, theta)
    np.testing.assert_array_equal(pricer.quoter.inverse, inverse)


def test_without_noise_the_ledger_claims_nothing_and_still_counts() -> None:
    pricer = simulated(policy="nonprivate", max_estimates=9)
    version = run(pricer, 40)[-1].version
    assert (pricer.ledger.claimed, pricer.ledger.count(NotPrivate())) == (None, version + 1)


def test_named_attributes_are_the_encoded_context() -> None:
    by_name, by_context = (simulated(contexts=None, schema=SCHEMA, features="intercept") for _ in range(2))
    for n in range(40):
        person = {"age": 20 + 3 * n, "region": REGION.levels[n % 2], "member": n % 3 == 0}
        named, given = by_name.quote(person), by_context.quote(SCHEMA.encode(person).context)
        assert (named.price, named.version) == (given.price, given.version)
    assert named.version > 0
    assert by_name.clipped_attributes == sum(20 + 3 * n > 98 for n in range(40))
    assert by_context.clipped_attributes == 0


class Stubborn(PrivateMLE):
    """Fails to converge the first time."""

    failures = 1

    def release(self, records: Records, period: int) -> EstimateRelease:
        if self.failures:
            self.failures -= 1
            raise DidNotConverge("nothing was released")
        return super().release(records, period)


@pytest.mark.parametrize("most", [1, 5])
def test_a_failed_fit_stays_paid_for_and_the_customer_can_be_quoted_again(most: int) -> None:
    event = simulated(max_estimates=most, epsilon=500.0).ledger.allowance[1].event
    assert isinstance(event, PerturbedEstimate)
    own = Stubborn(demand=Logistic(), dimension=2, ridge=event.ridge, source=Tape(1, 1), event=event)
    pricer = simulated(max_estimates=most, epsilon=500.0, estimates=own)
    with pytest.raises(DidNotConverge):
        run(pricer, 40)
    failed_at = pricer.slots.count + 1
    assert (pricer.ledger.count(event), pricer.learner.estimates_left) == (1, most - 1)
    assert pricer.slots.learned == pricer.learner.records.count == failed_at - 1
    quote = pricer.quote([0.0])
    assert (quote.version, pricer.slots.count) == (0, failed_at)
    assert pricer.learner.records.count == failed_at - 1  # the slot was not learned again
    assert run(pricer, 30)[-1].version > 0 if most > 1 else not pricer.learning


def test_the_systems_exact_noise_is_the_default() -> None:
    pricer = open_pricer(policy="paper", horizon=100, contexts=1)
    assert type(pricer.source) is System
    assert (pricer.source.simulated, pricer.source.secure) == (False, True)
    assert "exact discrete Gaussian" in pricer.source.label
    other = open_pricer(policy="paper", horizon=100, contexts=1)
    assert pricer.quote([0.0]).price != other.quote([0.0]).price  # period 1 explores


def test_the_pricer_prints_no_customer() -> None:
    pricer = simulated()
    run(pricer, 5)
    assert repr(pricer) == "Pricer(policy='paper', quotes=5, horizon=60)"
    assert repr(pricer.learner) == "PaperLearner(<sensitive>)"
