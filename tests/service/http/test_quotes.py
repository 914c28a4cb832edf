"""Quotes and outcomes over real connections, on SQLite and on PostgreSQL."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from tests.service.clock import pass_deadlines
from tests.service.http.running import CUSTOMER, Running, ask, running


def test_a_quote_has_an_id_a_price_in_currency_an_expiry_and_a_version(either: Running) -> None:
    asked = datetime.now(UTC)
    quote = either.quote()
    answered = datetime.now(UTC)
    assert re.fullmatch("[0-9a-f]{32}", quote["id"])
    assert quote["product"] == "umbrella"
    assert 16.0 <= quote["price"] <= 24.0  # the reference price, dispersed by a tenth of the ceiling
    assert quote["price"] == round(quote["price"], 2)
    assert (quote["currency"], quote["version"], quote["recorded"]) == ("EUR", 0, True)
    expires = datetime.fromisoformat(quote["expires_at"])  # in whole seconds
    assert asked + timedelta(seconds=899) < expires <= answered + timedelta(seconds=900)


def test_an_outcome_is_recorded_once_repeated_the_same_and_refused_where_it_differs(either: Running) -> None:
    quote, shop = either.quote(), either.client("shop")
    path = f"/v1/quotes/{quote['id']}/outcome"
    first = shop.post(path, json={"purchased": True})
    assert (first.status_code, first.json()) == (200, {"quote": quote["id"], "status": "recorded", "repeat": False})
    again = shop.post(path, json={"purchased": True})
    assert (again.status_code, again.json()) == (200, {"quote": quote["id"], "status": "recorded", "repeat": True})
    capitals = shop.post(f"/v1/quotes/{'A' * 32}/outcome", json={"purchased": True})
    assert (capitals.status_code, capitals.json()["error"]["code"]) == (404, "unknown_quote")
    other = shop.post(path, json={"purchased": False})
    assert (other.status_code, other.json()["error"]["code"]) == (409, "conflict")


def test_an_outcome_after_the_deadline_is_noted_as_late(either: Running) -> None:
    quote, shop = either.quote(), either.client("shop")
    path = f"/v1/quotes/{quote['id']}/outcome"
    pass_deadlines(either.store)
    answer = shop.post(path, json={"purchased": False})
    assert (answer.status_code, answer.json()["status"]) == (202, "late")


def test_ids_of_others_and_unknown_ids_get_the_same_answer(either: Running) -> None:
    quote = either.quote()
    body = {"purchased": True}
    others = either.client("other").post(f"/v1/quotes/{quote['id']}/outcome", json=body)
    unknown = either.client("other").post(f"/v1/quotes/{'0' * 32}/outcome", json=body)
    assert others.status_code == unknown.status_code == 404
    assert others.content == unknown.content
    told = either.client("shop").post(f"/v1/quotes/{quote['id']}/outcome", json=body)
    assert told.json()["repeat"] is False  # what the other key asked left no trace


@pytest.mark.parametrize("id", ["x", "0" * 31, "G" * 32, "0" * 33, "%20" * 32])
def test_ids_that_are_none_are_unknown(shared: Running, id: str) -> None:
    assert shared.client("shop").post(f"/v1/quotes/{id}/outcome", json={"purchased": True}).status_code == 404


def test_an_idempotency_key_gets_the_same_quote_again(either: Running) -> None:
    shop, header = either.client("shop"), {"idempotency-key": "order-17"}
    first = shop.post("/v1/quotes", json=ask(), headers=header)
    second = shop.post("/v1/quotes", json=ask(), headers=header)
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json() == second.json()
    changed = shop.post("/v1/quotes", json=ask(attributes={**CUSTOMER, "age": 42}), headers=header)
    assert (changed.status_code, changed.json()["error"]["code"]) == (409, "idempotency_conflict")
    assert either.client("other").post("/v1/quotes", json=ask(), headers=header).status_code == 201


@pytest.mark.parametrize("value", ["", "k" * 201])
def test_an_idempotency_key_has_1_to_200_characters(shared: Running, value: str) -> None:
    answer = shared.client("shop").post("/v1/quotes", json=ask(), headers={"idempotency-key": value})
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "Idempotency-Key")


def test_a_batch_answers_every_item_in_its_place(either: Running) -> None:
    items = [ask(), {"product": "nothing", "attributes": CUSTOMER}, {"product": 3}, ask(attributes={"age": 1}), ask()]
    answer = either.client("shop").post("/v1/quotes/batch", json={"quotes": items})
    assert answer.status_code == 200
    quotes = answer.json()["quotes"]
    assert [sorted(each)[0] == "error" for each in quotes] == [False, True, True, True, False]
    assert [each["error"]["field"] for each in quotes[1:4]] == [
        "quotes.1.product",
        "quotes.2.product",
        "quotes.3.attributes",
    ]
    told = either.client("shop").post(f"/v1/quotes/{quotes[4]['id']}/outcome", json={"quantity": 1})
    assert told.status_code == 200


def test_a_batch_that_asks_to_be_repeatable_is_refused(shared: Running) -> None:
    answer = shared.client("shop").post(
        "/v1/quotes/batch", json={"quotes": [ask()]}, headers={"idempotency-key": "basket"}
    )
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "Idempotency-Key")


@pytest.mark.parametrize("count", [0, 101])
def test_a_batch_has_1_to_100_items(shared: Running, count: int) -> None:
    answer = shared.client("shop").post("/v1/quotes/batch", json={"quotes": [ask()] * count})
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "quotes")


def test_the_holdout_pays_the_reference_price_at_its_declared_share(fresh: Running) -> None:
    fresh.create(name="held", holdout=0.5, reference_price=17.0)
    shop, prices = fresh.client("shop"), []
    for _ in range(4):
        body = {"quotes": [ask(product="held")] * 100}
        prices += [each["price"] for each in shop.post("/v1/quotes/batch", json=body).json()["quotes"]]
    share = sum(price == 17.0 for price in prices) / len(prices)
    assert 0.35 < share < 0.65  # six deviations: a false alarm in 10^9
    assert len(set(prices)) > 100  # the others are dispersed


def test_a_frozen_product_keeps_its_price_and_its_slots(fresh: Running) -> None:
    admin = fresh.client("admin")
    assert admin.post("/v1/products/umbrella/freeze").json()["status"] == "frozen"
    assert {fresh.quote()["price"] for _ in range(5)} == {20.0}
    assert admin.post("/v1/products/umbrella/resume").json()["status"] == "open"
    assert len({fresh.quote()["price"] for _ in range(5)}) > 1
    fresh.look()
    assert admin.get("/v1/products/umbrella").json()["quotes"] == 10


def test_a_product_with_a_cap_needs_a_customer_key(shared: Running) -> None:
    shared.create(name="capped", records_per_customer=2)
    shop = shared.client("shop")
    answer = shop.post("/v1/quotes", json=ask(product="capped"))
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "customer")
    assert shop.post("/v1/quotes", json=ask(product="capped", customer="c-1")).status_code == 201


def test_numeric_contexts_are_priced_too(shared: Running) -> None:
    shared.create(name="plain", schema=None, contexts=2)
    shop = shared.client("shop")
    assert shop.post("/v1/quotes", json={"product": "plain", "context": [0.5, -1]}).status_code == 201
    for context in ([0.5], [0.5, 2.0], [0.5, None]):
        answer = shop.post("/v1/quotes", json={"product": "plain", "context": context})
        assert answer.status_code == 422
        assert answer.json()["error"]["field"].startswith("context")


def test_quotes_in_memory_are_answered_at_once_and_stored_a_moment_later(tmp_path) -> None:
    with running(str(tmp_path / "shop.db"), tmp_path, **{"quotes.durable": False}) as server:
        server.create()
        shop = server.client("shop")
        for _ in range(20):
            quote = shop.post("/v1/quotes", json=ask()).json()
            assert shop.post(f"/v1/quotes/{quote['id']}/outcome", json={"purchased": True}).status_code == 200


def test_at_the_end_of_the_horizon_pricing_goes_on_and_says_so(fresh: Running) -> None:
    fresh.create(name="short", horizon=3)
    for _ in range(4):
        fresh.quote(product="short")
    fresh.look()
    body = fresh.client().get("/v1/products/short/privacy").json()
    assert (body["learning"], body["learning_ended"], body["quotes"]) == (False, "horizon", 4)
    assert fresh.quote(product="short")["recorded"] is True
