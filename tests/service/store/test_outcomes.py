"""Outcomes, deadlines and the service's clock, on both databases."""

from __future__ import annotations

import pytest
from tests.service.store.samples import PRODUCT, given, learn, pass_time, quote, tell

from hushprice.service.store import decisions
from hushprice.service.store.protocol import GRACE, LearnerStore, QuoterStore
from hushprice.service.store.values import NewOutcome, OutcomeAnswer


def demands(store: LearnerStore, after: int = 0) -> list[float | None]:
    return [slot.demand for slot in store.due(PRODUCT, after, 1000)]


def test_an_outcome_is_recorded_once_and_its_repeat_gets_the_same_answer(
    quoter: QuoterStore, learner: LearnerStore
) -> None:
    (name,) = given(quoter)
    assert tell(quoter, name, 2.0) == OutcomeAnswer("recorded")
    assert tell(quoter, name, 2.0) == OutcomeAnswer("recorded", True)
    pass_time(quoter, 20.0)
    assert tell(quoter, name, 2.0) == OutcomeAnswer("recorded", True)
    assert demands(learner) == [2.0]


def test_another_demand_is_a_conflict_and_changes_nothing(quoter: QuoterStore, learner: LearnerStore) -> None:
    (name,) = given(quoter)
    tell(quoter, name, 0.1 + 0.2)
    assert tell(quoter, name, 0.3) == OutcomeAnswer("conflict")  # one bit apart
    assert tell(quoter, name, 0.1 + 0.2) == OutcomeAnswer("recorded", True)
    pass_time(quoter, 20.0)
    assert demands(learner) == [0.1 + 0.2]


def test_an_outcome_is_taken_until_the_deadline_and_not_at_it(quoter: QuoterStore, learner: LearnerStore) -> None:
    before, at = given(quoter, 2, window=8.0)
    quoter.beat(0.0)
    quoter.beat(4.0)
    assert quoter.beat(7.75) == 7.75
    assert tell(quoter, before) == OutcomeAnswer("recorded")
    assert learner.due(PRODUCT, 0, 10) == []
    assert quoter.beat(8.0) == 8.0
    assert tell(quoter, at) == OutcomeAnswer("late")
    assert demands(learner) == [1.0, None]


def test_a_late_outcome_is_kept_for_its_repeat_and_never_learned(quoter: QuoterStore, learner: LearnerStore) -> None:
    (name,) = given(quoter)
    pass_time(quoter, 20.0)
    assert tell(quoter, name, 1.0) == OutcomeAnswer("late")
    assert tell(quoter, name, 1.0) == OutcomeAnswer("late", True)
    assert tell(quoter, name, 0.0) == OutcomeAnswer("conflict")
    assert demands(learner) == [None]
    learn(learner, 1)
    assert tell(quoter, name, 1.0) == OutcomeAnswer("late", True)


@pytest.mark.parametrize("demand", [5e-324, 1e-200, 1e-100])
def test_a_demand_too_small_to_square_is_recorded(quoter: QuoterStore, learner: LearnerStore, demand: float) -> None:
    """PostgreSQL refuses a product that is too small for a float, where others say 0."""
    (name,) = given(quoter)
    assert tell(quoter, name, demand) == OutcomeAnswer("recorded")
    pass_time(quoter, 20.0)
    assert demands(learner) == [demand]


def test_an_id_that_nobody_got_is_unknown(quoter: QuoterStore) -> None:
    for name in ("0" * 32, "", "zz", "not hexadecimal digits, 32 chars", "\u00e9" * 32, "0" * 31 + "\x00"):
        assert tell(quoter, name) == OutcomeAnswer("unknown")


def test_a_quote_of_another_api_key_is_unknown_before_and_after_its_outcome(quoter: QuoterStore) -> None:
    (name,) = given(quoter, key="shop")
    assert tell(quoter, name, 1.0, key="other") == OutcomeAnswer("unknown")
    tell(quoter, name, 1.0)
    assert tell(quoter, name, 1.0, key="other") == OutcomeAnswer("unknown")
    assert tell(quoter, name, 0.0, key="other") == OutcomeAnswer("unknown")


def test_an_outcome_in_the_same_write_as_its_quote(quoter: QuoterStore, learner: LearnerStore) -> None:
    new = quote()
    said = [NewOutcome(new.id, "shop", demand) for demand in (1.0, 1.0, 0.0)]
    assert quoter.write([new], said)[1] == [
        OutcomeAnswer("recorded"),
        OutcomeAnswer("recorded", True),
        OutcomeAnswer("conflict"),
    ]
    pass_time(quoter, 20.0)
    assert demands(learner) == [1.0]


def test_outcomes_are_answered_in_the_order_asked(quoter: QuoterStore, learner: LearnerStore) -> None:
    names = given(quoter, 20)
    said = [NewOutcome(name, "shop", float(n)) for n, name in enumerate(names)]
    assert quoter.write([], said[::-2])[1] == [OutcomeAnswer("recorded")] * 10
    answers = quoter.write([], said)[1]
    assert [answer.repeat for answer in answers] == [n % 2 == 1 for n in range(20)]
    pass_time(quoter, 20.0)
    assert demands(learner) == [float(n) for n in range(20)]


def test_the_clock_moves_by_beats_and_stands_still_over_an_outage(quoter: QuoterStore, learner: LearnerStore) -> None:
    assert quoter.beat(100.0) == 0.0
    assert quoter.beat(100.5) == 0.5
    assert learner.beat(100.5 + GRACE) == 0.5 + GRACE
    (name,) = given(quoter, window=10.0)
    assert quoter.beat(100.5 + 2 * GRACE + 0.01) == 0.5 + GRACE  # too long for time in service
    assert quoter.beat(5000.0) == 0.5 + GRACE
    assert tell(quoter, name) == OutcomeAnswer("recorded")
    assert learner.due(PRODUCT, 0, 10) == []
    assert quoter.beat(5001.0) == 1.5 + GRACE


def test_a_clock_that_was_set_back_stops_the_service_clock_for_grace_only(quoter: QuoterStore) -> None:
    quoter.beat(1000.0)
    assert quoter.beat(1001.0) == 1.0
    assert [quoter.beat(500.0 + step) for step in range(8)] == [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 3.0]


def test_of_two_quoters_with_different_clocks_the_one_ahead_counts(quoter: QuoterStore, learner: LearnerStore) -> None:
    """Otherwise the clock would run faster with every quoter."""
    for step in range(12):
        ahead = quoter.beat(1000.0 + step)
        assert ahead == learner.beat(997.0 + step) == float(step)


def test_the_database_has_the_same_clock_as_the_rules(quoter: QuoterStore) -> None:
    beats = [0.0, 1.0, 1.0 + GRACE, 3.0, 4.0, 9.5, 100.0, 90.0, 101.0, 90.0, 94.0, 95.5, 96.0]
    clock = (0.0, None, None)
    for now in beats:
        clock = decisions.clock_after_beat(*clock, now)  # type: ignore[assignment]
        assert quoter.beat(now) == clock[0]


def test_only_a_contiguous_run_past_its_deadlines_is_due(quoter: QuoterStore, learner: LearnerStore) -> None:
    for window in (5.0, 20.0, 5.0, 5.0):
        given(quoter, window=window)
    pass_time(quoter, 10.0)
    assert [slot.slot for slot in learner.due(PRODUCT, 0, 10)] == [1]  # slot 3 waits for slot 2
    assert learner.due(PRODUCT, 1, 10) == []
    pass_time(quoter, 15.0, start=2e6)
    assert [slot.slot for slot in learner.due(PRODUCT, 0, 3)] == [1, 2, 3]
    assert [slot.slot for slot in learner.due(PRODUCT, 2, 10)] == [3, 4]
    assert learner.due(PRODUCT, 4, 10) == []


def test_a_forgotten_customer_leaves_tombstones(quoter: QuoterStore, learner: LearnerStore) -> None:
    first, second = given(quoter, 2, customer=b"ann", idempotency=None)
    (other,) = given(quoter, customer=b"bob")
    tell(quoter, first)
    tell(quoter, other)
    quoter.forget(b"ann")
    assert [tell(quoter, name) for name in (first, second)] == [OutcomeAnswer("unknown")] * 2
    pass_time(quoter, 20.0)
    slots = learner.due(PRODUCT, 0, 10)
    assert [(s.context is None, s.price, s.demand, s.counts) for s in slots] == [
        (True, 0.0, None, False),
        (True, 0.0, None, False),
        (False, 0.5, 1.0, True),
    ]
    quoter.forget(b"nobody")


def test_a_forgotten_quote_gives_its_idempotency_key_free(quoter: QuoterStore) -> None:
    """Its fingerprint was made of the request, so it may not stay."""
    old = quote(customer=b"ann", idempotency=b"k", fingerprint=b"f")
    quoter.write([old], [])
    quoter.forget(b"ann")
    assert quoter.write([quote(idempotency=b"k", fingerprint=b"g")], [])[0][0].fresh


def test_who_comes_back_after_being_forgotten_has_no_second_cap(quoter: QuoterStore, learner: LearnerStore) -> None:
    """Two records may be in releases already; the one that no learner can have is given back."""
    given(quoter, 2, cap=3, customer=b"ann", window=5.0)
    pass_time(quoter, 10.0)
    given(quoter, 2, cap=3, customer=b"ann", window=5.0)
    quoter.forget(b"ann")
    given(quoter, 2, cap=3, customer=b"ann", window=5.0)
    quoter.forget(b"ann")
    given(quoter, 2, cap=3, customer=b"ann", window=5.0)
    pass_time(quoter, 10.0, start=2e6)
    assert [slot.counts for slot in learner.due(PRODUCT, 0, 10)] == [False] * 6 + [True, False]


@pytest.mark.parametrize(
    ("spec", "bound"),
    [
        (b'{"family": "logistic", "bound": null}', 1.0),
        (b'{"family": "poisson", "bound": null}', decisions.DEFAULT_BOUND),
        (b'{"family": "poisson", "bound": 3.0}', 3.0),
        (b'{"family": "poisson", "bound": 3.0, "most": 1.0}', 3.0),  # the default of another policy's field
        (b'{"family": "poisson", "bound": null, "most": 1.0}', decisions.DEFAULT_BOUND),
        (b'{"family": "logistic", "bound": null, "most": 4.0}', 4.0),
        (b'{"family": "logistic", "bound": null, "most": null}', 1.0),
    ],
)
def test_more_than_the_products_bound_is_not_stored(
    quoter: QuoterStore, learner: LearnerStore, spec: bytes, bound: float
) -> None:
    learner.add_product("coat", spec, b"{}", 1000.0)
    (name,) = given(quoter, product="coat")
    assert tell(quoter, name, bound * 1.01) == OutcomeAnswer("too much", bound=bound)
    assert tell(quoter, name, 1e6, key="other") == OutcomeAnswer("unknown")
    assert learner.figures("coat").waiting == 1
    assert tell(quoter, name, bound) == OutcomeAnswer("recorded")
    assert tell(quoter, name, 1e6) == OutcomeAnswer("too much", bound=bound)
    assert learner.figures("coat").personal_revenue == 0.5 * bound


@pytest.mark.parametrize("name", ["0" * 30 + "\x0b\x0c", "0" * 31, "0" * 33, "A" * 32, "\u0661" * 32, "", "\x00" * 32])
def test_what_is_no_id_is_an_unknown_quote(quoter: QuoterStore, learner: LearnerStore, name: str) -> None:
    assert tell(quoter, name) == OutcomeAnswer("unknown")
