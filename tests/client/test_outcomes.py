"""An outcome is told until it is heard; telling it twice is safe."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from hushprice.client import Client, Conflict, Outcome, Quote, ServiceAway, UnknownQuote
from hushprice.client import calls as module
from hushprice.errors import InvalidInput
from hushprice.errors import UnknownQuote as OfThePackage

QUOTE = Quote(product="coffee", price=14.99, id="ab" * 16)
RECORDED = {"quote": QUOTE.id, "status": "recorded", "repeat": False}


def test_an_outcome_is_recorded(client, service):
    service.script = [(200, RECORDED)]
    assert client.outcome(QUOTE, purchased=True) == Outcome("recorded")
    assert client.outcome(QUOTE.id, quantity=2) == Outcome("recorded")
    assert [asked[1:3] for asked in service.asked] == [
        (f"/v1/quotes/{QUOTE.id}/outcome", {"purchased": True}),
        (f"/v1/quotes/{QUOTE.id}/outcome", {"quantity": 2}),
    ]


def test_it_is_told_again_until_it_is_heard(hasty, service, play):
    service.script = [(503, {}), play["hang up"], play["wait"], (429, {}), (200, {**RECORDED, "repeat": True})]
    assert hasty.outcome(QUOTE, purchased=False) == Outcome("recorded", repeat=True)
    assert len(service.asked) == 5
    assert len({str(asked[1:3]) for asked in service.asked}) == 1


def test_it_gives_up_at_its_deadline_and_says_so(service, monkeypatch):
    passed = [0.0]  # seconds, of which only the pauses between two tries count here
    clock = SimpleNamespace(monotonic=lambda: sum(passed), sleep=passed.append)
    monkeypatch.setattr(module, "time", clock)
    service.script = [(503, {})]
    with (
        Client(service.url, "a-key", timeout=60.0, outcome_deadline=0.5) as client,
        pytest.raises(ServiceAway, match="answered 503"),
    ):
        client.outcome(QUOTE, purchased=True)
    assert sum(passed) < 0.5
    assert len(service.asked) > 2  # the first two pauses are 0.3 s at most


def test_it_waits_as_long_as_the_service_asks(client, service):
    service.script = [lambda handler: handler.answer(429, {}, Retry_After="0.4"), (200, RECORDED)]
    started = time.monotonic()
    client.outcome(QUOTE, purchased=True)
    assert time.monotonic() - started > 0.4


def test_pauses_double_and_are_drawn_below_that(client, service, monkeypatch):
    ranges = []
    monkeypatch.setattr(module.random, "uniform", lambda low, high: ranges.append((low, high)) or 0.0)
    service.script = [(503, {})] * 8 + [(200, RECORDED)]
    client.outcome(QUOTE, purchased=True)
    assert ranges == [(0.0, pause) for pause in (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0)]


def test_a_late_outcome_is_not_an_error(client, service):
    service.script = [(202, {"quote": QUOTE.id, "status": "late", "repeat": False})]
    assert client.outcome(QUOTE, purchased=True).status == "late"


@pytest.mark.parametrize(("status", "kind"), [(409, Conflict), (404, UnknownQuote)])
def test_conflict_and_unknown_are_raised_at_once_with_the_services_words(client, service, status, kind):
    service.script = [(status, {"error": {"code": "c", "message": "as the service says", "field": None}})]
    with pytest.raises(kind, match=r"^as the service says$"):
        client.outcome(QUOTE, purchased=True)
    assert len(service.asked) == 1
    assert issubclass(UnknownQuote, OfThePackage)


def test_an_outcome_of_the_local_reference_price_is_not_sent_and_says_so(client, service):
    assert client.outcome(Quote(product="coffee", price=12.5, fallback=True), purchased=True) == Outcome("not told")
    assert not service.asked


def test_an_outcome_of_a_quote_that_waits_for_the_database_is_told_until_it_is_stored(client, service):
    service.script = [(503, {}), (200, RECORDED)]
    quote = Quote(product="coffee", price=9.0, id=QUOTE.id, recorded=False)
    assert client.outcome(quote, purchased=True) == Outcome("recorded")
    assert len(service.asked) == 2


def test_an_outcome_is_purchased_or_a_quantity(client, service):
    for wrong in ({}, {"purchased": True, "quantity": 2}):
        with pytest.raises(InvalidInput, match="either purchased or quantity"):
            client.outcome(QUOTE, **wrong)
    assert not service.asked
