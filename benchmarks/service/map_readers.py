"""Quotes beside many who read a price map without a key, each time from another address: this tree and another.

    python benchmarks/service/map_readers.py                      # this tree alone
    python benchmarks/service/map_readers.py --beside OTHER/src   # and one from before, in turns
    python benchmarks/service/map_readers.py --products 1000 --path /v1/privacy    # a list of as many, in place of maps

Readers ask again as soon as they are answered, from a process of low priority: real ones would be elsewhere.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

import msgspec
import running
import uvloop
from load import Slice, closed, open_loop
from running import Running

from hushprice.service.store import open_store

READERS, SECONDS, RATE = 64, 4.0, 200.0  # connections, of a stretch, and quotes a second
MAP = f"/v1/products/{running.NAME}/prices?x=age&y=region&steps=48"


def asked(path: str) -> Iterator[bytes]:
    chance = random.Random(os.getpid())
    while True:
        address = ".".join(str(chance.randint(1, 250)) for _ in range(4))
        yield f"GET {path} HTTP/1.1\r\nhost: x\r\nx-forwarded-for: {address}\r\n\r\n".encode()


async def read_on(port: int, path: str) -> None:
    """Read until told to stop, and say how many were answered."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    print("reading", flush=True)
    answers = 0
    while not stop.is_set():
        answers += len((await closed(port, asked(path), READERS, 1.0)).times)
    print(answers, flush=True)


@contextmanager
def readers(port: int, path: str, answered: list[int]) -> Iterator[None]:
    command = ["nice", "-n", "19", sys.executable, __file__, "--read", str(port), "--path", path]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        answered.append(int(process.communicate(timeout=30)[0]))


async def quotes(server: Running) -> Slice:
    return await open_loop(server.port, running.wires(server), 16, SECONDS, RATE)


def add_products(store: str, count: int) -> None:
    """Others beside the one that is sold."""
    opened = open_store(store, "learner")
    for number in range(count):
        product = msgspec.structs.replace(running.PRODUCT, name=f"p{number}")
        spec, rules = msgspec.json.encode(product), msgspec.json.encode(product.rules)
        opened.add_product(product.name, spec, rules, time.time())
    opened.close()


async def measure(servers: dict[str, Running], rounds: int, path: str) -> None:
    found: dict[str, list[Slice]] = {}
    answered: dict[str, list[int]] = {name: [] for name in servers}
    for server in servers.values():
        server.get(path)
        await quotes(server)  # caches fill first
    for _ in range(rounds):
        for name, server in servers.items():
            found.setdefault(f"{name}, alone", []).append(await quotes(server))
            with readers(server.port, path, answered[name]):
                await asyncio.sleep(0.5)
                found.setdefault(f"{name}, beside readers", []).append(await quotes(server))
    for name, slices in found.items():
        p50, p99 = (1e3 * median(each.quantile(share) for each in slices) for share in (0.5, 0.99))
        print(f"{name}: p50 {p50:.1f} ms, p99 {p99:.1f} ms, failures {sum(each.failures for each in slices)}")
    for name, counts in answered.items():
        print(f"{name}: about {median(counts) / (SECONDS + 1.5):.0f} answers a second were read")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", help="the src folder of another tree")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--path", default=MAP, help="what is read")
    parser.add_argument("--products", type=int, default=1)
    parser.add_argument("--read", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.read is not None:
        uvloop.run(read_on(given.read, given.path))
        return
    with tempfile.TemporaryDirectory(prefix="hushprice-maps-") as folder, ExitStack() as stack:
        servers = {}
        sources = {"before": given.beside, "now": None} if given.beside else {"now": None}
        for name, source in sources.items():
            own = Path(folder, name)
            own.mkdir()
            store = str(own / "shop.db")
            running.declare(store, own)
            running.remember(store)
            add_products(store, given.products - 1)
            servers[name] = stack.enter_context(running.service(store, own, source=source, rate=None))
            running.wait_until_known(store)
        uvloop.run(measure(servers, given.rounds, given.path))


if __name__ == "__main__":
    main()
