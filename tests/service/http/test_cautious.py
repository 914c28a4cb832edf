"""A product of policy cautious over real connections, on SQLite and on PostgreSQL: declared, quoted, learned, shown."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.service.clock import pass_deadlines
from tests.service.http.running import Running

from hushprice.policies.verification import verify
from hushprice.privacy.certificates.certificate import Certificate
from hushprice.service.learning.loop import LearningLoop
from hushprice.service.store import consistency, open_store

SCARF: dict[str, Any] = {
    "name": "scarf",
    "currency": "EUR",
    "floor": 20.0,
    "ceiling": 30.0,
    "reference_price": 25.0,
    "conversion": 0.4,
    "contexts": 2,
    "epsilon": 100.0,
    "risk": 0.1,
    "most": 2.0,
}
COUNT = 60


def quoted(running: Running) -> list[dict[str, Any]]:
    contexts = np.random.default_rng(1).uniform(-1.0, 1.0, (COUNT, 2)).tolist()
    asked = [{"product": "scarf", "context": context} for context in contexts]
    answer = running.client("shop").post("/v1/quotes/batch", json={"quotes": asked})
    return list(answer.json()["quotes"])


def learn(running: Running) -> None:
    pass_deadlines(running.store)
    with contextlib.closing(open_store(running.store, "learner")) as store:
        learning = LearningLoop(store, signing_key=Ed25519PrivateKey.generate())
        learning.turn()
        store.drop_lease(learning.holder)
        assert consistency.problems(store) == []
    running.look()


def test_a_shop_declares_what_it_knows_and_prices_follow_what_is_learned(either: Running) -> None:
    admin, shop, anybody = either.client("admin"), either.client("shop"), either.client()
    made = admin.post("/v1/products", json=SCARF)
    assert made.status_code == 201, made.text
    assert {made.json()[name] for name in ("policy", "bound")} == {"cautious", 2.0}
    before = quoted(either)
    prices = {each["price"] for each in before}
    assert len(prices) == 2  # a coin around today's price
    assert all(20.0 <= price <= 30.0 for price in prices)
    assert {each["propensity"] for each in before} == {0.5}
    told = shop.post(f"/v1/quotes/{before[0]['id']}/outcome", json={"quantity": 2})
    assert told.status_code == 200, told.text
    too_much = shop.post(f"/v1/quotes/{before[1]['id']}/outcome", json={"quantity": 3})
    assert too_much.status_code == 422
    privacy = anybody.get("/v1/products/scarf/privacy").json()
    assert (privacy["policy"], privacy["releases"], privacy["next_release_after_slot"]) == ("cautious", 0, 48)

    learn(either)

    privacy = anybody.get("/v1/products/scarf/privacy").json()
    assert (privacy["releases"], privacy["versions"], privacy["learned"]) == (1, 1, 48)
    assert privacy["spent"] == privacy["proven"]
    curve = anybody.get("/v1/products/scarf/demand", params={"x1": 0.5}).json()
    assert (curve["prices"][0], curve["prices"][-1]) == (20.0, 30.0)
    assert 0.0 < curve["demand"][0] < 2.0
    assert all(low < high for low, high in zip(curve["low"], curve["high"], strict=True))
    assert anybody.get("/v1/products/scarf/prices?x=x1&y=x2&steps=3").status_code == 200
    kinds = [each["kind"] for each in anybody.get("/v1/products/scarf/report").json()["releases"]]
    assert kinds == ["moments"]
    certificate = Certificate.parse(anybody.get("/v1/products/scarf/certificate").content)
    assert verify(certificate).claimed.epsilon == 100.0
    assert {each["version"] for each in quoted(either)} == {1}


def test_a_frozen_product_charges_todays_price(fresh: Running) -> None:
    admin = fresh.client("admin")
    assert admin.post("/v1/products", json=SCARF).status_code == 201
    assert admin.post("/v1/products/scarf/freeze").json()["status"] == "frozen"
    assert {each["price"] for each in quoted(fresh)} == {25.0}


def test_an_idempotent_quote_tells_its_propensity_again(fresh: Running) -> None:
    fresh.client("admin").post("/v1/products", json=SCARF | {"holdout": 0.25})
    shop, asked = fresh.client("shop"), {"product": "scarf", "context": [0.0, 0.5]}
    first, again = (shop.post("/v1/quotes", json=asked, headers={"Idempotency-Key": "k"}).json() for _ in range(2))
    assert first == again
    assert first["propensity"] == (0.25 if first["price"] == 25.0 else 0.375)


def test_what_a_shop_cannot_mean_is_refused_by_the_field(fresh: Running) -> None:
    answer = fresh.client("admin").post("/v1/products", json={**SCARF, "floor": 26.0})
    assert answer.status_code == 422
    assert "floor" in answer.json()["error"]["message"]


VISITORS = {
    "attributes": [
        {"kind": "category", "name": "region", "levels": ["city", "country"]},
        {"kind": "number", "name": "age", "low": 18, "high": 90},
        {"kind": "boolean", "name": "member"},
    ]
}
UNKNOWN: list[dict[str, Any]] = [
    {"region": "moon", "age": 40, "member": True},  # a level that nobody declared
    {"region": "city", "member": False},  # a value that is missing
    {"region": None, "age": None, "member": None},  # the same, said
    {},
]


def test_levels_nobody_declared_and_values_nobody_gave_have_a_price(fresh: Running) -> None:
    admin, shop = fresh.client("admin"), fresh.client("shop")
    declared = {**SCARF, "contexts": None, "schema": VISITORS, "name": "shawl"}
    assert admin.post("/v1/products", json=declared).status_code == 201
    for attributes in UNKNOWN:
        answer = shop.post("/v1/quotes", json={"product": "shawl", "attributes": attributes})
        assert answer.status_code == 201, answer.text
        assert 20.0 <= answer.json()["price"] <= 30.0
    misspelt = shop.post("/v1/quotes", json={"product": "shawl", "attributes": {"regoin": "city"}})
    assert misspelt.status_code == 422  # what nobody declared at all is a mistake
    curve = fresh.client().get("/v1/products/shawl/demand", params={"region": "country"})
    assert curve.status_code == 200


def test_a_shop_may_refuse_them_and_other_policies_do(fresh: Running) -> None:
    admin, shop = fresh.client("admin"), fresh.client("shop")
    strict = {**SCARF, "contexts": None, "schema": {**VISITORS, "unknown": "refuse"}, "name": "strict"}
    assert admin.post("/v1/products", json=strict).status_code == 201
    paper = {"name": "paper", "currency": "EUR", "ceiling": 40.0, "schema": VISITORS}
    assert admin.post("/v1/products", json=paper).status_code == 201
    for product in ("strict", "paper"):
        for attributes in UNKNOWN:
            answer = shop.post("/v1/quotes", json={"product": product, "attributes": attributes})
            assert answer.status_code == 422, answer.text


def test_a_range_of_elasticities_is_one_of_two_numbers(fresh: Running) -> None:
    admin = fresh.client("admin")
    made = admin.post("/v1/products", json={**SCARF, "name": "wide", "elasticity": [1.0, 4.0]})
    assert made.status_code == 201, made.text
    assert made.json()["elasticity"] == [1.0, 4.0]
    sure = admin.post("/v1/products", json={**SCARF, "name": "sure", "elasticity": [1.9, 2.1]})
    assert sure.status_code == 201, sure.text
    wide, narrow = (
        fresh.client().get(f"/v1/products/{name}/demand").json() for name in ("wide", "sure")
    )  # around the same response, and less sure of it
    assert wide["demand"] == pytest.approx(narrow["demand"], rel=1e-2)
    assert wide["high"][-1] > narrow["high"][-1]
    for wrong, said in (([4.0, 1.0], "elasticity[0] must be below"), ([1.0, 2.0, 3.0], "length 2"), (-1.0, "positive")):
        answer = admin.post("/v1/products", json={**SCARF, "name": "wrong", "elasticity": wrong})
        assert answer.status_code == 422
        assert said in answer.json()["error"]["message"]
        assert answer.json()["error"]["field"].startswith("elasticity")
