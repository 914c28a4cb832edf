"""Products, privacy, history, maps and health: what anybody may know."""

from __future__ import annotations

import re

import pytest
from tests.service.http.running import CUSTOMER, Running, ask


def test_a_product_is_shown_with_every_default(either: Running) -> None:
    body = either.client().get("/v1/products/umbrella").json()
    assert body["reference_price"] == 20.0
    assert (body["status"], body["horizon"], body["epsilon"]) == ("open", 1_000_000, 1.0)
    assert [each["name"] for each in either.client().get("/v1/products").json()["products"]] == ["umbrella"]


def test_rules_and_reference_price_move_prices_and_are_listed_as_changes(either: Running) -> None:
    admin = either.client("admin")
    assert admin.put("/v1/products/umbrella/rules", json={"ladder": 0.99, "floor": 5.0}).status_code == 200
    assert all(f"{either.quote()['price']:.2f}".endswith(".99") for _ in range(5))
    assert admin.put("/v1/products/umbrella/reference-price", json={"price": 12.5}).json()["reference_price"] == 12.5
    admin.post("/v1/products/umbrella/freeze")
    assert either.quote()["price"] == 12.5
    report = either.client().get("/v1/products/umbrella/report").json()
    assert [each["what"] for each in report["changes"]] == ["rules", "reference price", "freeze"]
    assert report["reference_price"] == 12.5


@pytest.mark.parametrize("body", [{"price": 0}, {"price": 41}, {"price": 12.345}, {"price": "12"}, {}])
def test_a_reference_price_that_cannot_be_charged_is_refused(shared: Running, body: object) -> None:
    answer = shared.client("admin").put("/v1/products/umbrella/reference-price", json=body)
    assert answer.status_code == 422


def test_privacy_before_the_first_release_is_all_left(either: Running) -> None:
    body = either.client().get("/v1/products/umbrella/privacy").json()
    assert body["claimed"] == {"epsilon": 1.0, "delta": 2e-12}
    assert 0.99 < body["proven"]["epsilon"] <= 1.0
    assert (body["spent"]["epsilon"], body["left"]["epsilon"]) == (0.0, 1.0)
    assert (body["adjacency"], body["customer"], body["learning"]) == ("replace-one", None, True)
    assert body["next_release_after_slot"] > 0
    assert set(body["labels"].values()) == {"public"}


def test_customers_of_all_products_are_accounted_for_together(fresh: Running) -> None:
    assert fresh.client().get("/v1/privacy").json()["customer"] is None  # umbrella has no cap
    fresh.create(name="capped", records_per_customer=2)
    one = fresh.client().get("/v1/products/capped/privacy").json()
    assert one["customer"]["records"] == 2
    assert one["customer"]["epsilon"] > one["claimed"]["epsilon"]


def test_a_fixed_policy_spends_nothing(fresh: Running) -> None:
    fresh.create(name="fixed", policy="fixed")
    body = fresh.client().get("/v1/products/fixed/privacy").json()
    assert (body["learning"], body["learning_ended"], body["proven"]["epsilon"]) == (False, "policy fixed", 0.0)
    assert {fresh.quote(product="fixed")["price"] for _ in range(3)} == {20.0}
    assert fresh.client().get("/v1/products/fixed/demand").status_code == 404
    refused = fresh.client().get("/v1/products/fixed/certificate")
    assert (refused.status_code, "nothing to certify" in refused.json()["error"]["message"]) == (404, True)


def test_there_is_no_certificate_before_the_learner_wrote_one(shared: Running) -> None:
    answer = shared.client().get("/v1/products/umbrella/certificate")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "no_certificate")


def test_a_price_map_covers_numbers_levels_and_flags(shared: Running) -> None:
    body = shared.client().get("/v1/products/umbrella/prices?x=age&y=region&steps=5").json()
    assert body["x"] == {"name": "age", "values": [18.0, 38.0, 58.0, 78.0, 98.0]}
    assert body["y"]["values"] == ["south", "north"]
    assert [len(row) for row in body["prices"]] == [5, 5]
    assert (body["currency"], body["label"]) == ("EUR", "public")
    flags = shared.client().get("/v1/products/umbrella/prices?x=member").json()
    assert (flags["x"]["values"], flags["y"]) == ([False, True], None)


def test_demand_falls_with_price_inside_its_band(shared: Running) -> None:
    body = shared.client().get("/v1/products/umbrella/demand", params={"age": 41, "member": "true"}).json()
    assert body["demand"] == sorted(body["demand"], reverse=True)
    assert all(
        low <= middle <= high for low, middle, high in zip(body["low"], body["demand"], body["high"], strict=True)
    )
    assert (body["prices"][0], body["prices"][-1]) == (0.0, 40.0)


def test_forgetting_a_customer_says_what_remains_and_not_whether_there_was_one(either: Running) -> None:
    either.quote(customer="c-1")
    admin = either.client("admin")
    known = admin.post("/v1/customers/forget", json={"customer": "c-1"})
    unknown = admin.post("/v1/customers/forget", json={"customer": "c-2"})
    assert known.status_code == 200
    assert known.content == unknown.content
    assert known.json()["forgotten"] is True
    assert any("backups" in line for line in known.json()["remains"])


def test_health_says_what_is_up(shared: Running) -> None:
    assert shared.client().get("/healthz").json() == {"status": "ok"}
    ready = shared.client().get("/readyz")
    assert (ready.status_code, ready.json()["store"]) == (200, "up")
    learning = shared.client().get("/readyz/learning")
    assert (learning.status_code, learning.json()["learner"]) == (503, "away")  # no learner runs in this test


def test_metrics_are_prometheus_text_without_a_word_on_outcomes(fresh: Running) -> None:
    quote = fresh.quote(customer="c-1017")
    fresh.client("shop").post(f"/v1/quotes/{quote['id']}/outcome", json={"purchased": True})
    fresh.look()
    assert fresh.client().get("/metrics").status_code == 401
    before = fresh.client("admin").get("/metrics")
    assert before.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = [line for line in before.text.splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r'[a-z_]+(\{[a-z]+="[^"]*"\})? [0-9.e+-]+', line) for line in lines)
    assert "hushprice_quote_seconds_count 1" in before.text
    assert "hushprice_store_up 1" in lines
    for word in ("outcome", "purchase", "bought", "late", "funnel", "revenue", "c-1017", *map(str, CUSTOMER.values())):
        assert word not in re.sub(r"hushprice_quote_seconds.*", "", before.text)
    # How long quotes took depends on what customers are like: not for an auditor.
    public = re.sub(r".*hushprice_(quote|look_age)_seconds.*\n", "", before.text)
    answered = int(re.findall(r'answers_total{class="2xx"} (\d+)', public)[0])  # before the answer that tells it
    public = public.replace(f'{{class="2xx"}} {answered}', f'{{class="2xx"}} {answered + 1}')
    told = fresh.client("auditor").get("/metrics").text
    assert re.sub(r".*hushprice_look_age_seconds.*\n", "", told) == public


def test_nothing_is_for_caches_to_keep(shared: Running) -> None:
    answer = shared.client("shop").post("/v1/quotes", json=ask())
    assert answer.headers["cache-control"] == "no-store"
    assert "server" not in answer.headers


def test_a_budget_that_promises_little_is_warned_of(fresh: Running) -> None:
    assert fresh.client("admin").get("/v1/products/umbrella").json()["warnings"] == []
    weak = fresh.create(name="weak", epsilon=1000, delta=0.999)
    assert weak["warnings"] == fresh.client().get("/v1/products/weak").json()["warnings"]
    assert [each.split(" ")[0] for each in weak["warnings"]] == ["epsilon", "delta"]
    assert fresh.create(name="same", policy="fixed", epsilon=1000, delta=0.999)["warnings"] == []
