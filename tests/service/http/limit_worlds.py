"""Two worlds at the edge of every limit: a buyer tells of a purchase or does not, or a device sends its report or not.

Each returns what others see.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.service.http.running import PRODUCT, Running, ask, running
from tests.service.http.test_local_trust import TEA
from tests.service.store.samples import quote as new_quote
from tests.waiting import PATIENCE, eventually

from hushprice.service.quoting import recent_keys, writer
from hushprice.service.quoting.writer import Writer
from hushprice.service.shared.rate_limits import LARGEST_BATCH, PREPAID
from hushprice.service.store import open_store
from hushprice.service.store.protocol import StoreUnavailable
from hushprice.service.store.values import UNPRICED, NewOutcome, NewQuote

NO_REFILL = 1e-4  # tokens a second: none comes back while a test runs, on whatever machine


class Sold(NamedTuple):
    """What is sold, and how it is told what became of a quote."""

    product: dict[str, Any]
    asked: dict[str, Any]
    call: str
    told: dict[str, Any]

    @contextmanager
    def serving(self, folder: Path, **settings: Any) -> Iterator[Running]:
        with running(str(folder / "shop.db"), folder, **settings) as server:
            assert server.client("admin").post("/v1/products", json=self.product).status_code == 201
            yield server

    def quote(self, server: Running) -> dict[str, Any]:
        answer = server.client("shop").post("/v1/quotes", json=self.asked)
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def tell(self, server: Running, quote: dict[str, Any], times: int = 1, key: str = "shop") -> list[int]:
        client, path = server.client(key), f"/v1/quotes/{quote['id']}/{self.call}"
        return [client.post(path, json=self.told).status_code for _ in range(times)]

    def use_up(self, server: Running, tokens: int) -> int:
        """A batch of so many quotes."""
        return server.client("shop").post("/v1/quotes/batch", json={"quotes": [self.asked] * tokens}).status_code

    def ask_again(self, server: Running, times: int, **headers: str) -> list[int]:
        client = server.client("shop")
        return [client.post("/v1/quotes", json=self.asked, headers=headers).status_code for _ in range(times)]

    @property
    def by_devices(self) -> bool:
        return self.call == "report"

    def new_quote(self) -> NewQuote:
        """Straight for a writer."""
        return new_quote(price=UNPRICED) if self.by_devices else new_quote()

    def outcome(self, quote: NewQuote, told: float = 1.0) -> NewOutcome:
        return NewOutcome(quote.id, "shop", told, report=self.by_devices)


PURCHASES = Sold(PRODUCT, ask(), "outcome", {"purchased": True})
REPORTS = Sold(TEA, {"product": "tea"}, "report", {"about": 0, "up": True})
World = Callable[[Path, Sold, bool], Any]


def rate_limit(folder: Path, sold: Sold, tells: bool) -> Any:
    """A key's bucket holds 100 quotes, and nothing but quotes takes from it."""
    with sold.serving(folder, rate_per_second=NO_REFILL) as server:
        buyer = sold.quote(server)
        sold.use_up(server, LARGEST_BATCH - 6)
        sold.tell(server, buyer, 3 * tells)
        return sold.ask_again(server, 6)


def batch_size(folder: Path, sold: Sold, tells: bool) -> Any:
    """A batch that takes the last tokens there are."""
    with sold.serving(folder, rate_per_second=NO_REFILL) as server:
        buyer = sold.quote(server)
        sold.tell(server, buyer, int(tells))
        return sold.use_up(server, LARGEST_BATCH - 1), sold.ask_again(server, 1)


def outcome_calls(folder: Path, sold: Sold, tells: bool) -> Any:
    """What one quote's outcome calls take, no other quote's do; nor do calls about quotes that never were."""
    with sold.serving(folder, rate_per_second=NO_REFILL) as server:
        buyer, other = sold.quote(server), sold.quote(server)
        sold.use_up(server, LARGEST_BATCH - 4)
        sold.tell(server, buyer, 2 * PREPAID * tells)
        sold.tell(server, {"id": "0" * 32}, (LARGEST_BATCH + 1) * tells)
        return sold.tell(server, other, PREPAID), sold.ask_again(server, 4)


def idempotency_memory(folder: Path, sold: Sold, tells: bool) -> Any:
    """A process that remembers two keys is asked for them while the store is away."""
    with pytest.MonkeyPatch.context() as patch, sold.serving(folder) as server:
        patch.setattr(recent_keys, "REMEMBERED", 2)
        path, keys = "/v1/quotes", [{"idempotency-key": f"basket {n}"} for n in range(4)]
        given = [server.client("shop").post(path, json=sold.asked, headers=each).json() for each in keys[:3]]
        for each in given:
            sold.tell(server, each, int(tells))
        leave(server)
        return [server.client("shop").post(path, json=sold.asked, headers=each).status_code for each in keys]


def outage_buffer(folder: Path, sold: Sold, tells: bool) -> Any:
    """While the store is away two quotes are kept for it, and outcomes are refused."""
    with pytest.MonkeyPatch.context() as patch, sold.serving(folder) as server:
        patch.setattr(writer, "BUFFER", 2)
        buyer = sold.quote(server)
        leave(server)
        refused = sold.tell(server, buyer, (PREPAID + 2) * tells)  # not one of them is charged
        during = [sold.quote(server) for _ in range(4)]
        with pytest.raises(StoreUnavailable):  # comes after them: all were looked at
            asyncio.run_coroutine_threadsafe(_nothing(server), server.loop).result()
        come_back(server)
        eventually(lambda: sold.tell(server, buyer) == [200])
        assert refused == [503] * len(refused)
        return [sold.tell(server, each) for each in during]


def failing_outcomes(folder: Path, sold: Sold, tells: bool) -> Any:
    """An outcome that cannot be stored does not make the store count as away, not even for a moment."""
    left, real = [], Writer._set_away

    def set_away(self: Writer, problem: Any) -> None:
        left.append(problem is not None)
        real(self, problem)

    with pytest.MonkeyPatch.context() as patch, sold.serving(folder) as server:
        buyer = sold.quote(server)
        patch.setattr(Writer, "_set_away", set_away)
        server.service.writer._outcomes.store._connection.execute("PRAGMA query_only = ON")  # type: ignore[attr-defined]
        assert sold.tell(server, buyer, int(tells)) == [503] * tells
        key = {"idempotency-key": "a basket of the next customer"}
        answer = server.client("shop").post("/v1/quotes", json=sold.asked, headers=key)
        return answer.status_code, answer.json()["recorded"], any(left)


async def _nothing(server: Running) -> None:
    await server.service.writer.call(lambda store: None)


class SlowStore:
    """The real store, whose first write waits until it may; it notes which quotes were written together."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.may, self.began = threading.Event(), threading.Event()
        self.together: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def write(self, quotes: Sequence[Any], outcomes: Sequence[Any]) -> Any:
        self.began.set()
        assert self.may.wait(PATIENCE)
        if quotes:
            self.together.append(len(quotes))
        return self._store.write(quotes, outcomes)


def writer_queue(folder: Path, sold: Sold, tells: bool) -> Any:
    """Three items a transaction: which quotes are stored together, and when a quote would have to wait."""
    path = str(folder / "shop.db")
    with open_sqlite(path) as store, pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "LARGEST", 3)
        patch.setattr(writer, "PATIENCE", PATIENCE)
        patch.setattr(writer, "BUFFER", 21)
        slow = SlowStore(store)

        async def main() -> Any:
            made = Writer(slow, open_store(path, "quoter"))
            first = sold.new_quote()
            futures: list[Any] = [made.quote(first)]
            await asyncio.to_thread(slow.began.wait, PATIENCE)
            crowded = []
            for _ in range(10):
                futures.append(made.quote(sold.new_quote()))
                futures += [made.outcome(sold.outcome(first)) for _ in range(2 * tells)]
                crowded.append(made.crowded)
            # One that no store takes is refused alone.
            bad = [made.outcome(sold.outcome(first, float("nan"))) for _ in range(tells)]
            slow.may.set()
            await asyncio.gather(*futures)
            await asyncio.gather(*bad, return_exceptions=True)
            await made.close()
            return crowded, slow.together

        return asyncio.run(main())


@contextmanager
def open_sqlite(path: str) -> Iterator[Any]:
    store = open_store(path, "learner")
    store.add_product("jacket", b"{}", b"{}", 1000.0)
    yield store


def leave(server: Running) -> None:
    """The store leaves: its next write fails, which is a quote's."""
    server.service.writer._store._connection.execute("PRAGMA query_only = ON")  # type: ignore[attr-defined]
    eventually(lambda: server.service.writer.away)


def come_back(server: Running) -> None:
    server.service.writer._store._connection.execute("PRAGMA query_only = OFF")  # type: ignore[attr-defined]


WORLDS: tuple[World, ...] = (
    rate_limit,
    batch_size,
    outcome_calls,
    writer_queue,
    idempotency_memory,
    outage_buffer,
    failing_outcomes,
)
