"""Aggregators as processes of their own, as somebody who is not the shop would run them."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import uvloop
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.waiting import PATIENCE

from hushprice.noise import System
from hushprice.privacy.certificates.signing import public_half
from hushprice.service.aggregating.aggregator_store import AggregatorStore
from hushprice.service.aggregating.application import AggregatorApplication
from hushprice.service.http import server, sockets
from hushprice.trust.shares import Promise

_SAYS = re.compile(rb"aggregating at (\S+), with the key ([0-9a-f]{64})")


def write_promises(path: Path, name: str, promise: dict[str, Any] | Promise) -> Path:
    given = promise if isinstance(promise, dict) else {each: getattr(promise, each) for each in promise.__slots__}
    path.write_text(f"[{name}]\n" + "".join(f"{field} = {value!r}\n" for field, value in given.items()))
    return path


class AggregatorProcess:
    """One, which may be killed and started again at the same address."""

    def __init__(self, folder: Path, promises: Path) -> None:
        folder.mkdir()
        self.folder, self._promises = folder, promises
        self.store, self.port = folder / "aggregator.db", 0
        self.start()

    def start(self) -> None:
        words = ("aggregator", "--promises", self._promises, "--store", self.store, "--port", self.port)
        environment = os.environ | {"XDG_STATE_HOME": str(self.folder / "state")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hushprice", *map(str, words)], stderr=subprocess.PIPE, env=environment
        )
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        found = _SAYS.search(line)
        assert found is not None, line
        self.url, self.key = (each.decode() for each in found.groups())
        self.port = int(self.url.rpartition(":")[2])

    def end(self, how: int = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        code = self.process.wait(PATIENCE)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return code


@contextmanager
def aggregating(folder: Path, products: dict[str, Promise], source: System | None = None) -> Iterator[InThread]:
    """One in a thread of the test's."""
    folder.mkdir()
    key, listening, ready = Ed25519PrivateKey.generate(), sockets.listen("127.0.0.1", 0, "port"), threading.Event()
    store = AggregatorStore(folder / "aggregator.db", products, notes=folder, source=source)
    found: dict[str, Any] = {}

    async def main() -> None:
        found["stop"], found["loop"] = asyncio.Event(), asyncio.get_running_loop()
        await server.serve(AggregatorApplication(store, key), listening, started=ready.set, stop=found["stop"])

    thread = threading.Thread(target=lambda: uvloop.run(main()))
    thread.start()
    assert ready.wait(PATIENCE)
    try:
        yield InThread(sockets.address(listening), public_half(key), store, folder / "aggregator.db")
    finally:
        found["loop"].call_soon_threadsafe(found["stop"].set)
        thread.join()
        listening.close()
        store.close()


class InThread(NamedTuple):
    url: str
    key: str
    opened: AggregatorStore
    store: Path
