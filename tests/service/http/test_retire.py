"""A retired product: nothing is quoted, what was quoted is learned, and its name is never used again."""

from __future__ import annotations

from tests.service.http.running import PRODUCT, Running, ask
from tests.waiting import eventually

from hushprice.service.store import open_store


def test_a_retired_product_gives_no_quotes_and_stays_in_sight(either: Running) -> None:
    admin, shop = either.client("admin"), either.client("shop")
    quote = either.quote()
    assert shop.post("/v1/products/umbrella/retire").status_code == 403
    answer = admin.post("/v1/products/umbrella/retire")
    assert (answer.status_code, answer.json()["status"]) == (200, "retired")
    refused = shop.post("/v1/quotes", json=ask())
    assert (refused.status_code, refused.json()["error"]["code"]) == (410, "product_retired")
    (item,) = shop.post("/v1/quotes/batch", json={"quotes": [ask()]}).json()["quotes"]
    assert (item["error"]["code"], item["error"]["field"]) == ("product_retired", "quotes.0.product")
    assert shop.post(f"/v1/quotes/{quote['id']}/outcome", json={"purchased": True}).status_code == 200
    report = admin.get("/v1/products/umbrella/report").json()
    assert (report["status"], report["learning_ended"], report["changes"][-1]["what"]) == (
        "retired",
        "retired",
        "retire",
    )
    assert admin.get("/v1/products/umbrella/privacy").json()["learning_ended"] == "retired"
    metrics = either.client("auditor").get("/metrics").text
    assert 'hushprice_learning_ended{product="umbrella",why="retired"} 1' in metrics
    assert 'hushprice_horizon_left{product="umbrella"} 0' in metrics


def test_an_idempotency_key_gets_its_first_answer_again_after_retirement(either: Running) -> None:
    shop, header = either.client("shop"), {"idempotency-key": "order-18"}
    first = shop.post("/v1/quotes", json=ask(), headers=header)
    assert either.client("admin").post("/v1/products/umbrella/retire").status_code == 200
    again = shop.post("/v1/quotes", json=ask(), headers=header)
    assert (first.status_code, again.status_code, again.json()) == (201, 200, first.json())
    other = shop.post("/v1/quotes", json=ask(customer="another"), headers=header)
    assert (other.status_code, other.json()["error"]["code"]) == (409, "idempotency_conflict")
    new = shop.post("/v1/quotes", json=ask(), headers={"idempotency-key": "order-19"})
    assert (new.status_code, new.json()["error"]["code"]) == (410, "product_retired")
    assert shop.get("/v1/products/umbrella").json()["quotes"] == 1


def test_after_a_customer_is_forgotten_their_key_has_no_answer_left(fresh: Running) -> None:
    admin, shop, header = fresh.client("admin"), fresh.client("shop"), {"idempotency-key": "order-20"}
    asked = ask(customer="ann")
    assert shop.post("/v1/quotes", json=asked, headers=header).status_code == 201
    admin.post("/v1/products/umbrella/retire")
    assert shop.post("/v1/quotes", json=asked, headers=header).status_code == 200
    assert admin.post("/v1/customers/forget", json={"customer": "ann"}).status_code == 200
    assert shop.post("/v1/quotes", json=asked, headers=header).status_code == 410


def test_a_retired_product_is_never_changed_or_made_again(fresh: Running) -> None:
    admin = fresh.client("admin")
    for _ in range(2):  # again is no change
        assert admin.post("/v1/products/umbrella/retire").json()["status"] == "retired"
    assert len(admin.get("/v1/products/umbrella/report").json()["changes"]) == 1
    for path in ("freeze", "resume"):
        assert admin.post(f"/v1/products/umbrella/{path}").status_code == 409
    assert admin.put("/v1/products/umbrella/rules", json={}).status_code == 409
    assert admin.put("/v1/products/umbrella/reference-price", json={"price": 12.0}).status_code == 409
    assert admin.post("/v1/products", json=PRODUCT).status_code == 409
    assert admin.get("/v1/products/umbrella").json()["status"] == "retired"


def test_another_quoter_retires_a_product_when_it_looks(fresh: Running) -> None:
    store = open_store(fresh.store, "learner")
    store.retire("umbrella", 1.0)
    store.close()
    eventually(lambda: fresh.client("shop").post("/v1/quotes", json=ask()).status_code == 410)
