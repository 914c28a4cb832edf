"""Reports of devices, on both databases: a quote takes them or outcomes, and either of them once."""

from __future__ import annotations

import pytest
from tests.service.store.samples import PRODUCT, give, given, pass_time, quote, tell

from hushprice.service.store.protocol import LearnerStore, QuoterStore
from hushprice.service.store.values import UNPRICED, NewOutcome, OutcomeAnswer


def report(store: QuoterStore, name: str, code: float, key: str = "shop") -> OutcomeAnswer:
    return store.write([], [NewOutcome(name, key, code, report=True)])[1][0]


@pytest.fixture(params=["jacket", "scarf"])
def product(request: pytest.FixtureRequest, learner: LearnerStore) -> str:
    """Whatever the product's visitors may buy at most: that is no bound of a report's code."""
    learner.add_product("scarf", b'{"family": "logistic"}', b"{}", 1000.0)
    return str(request.param)


def test_a_report_is_taken_once_and_its_repeat_gets_the_same_answer(
    quoter: QuoterStore, learner: LearnerStore, product: str
) -> None:
    (name,) = given(quoter, price=UNPRICED, product=product)
    assert report(quoter, name, 5.0) == OutcomeAnswer("recorded")
    assert report(quoter, name, 5.0) == OutcomeAnswer("recorded", True)
    assert report(quoter, name, 4.0) == OutcomeAnswer("conflict")
    assert report(quoter, name, 5.0, key="other") == OutcomeAnswer("unknown")
    pass_time(quoter, 20.0)
    assert [(slot.price, slot.demand) for slot in learner.due(product, 0, 10)] == [(UNPRICED, 5.0)]


def test_a_late_report_is_not_learned(quoter: QuoterStore, learner: LearnerStore) -> None:
    (name,) = given(quoter, price=UNPRICED)
    pass_time(quoter, 20.0)
    assert report(quoter, name, 3.0) == OutcomeAnswer("late")
    assert report(quoter, name, 3.0) == OutcomeAnswer("late", True)
    assert [slot.demand for slot in learner.due(PRODUCT, 0, 10)] == [None]


def test_an_outcome_is_refused_where_a_report_is_due_and_the_other_way_round(
    quoter: QuoterStore, learner: LearnerStore
) -> None:
    quoted, asked = quote(), quote(price=UNPRICED)
    give(quoter, quoted, asked)
    for demand in (0.0, 1.0, 7.0):
        assert tell(quoter, asked.id, demand) == OutcomeAnswer("another kind")
        assert report(quoter, quoted.id, demand) == OutcomeAnswer("another kind")
    assert learner.figures(PRODUCT).waiting == 2
    assert tell(quoter, quoted.id) == OutcomeAnswer("recorded")
    assert report(quoter, asked.id, 1.0) == OutcomeAnswer("recorded")
    assert tell(quoter, asked.id) == OutcomeAnswer("another kind")


def test_a_report_is_counted_and_earns_nothing(quoter: QuoterStore, learner: LearnerStore) -> None:
    names = given(quoter, 2, price=UNPRICED, customer=b"ann")
    for name in names:
        report(quoter, name, 3.0)
    figures = learner.figures(PRODUCT)
    assert (figures.quoted, figures.bought, figures.declined, figures.waiting) == (2, 0, 2, 0)
    assert (figures.personal_revenue, figures.personal_squares) == (0.0, 0.0)
    quoter.forget(b"ann")
    figures = learner.figures(PRODUCT)
    assert (figures.declined, figures.forgotten, figures.personal_revenue) == (0, 2, 0.0)
    assert report(quoter, names[0], 3.0) == OutcomeAnswer("unknown")
