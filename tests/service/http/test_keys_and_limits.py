"""Who may do what, and how often."""

from __future__ import annotations

import httpx
import pytest
from tests.service.http.hostile import answer, connect, wire
from tests.service.http.running import KEYS, PRODUCT, Running, ask, running
from tests.waiting import eventually

from hushprice.service.http import endpoint
from hushprice.service.http.routes.table import CALLS
from hushprice.service.quoting.product_table import POLL
from hushprice.service.shared import key_changes
from hushprice.service.store import open_store

BODIES = {
    "quote": ask(),
    "quote_batch": {"quotes": [ask()]},
    "outcome": {"purchased": True},
    "create_product": PRODUCT,
    "set_rules": {},
    "set_reference_price": {"price": 20.0},
    "forget_customer": {"customer": "nobody"},
}
ALLOWED = {
    "shop": {"quote", "quote_batch", "outcome", "belief", "device_report", "products", "product"},
    "auditor": {
        "belief",
        "products",
        "product",
        "all_privacy",
        "privacy",
        "certificate",
        "report",
        "prices",
        "demand",
        "health",
        "metrics",
    },
}
FREE = {"healthz", "readyz", "readyz_learning"}


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory):
    """A server whose page is not open."""
    folder = tmp_path_factory.mktemp("closed")
    with running(str(folder / "shop.db"), folder, open_page=False) as made:
        made.create()
        yield made


def asked(server: Running, name: str, **more: object) -> httpx.Response:
    call = next(call for call in CALLS if call.name == name)
    path = call.path.replace("{name}", "umbrella").replace("{id}", "0" * 32)
    return server.client().request(call.method, path, json=BODIES.get(name), **more)


@pytest.mark.parametrize("name", [call.name for call in CALLS])
def test_every_call_asks_for_a_key_of_its_role(closed: Running, name: str) -> None:
    if name in FREE:
        assert asked(closed, name).status_code in (200, 503)
        return
    nobody = asked(closed, name)
    wrong = asked(closed, name, headers={"authorization": f"Bearer {KEYS['shop']}x"})
    assert nobody.status_code == wrong.status_code == 401
    assert nobody.content == wrong.content
    for role, allowed in ALLOWED.items():
        status = asked(closed, name, headers={"x-api-key": KEYS[role]}).status_code
        assert (status == 403) == (name not in allowed), (role, status)
        assert status != 401
    assert asked(closed, name, headers={"authorization": f"bearer {KEYS['admin']}"}).status_code not in (401, 403)


@pytest.mark.parametrize("name", ["products", "product", "all_privacy", "privacy", "report", "prices", "demand"])
def test_public_figures_need_no_key_where_the_page_is_open(shared: Running, name: str) -> None:
    assert asked(shared, name).status_code == 200
    assert asked(shared, name, headers={"authorization": "Bearer wrong"}).status_code == 401


@pytest.mark.parametrize("given", ["Basic YTpi", "Bearer", "Bearer x", "\u00e9"])
def test_other_ways_to_sign_in_are_none(shared: Running, given: str) -> None:
    answer = asked(shared, "quote", headers={"authorization": given.encode("latin-1")})
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")


def test_unit_costs_are_shown_to_an_admin_alone(fresh: Running) -> None:
    fresh.create(name="costly", unit_cost=3.0)
    assert fresh.client().get("/v1/products/costly").json()["unit_cost"] is None
    assert fresh.client("shop").get("/v1/products/costly").json()["unit_cost"] is None
    assert fresh.client("admin").get("/v1/products/costly").json()["unit_cost"] == 3.0


def test_a_key_that_asks_too_often_is_told_when_to_come_back(tmp_path) -> None:
    # So slow that no token comes back meanwhile, on whatever machine.
    with running(str(tmp_path / "shop.db"), tmp_path, rate_per_second=1e-4) as server:
        server.create()
        shop = server.client("shop")
        statuses = [shop.get("/v1/products").status_code for _ in range(105)]
        assert statuses == [200] * 100 + [429] * 5
        assert [shop.post("/v1/quotes", json=ask()).status_code for _ in range(100)] == [201] * 100  # a bucket apart
        refused = shop.post("/v1/quotes", json=ask())
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too_many_requests")
        assert int(refused.headers["retry-after"]) >= 1
        assert server.client("other").post("/v1/quotes", json=ask()).status_code == 201  # a bucket of its own
        whole = server.client("other").post("/v1/quotes/batch", json={"quotes": [ask()] * 100})
        assert whole.status_code == 429  # a batch takes a token for every quote


def test_a_removed_key_stops_working_within_a_second(fresh: Running) -> None:
    store = open_store(fresh.store, "learner")
    store.remove_api_key("other")
    store.close()
    eventually(lambda: fresh.client("other").post("/v1/quotes", json=ask()).status_code == 401)
    assert POLL < 1.0  # how often the service looks
    assert fresh.client("shop").post("/v1/quotes", json=ask()).status_code == 201


def test_a_key_is_looked_up_again_where_a_body_took_long(fresh: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise who has a key that is about to be removed begins as many requests as there are places."""
    monkeypatch.setattr(endpoint, "STALE", 0.0)
    sent = wire(key="other")
    with connect(fresh.url) as begun:
        begun.sendall(sent[:-1])
        eventually(lambda: fresh.service.connections.with_key.by_key["other"] == 1)
        store = open_store(fresh.store, "learner")
        store.remove_api_key("other")
        store.close()
        fresh.look()
        begun.sendall(sent[-1:])
        assert answer(begun)[0] == 401


def test_a_key_that_gets_the_name_of_a_removed_one_gets_none_of_its_quotes(either: Running) -> None:
    store = open_store(either.store, "learner")
    headers, asked, told = [], [], []
    for _ in range(2):
        key = key_changes.add(store, "web-shop", "shop").reveal()
        headers.append({"authorization": f"Bearer {key}", "idempotency-key": "basket-1"})
        asked.append(_once_known(either, headers[-1]))
        path = f"/v1/quotes/{asked[0]['id']}/outcome"
        told.append(either.client().post(path, json={"purchased": False}, headers=headers[-1]).status_code)
        key_changes.remove(store, "web-shop")
    store.close()
    assert asked[0]["id"] != asked[1]["id"]
    assert told == [200, 404]


def _once_known(server: Running, headers: dict[str, str]) -> dict[str, str]:
    """Quoters look for new keys twice a second."""

    def asked() -> httpx.Response | None:
        answer = server.client().post("/v1/quotes", json=ask(), headers=headers)
        return None if answer.status_code == 401 else answer

    answer = eventually(asked)
    assert answer is not None
    assert answer.status_code == 201
    return dict(answer.json())
