"""A quote is asked for once, whatever happens, and a customer always sees a price."""

from __future__ import annotations

import logging
import socket

import pytest
from tests.waiting import eventually

from hushprice.client import Ask, Client, Conflict, Quote, Refused, ServiceAway
from hushprice.errors import HushpriceError, InvalidInput


def test_a_quote_is_the_services_answer(client, service, quote_body):
    quote = client.quote("coffee", {"age": 42}, customer="c-1", idempotency_key="basket-9")
    expected = {name: value for name, value in quote_body.items() if name in Quote.__struct_fields__}
    assert quote == Quote(**expected)
    assert not quote.fallback
    ((method, path, body, headers),) = service.asked
    assert (method, path) == ("POST", "/v1/quotes")
    assert body == {"product": "coffee", "attributes": {"age": 42}, "customer": "c-1"}
    assert headers["Authorization"] == "Bearer a-key"
    assert headers["Idempotency-Key"] == "basket-9"


def test_a_context_is_sent_as_numbers(client, service):
    client.quote("coffee", context=[0.5, -1.0])
    assert service.asked[0][2] == {"product": "coffee", "context": [0.5, -1.0]}
    assert "Idempotency-Key" not in service.asked[0][3]


@pytest.mark.parametrize("failure", ["hang up", "wait", "drip", 500, 503, 429, "<html>"])
def test_a_service_that_is_away_costs_one_request_and_gives_the_reference_price(client, hasty, service, play, failure):
    service.script = [play.get(failure) or ((failure, {}) if isinstance(failure, int) else (201, b"<html>"))]
    quote = (hasty if failure in ("wait", "drip") else client).quote("coffee", {"age": 42})
    assert quote == Quote(product="coffee", price=12.5, fallback=True)
    assert quote.id is None
    assert not service.outwaited
    eventually(lambda: service.asked)
    assert len(service.asked) == 1


def test_the_reference_price_keeps_the_currency_once_it_is_known(client, service, play):
    client.quote("coffee", {"age": 42})
    service.script = [play["hang up"]]
    assert client.quote("coffee", {"age": 42}).currency == "EUR"


def test_without_a_reference_price_the_absence_is_an_error(client, service, play):
    service.script = [play["hang up"]]
    with pytest.raises(ServiceAway, match="did not answer"):
        client.quote("tea", {"age": 42})
    assert len(service.asked) == 1


def test_nobody_listening_is_a_service_that_is_away():
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        url = f"http://127.0.0.1:{reserved.getsockname()[1]}"
        with Client(url, "a-key", reference_prices={"coffee": 12.5}) as client:
            assert client.quote("coffee", context=[0.0]).fallback


def test_the_log_says_why_and_tells_no_attribute(client, service, caplog):
    service.script = [(503, {"error": {"code": "x", "message": "m", "field": None}})]
    with caplog.at_level(logging.WARNING, logger="hushprice.client"):
        client.quote("coffee", {"age": 4217})
    assert "answered 503" in caplog.text
    assert "4217" not in caplog.text


@pytest.mark.parametrize(("status", "kind"), [(400, Refused), (401, Refused), (404, Refused), (409, Conflict)])
def test_a_refusal_is_raised_and_not_hidden_behind_the_reference_price(client, service, status, kind):
    service.script = [(status, {"error": {"code": "unknown_attribute", "message": "no such", "field": "age"}})]
    with pytest.raises(kind, match=r"^no such$") as caught:
        client.quote("coffee", {"age": 42})
    assert type(caught.value) is kind
    assert (caught.value.status, caught.value.code, caught.value.field) == (status, "unknown_attribute", "age")
    assert isinstance(caught.value, HushpriceError)


def test_a_refusal_by_something_else_on_the_way_is_still_a_refusal(client, service):
    service.script = [(403, b"<html>forbidden")]
    with pytest.raises(Refused, match="answered 403"):
        client.quote("coffee", {"age": 42})


def test_a_quote_needs_attributes_or_a_context_and_not_both(client, service):
    for wrong in ({}, {"attributes": {"age": 1}, "context": [0.1]}):
        with pytest.raises(InvalidInput, match="either attributes or a context"):
            client.quote("coffee", **wrong)
    assert not service.asked


def test_a_batch_keeps_its_order_and_puts_refusals_in_their_place(client, service, quote_body):
    error = {"error": {"code": "unknown_product", "message": "no product of that name", "field": "product"}}
    service.script = [(200, {"quotes": [quote_body, error, {**quote_body, "price": 9.99}]})]
    first, second, third = client.quotes([Ask("coffee", {"age": age}) for age in (1, 2, 3)])
    assert (first.price, third.price) == (14.99, 9.99)
    assert isinstance(second, Refused)
    assert second.code == "unknown_product"


def test_a_long_batch_is_cut_and_a_part_that_fails_falls_back_alone(client, service, quote_body):
    service.script = [(200, {"quotes": [quote_body] * 100}), (503, {})]
    quotes = client.quotes([Ask("coffee", context=[0.0])] * 130)
    assert [quote.fallback for quote in quotes] == [False] * 100 + [True] * 30
    assert [len(asked[2]["quotes"]) for asked in service.asked] == [100, 30]


def test_what_was_asked_does_not_print():
    assert "4217" not in repr(Ask("coffee", {"age": 4217}, customer="4217"))
