"""Who has no key waits for a turn, all addresses together; who has one does not notice."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.service.http.running import Running, ask

from hushprice.service.http import visitor_queues
from hushprice.service.http.visitor_queues import PacedQueue


@pytest.fixture
def one_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line has one turn, and the next one beyond anybody's patience."""
    monkeypatch.setattr(visitor_queues, "A_SECOND", 1e-6)


def read(server: Running, path: str, address: int, **headers: str) -> Any:
    return server.client().get(path, headers={"x-forwarded-for": f"192.0.2.{address}", **headers})


def test_turns_are_evenly_spread_and_nobody_waits_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visitor_queues, "A_SECOND", 4.0)
    monkeypatch.setattr(visitor_queues, "LONGEST", 1.0)
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async def all_at_once(queue: PacedQueue) -> list[float]:
        now = asyncio.get_running_loop().time()
        monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now)
        return [await queue.wait() for _ in range(7)]

    monkeypatch.setattr(visitor_queues.asyncio, "sleep", sleep)
    refused = asyncio.run(all_at_once(PacedQueue()))
    assert waits == pytest.approx([0.25, 0.5, 0.75, 1.0])
    assert refused == pytest.approx([0.0] * 5 + [1.25] * 2)  # who was refused has taken no turn


@pytest.mark.usefixtures("one_turn")
@pytest.mark.parametrize("path", ["/v1/products/umbrella/prices", "/", "/openapi.json", "/nothing"])
def test_who_has_many_addresses_has_one_line(fresh: Running, path: str) -> None:
    assert read(fresh, "/v1/products", 1).status_code == 200
    refused = read(fresh, path, 2)
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) > 1
    assert read(fresh, "/v1/products", 3, **{"x-api-key": "guessed"}).json()["error"]["code"] == "too_many_visitors"
    assert fresh.client().post("/v1/quotes", json=ask()).status_code == 429


@pytest.mark.usefixtures("one_turn")
def test_keys_and_health_wait_for_no_visitor(fresh: Running) -> None:
    for address in range(3):
        read(fresh, "/v1/products", address)
    assert read(fresh, "/readyz", 4).status_code == 200
    assert read(fresh, "/healthz", 5).status_code == 429  # they wait for each other
    for _ in range(2):
        assert fresh.quote()["recorded"] is True
        assert fresh.client("auditor").get("/v1/products/umbrella/prices").status_code == 200
        assert fresh.client("admin").post("/v1/products/umbrella/freeze").status_code == 200


def after_outcomes(server: Running, count: int) -> int:
    """What a reader gets after so many outcomes without a key, which a purchase may have caused."""
    for _ in range(count):
        server.client().post(f"/v1/quotes/{'0' * 32}/outcome", json={"purchased": True})
    return int(read(server, "/v1/products", 1).status_code)


@pytest.mark.usefixtures("one_turn")
def test_an_outcome_without_a_key_takes_no_readers_turn(fresh: Running) -> None:
    assert after_outcomes(fresh, 2) == 200


@pytest.mark.usefixtures("one_turn")
def test_one_line_for_both_would_be_noticed(fresh: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug of the test above."""
    lines = fresh.service.visitor_queues
    monkeypatch.setattr(lines.of_records, "wait", lines.reads.wait)
    assert after_outcomes(fresh, 2) == 429
