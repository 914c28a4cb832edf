"""Keys that expire, are for some products, or have a quota of quotes a day, which no outcome and no repeat uses up."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.service.conftest import as_quoter
from tests.service.http.limit_worlds import PURCHASES, REPORTS, Sold
from tests.service.http.running import KEYS, Running, ask, running

from hushprice.service.quoting.key_use import KeyUse
from hushprice.service.quoting.writer import Writer
from hushprice.service.shared import keys
from hushprice.service.shared.key_lines import key_lines
from hushprice.service.shared.problems import Problem
from hushprice.service.store import decisions, open_store
from hushprice.service.store.values import ApiKey

SHOP = ApiKey("shop", "shop", keys.digest(KEYS["shop"]))


def limit(server: Running, **limits: Any) -> None:
    """Give the shop's key limits, and let the service see them."""
    store = open_store(server.store, "learner")
    store.add_api_key(msgspec.structs.replace(SHOP, **limits))
    store.close()
    server.look()


def counted(server: Running) -> dict[str, int]:
    store = open_store(server.store, "learner")
    try:
        return store.key_use(decisions.today())
    finally:
        store.close()


def statuses(server: Running, count: int, **headers: str) -> list[int]:
    shop = server.client("shop")
    return [shop.post("/v1/quotes", json=ask(), headers=headers).status_code for _ in range(count)]


def test_a_key_gets_its_quota_and_no_more_also_after_a_restart(store_uri: str, tmp_path: Path) -> None:
    with running(store_uri, tmp_path, as_quoter(store_uri)) as server:
        server.create()
        limit(server, quota=5)
        assert statuses(server, 3) == [201] * 3
    with running(store_uri, tmp_path, as_quoter(store_uri)) as server:
        limit(server, quota=5)
        body = {"quotes": [ask(), {"product": "nothing"}, ask(), ask()]}
        items = server.client("shop").post("/v1/quotes/batch", json=body).json()["quotes"]
        assert ["error" in each for each in items] == [False, True, False, True]
        assert items[3]["error"]["code"] == "quota_used"
        refused = server.client("shop").post("/v1/quotes", json=ask())
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "quota_used")
        assert 1 <= int(refused.headers["retry-after"]) <= 86400
        assert server.client("other").post("/v1/quotes", json=ask()).status_code == 201
        assert counted(server)[SHOP.identity] == 5


def admitted(server: Running, sold: Sold, meanwhile: Callable[[dict[str, Any]], None]) -> list[int]:
    """Which of ten quotes get a price, at a quota of six, where `meanwhile` happens to the first one."""
    limit(server, quota=counted(server).get(SHOP.identity, 0) + 6)
    first = server.client("shop").post("/v1/quotes", json=sold.asked, headers={"idempotency-key": f"{time.time_ns()}"})
    meanwhile(first)
    return [first.status_code, *sold.ask_again(server, 9)]


@pytest.mark.parametrize("sold", [PURCHASES, REPORTS], ids=["purchase", "report"])
def test_neither_what_is_told_nor_a_request_told_again_uses_up_a_later_quote(either: Running, sold: Sold) -> None:
    """The two worlds at the edge of the quota: only one customer buys, or reports, and reloads the page before."""
    either.client("admin").post("/v1/products", json=sold.product)  # it may be there

    def nothing(first: Any) -> None:
        pass

    def tell(first: Any) -> None:
        name = "idempotency-key"
        again = either.client("shop").post("/v1/quotes", json=sold.asked, headers={name: first.request.headers[name]})
        assert again.status_code == 200
        assert sold.tell(either, first.json(), 3) == [200] * 3

    alone = admitted(either, sold, nothing)
    assert alone == [201] * 6 + [429] * 4
    assert admitted(either, sold, tell) == alone


@pytest.mark.parametrize("bug", ["outcomes count", "repeats count"])
def test_a_quota_that_a_customer_can_move_is_found_out(
    fresh: Running, bug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use = fresh.service.product_table.key_use
    limited = msgspec.structs.replace(SHOP, quota=1)
    if bug == "outcomes count":
        outcome = Writer.outcome
        monkeypatch.setattr(Writer, "outcome", lambda self, new: use.add(limited) or outcome(self, new))
    else:
        check, add = KeyUse.check, KeyUse.add
        monkeypatch.setattr(KeyUse, "check", lambda self, key: check(self, key) or add(self, key))
        monkeypatch.setattr(KeyUse, "add", lambda self, key: None)
    with pytest.raises(AssertionError):
        test_neither_what_is_told_nor_a_request_told_again_uses_up_a_later_quote(fresh, PURCHASES)


def test_what_several_processes_have_given_counts_and_a_new_day_begins_at_nothing(
    monkeypatch: pytest.MonkeyPatch, store_uri: str
) -> None:
    store = open_store(store_uri, "learner")
    key, use = msgspec.structs.replace(SHOP, quota=3), KeyUse()
    use.add(key)
    store.note_key_use([key.identity], decisions.today())
    use.refresh(store, quotas=True)
    use.check(key)  # one, which the store has not counted yet
    monkeypatch.setattr(type(store), "key_use", lambda self, day: {key.identity: 3})
    use.refresh(store, quotas=True)
    with pytest.raises(Problem, match="quota_used"):
        use.check(key)
    tomorrow = decisions.today() + 1
    monkeypatch.setattr(decisions, "today", lambda: tomorrow)
    use.check(key)
    use.check(SHOP)
    store.close()


def test_a_key_is_refused_from_the_day_it_expires(fresh: Running) -> None:
    limit(fresh, expires=time.time() + 1000.0)
    assert statuses(fresh, 1) == [201]
    limit(fresh, expires=time.time() - 0.001)
    refused = fresh.client("shop").post("/v1/quotes", json=ask())
    unknown = fresh.client().post("/v1/quotes", json=ask(), headers={"x-api-key": "hp_shop_nobodys"})
    assert refused.status_code == unknown.status_code == 401
    assert refused.content == unknown.content


def test_a_key_quotes_the_products_it_is_for(fresh: Running) -> None:
    fresh.create(name="parasol")
    limit(fresh, products=("parasol",))
    shop = fresh.client("shop")
    refused = shop.post("/v1/quotes", json=ask())
    assert (refused.status_code, refused.json()["error"]["field"]) == (403, "product")
    assert shop.post("/v1/quotes", json=ask(product="parasol")).status_code == 201
    batch = shop.post("/v1/quotes/batch", json={"quotes": [ask(), ask(product="parasol")]}).json()["quotes"]
    assert ["error" in each for each in batch] == [True, False]


def test_the_last_use_of_a_key_is_a_day_and_is_not_moved_by_an_outcome(
    either: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    quoted = either.client("shop").post("/v1/quotes", json=ask()).json()
    either.look()
    store = open_store(either.store, "learner")
    today = decisions.today()
    assert store.last_use()[SHOP.identity] == today
    assert any(decisions.day_name(today) in line for line in key_lines(store))
    assert any("auditor\t" in line and "never used" in line for line in key_lines(store))
    monkeypatch.setattr(decisions, "today", lambda: today + 1)
    path = f"/v1/quotes/{quoted['id']}/outcome"
    assert either.client("shop").post(path, json={"purchased": True}).status_code == 200
    either.look()
    assert store.last_use()[SHOP.identity] == today
    assert either.client("shop").get("/v1/products").status_code == 200
    either.look()
    assert store.last_use()[SHOP.identity] == today + 1
    store.close()
