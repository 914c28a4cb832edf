"""A server in a thread: real uvicorn, real connections, and a store of the test's own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvloop
from tests.waiting import PATIENCE

from hushprice.service.http import server, sockets
from hushprice.service.http.app import Application
from hushprice.service.http.connections import Connections, EdgeLimits
from hushprice.service.http.routes.table import CALLS
from hushprice.service.quoting import reader, service_state, writer
from hushprice.service.quoting.precompile import precompile
from hushprice.service.quoting.product_table import ProductTable
from hushprice.service.shared import keys
from hushprice.service.shared.config import build
from hushprice.service.shared.seen_releases import SeenReleasesFile
from hushprice.service.store import open_store
from hushprice.service.store.values import ApiKey

SECRET = b"a secret of the tests, 32 bytes."
KEYS = {
    "admin": "hp_admin_for_tests",
    "shop": "hp_shop_for_tests",
    "other": "hp_other_shop_for_tests",
    "auditor": "hp_auditor_for_tests",
}
SCHEMA = {
    "attributes": [
        {"kind": "number", "name": "age", "low": 18, "high": 98},
        {"kind": "boolean", "name": "member"},
        {"kind": "category", "name": "region", "levels": ["south", "north"]},
    ]
}
PRODUCT = {
    "name": "umbrella",
    "currency": "EUR",
    "ceiling": 40.0,
    "schema": SCHEMA,
    "slope": 12.0,
    "features": "intercept",
}
CUSTOMER = {"age": 41, "member": True, "region": "north"}


def ask(**more: Any) -> dict[str, Any]:
    """A request for a quote."""
    return {"product": "umbrella", "attributes": CUSTOMER, **more}


class Running:
    """A server that runs, and clients for it."""

    def __init__(self, url: str, service: service_state.Service, store: str, loop: asyncio.AbstractEventLoop) -> None:
        self.url = url
        self.service = service
        self.store = store
        self.loop = loop
        self._clients: list[httpx.Client] = []

    def client(self, key: str | None = None) -> httpx.Client:
        headers = {} if key is None else {"authorization": f"Bearer {KEYS[key]}"}
        made = httpx.Client(base_url=self.url, headers=headers, timeout=PATIENCE, trust_env=False)
        self._clients.append(made)
        return made

    def create(self, **more: Any) -> dict[str, Any]:
        answer = self.client("admin").post("/v1/products", json={**PRODUCT, **more})
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def quote(self, key: str = "shop", **more: Any) -> dict[str, Any]:
        answer = self.client(key).post("/v1/quotes", json=ask(**more))
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def look(self) -> None:
        """What the service does twice a second, now: what is stored before this is seen after it."""
        asyncio.run_coroutine_threadsafe(self.service.reader.refresh(), self.loop).result()

    def close(self) -> None:
        for each in self._clients:
            each.close()


def add_keys(store: str) -> None:
    opened = open_store(store, "learner")
    for name, key in KEYS.items():
        role: Any = "shop" if name == "other" else name
        opened.add_api_key(ApiKey(name, role, keys.digest(key)))
    opened.close()


@contextmanager
def running(
    store: str,
    folder: Path,
    quoter: str | None = None,
    *,
    patience: float = PATIENCE,
    limits: EdgeLimits | None = None,
    **settings: Any,
) -> Iterator[Running]:
    """A quoting process's server, without a learner. `quoter` is the quoter's own address of the store.

    `patience` is how long a store may take before it counts as away: here a busy machine is no outage.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "PATIENCE", patience)
        patch.setattr(reader, "PATIENCE", PATIENCE)
        yield from _running(store, folder, quoter, limits, settings)


def _running(
    store: str, folder: Path, quoter: str | None, limits: EdgeLimits | None, settings: dict[str, Any]
) -> Iterator[Running]:
    precompile()  # as a real start does, before it listens
    add_keys(store)
    chosen = build({"store": quoter or store, "rate_per_second": 1e6, **settings})
    listening = sockets.listen("127.0.0.1", 0, "port")
    ready = threading.Event()
    found: dict[str, Any] = {}

    async def main() -> None:
        found["stop"], found["loop"] = asyncio.Event(), asyncio.get_running_loop()
        board = ProductTable(SeenReleasesFile(folder / "seen.json"))
        service = await service_state.start(chosen, lambda: open_store(quoter or store, "quoter"), SECRET, board)
        service.connections = Connections(limits) if limits else service.connections
        found["service"] = service
        await server.serve(
            Application(service, CALLS),
            listening,
            started=ready.set,
            stop=found["stop"],
            connections=service.connections,
        )
        await service.stop()

    thread = threading.Thread(target=lambda: uvloop.run(main()))
    thread.start()
    assert ready.wait(PATIENCE)
    made = Running(sockets.address(listening), found["service"], store, found["loop"])
    try:
        yield made
    finally:
        made.close()
        found["loop"].call_soon_threadsafe(found["stop"].set)
        thread.join()
        listening.close()
