"""Price maps are for anybody: drawn once for each release, paid for by size, and no reader is in another's way."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.service.http.limit_worlds import NO_REFILL
from tests.service.http.running import Running, ask, running
from tests.waiting import PATIENCE, eventually

from hushprice.service.quoting import map_cache

TWO_NUMBERS = {
    "attributes": [{"kind": "number", "name": name, "low": 0, "high": 1} for name in ("hours", "distance", "weight")]
}
PATH = "/v1/products/parcel/prices"


@pytest.fixture
def poor(tmp_path: Path) -> Iterator[Running]:
    """A server whose readers have 100 tokens, once and for all."""
    with running(str(tmp_path / "shop.db"), tmp_path, rate_per_second=NO_REFILL) as made:
        made.create()
        made.create(name="parcel", schema=TWO_NUMBERS)
        yield made


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The plans of the maps that were drawn."""
    plans, real = [], map_cache.draw_map

    def draw(priced: Any, plan: Any, rest: Any) -> Any:
        plans.append(plan)
        return real(priced, plan, rest)

    monkeypatch.setattr(map_cache, "draw_map", draw)
    return plans


def test_a_map_is_drawn_once_until_prices_change(fresh: Running, drawn: list[Any]) -> None:
    path = "/v1/products/umbrella/prices?x=age&y=region"
    first, again = fresh.client().get(path), fresh.client("auditor").get(f"{path}&steps=24")
    assert (first.status_code, first.content, len(drawn)) == (200, again.content, 1)
    fresh.quote()
    fresh.look()
    assert fresh.client().get(path).content == first.content
    assert len(drawn) == 1  # a quote changes no price
    fresh.client("admin").post("/v1/products/umbrella/freeze")
    assert {price for row in fresh.client().get(path).json()["prices"] for price in row} == {20.0}
    assert len(drawn) == 2


def test_few_maps_are_kept(fresh: Running, drawn: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(map_cache, "KEPT", 2)
    for steps in (2, 3, 2, 4, 2, 3):  # 3 is the oldest when 4 comes
        fresh.client().get(f"/v1/products/umbrella/prices?steps={steps}")
    assert [len(plan.across.values) for plan in drawn] == [2, 3, 4, 3]


def test_a_reader_pays_for_a_map_by_its_size_and_little_for_one_that_is_there(poor: Running) -> None:
    reader = poor.client()
    asked = [f"{PATH}?x=hours&y={y}&steps=48" for y in ("distance", "weight", "distance")]
    assert [reader.get(each).status_code for each in asked] == [200] * 3  # 47 + 47 + 1 of 100
    refused = reader.get(f"{PATH}?x=distance&y=weight&steps=48")
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too_many_requests")


def test_readers_do_not_use_up_each_others_tokens_nor_a_quotes(poor: Running) -> None:
    greedy = poor.client()
    assert [greedy.get("/v1/products").status_code for _ in range(101)] == [200] * 100 + [429]
    with httpx.Client(
        base_url=poor.url, timeout=PATIENCE, transport=httpx.HTTPTransport(local_address="127.0.0.2")
    ) as other:
        assert other.get("/v1/products").status_code == 200
    # Behind a proxy on this machine the reader is who the proxy says.
    assert greedy.get("/v1/products", headers={"x-forwarded-for": "192.0.2.7"}).status_code == 200
    assert poor.client("auditor").get("/v1/products").status_code == 200
    assert poor.client("shop").post("/v1/quotes", json=ask()).status_code == 201


def test_who_asks_for_a_map_that_is_being_drawn_waits_for_it_and_few_wait(
    fresh: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, may, real = threading.Event(), threading.Event(), map_cache.draw_map

    def draw(*given: Any) -> Any:
        began.set()
        assert may.wait(PATIENCE)
        return real(*given)

    monkeypatch.setattr(map_cache, "draw_map", draw)
    monkeypatch.setattr(map_cache, "WAITING", 1)
    path, service = "/v1/products/umbrella/prices", fresh.service
    with ThreadPoolExecutor(2) as readers:
        first = readers.submit(fresh.client().get, path)
        assert began.wait(PATIENCE)
        same = readers.submit(fresh.client().get, path)
        refused = fresh.client().get(f"{path}?x=member")
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "busy")
        assert fresh.quote()["recorded"] is True
        may.set()
        assert first.result().content == same.result().content
    assert first.result().status_code == 200
    eventually(lambda: not service.maps._drawing)
    assert fresh.client().get(f"{path}?x=member").status_code == 200
