"""A thousand products beside one: start, idle learner, and the slowest hundredth of quotes, in one run.

    python benchmarks/service/many_products.py                      # this tree
    python benchmarks/service/many_products.py --before OTHER/src   # beside another tree of the program

Every product has its own budget and horizon, has learned SLOTS slots and made releases. Seconds of processor say more
than seconds of a clock where the machine does other things too; both are shown. Quotes go to products at random, in
stretches that alternate between the server with one product and the one with a thousand; a ratio is the median over
rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import numpy as np
import running
from load import Slice, open_loop, request
from running import Running

HERE = Path(__file__).resolve().parent
SLOTS = 60
MANY = 1000
RATE, CONNECTIONS = 200.0, 8
CALM = 10.0  # seconds over which an idle learner is measured


def prepare(store: str, count: int) -> None:
    """Products that have learned, made by the store's and the learner's own ways. In a process of its own."""
    from hushprice.service.learning.loop import LearningLoop
    from hushprice.service.shared.product import context_of
    from hushprice.service.store import open_store
    from hushprice.service.store.values import NewOutcome, NewQuote

    opened = open_store(store, "learner")
    generator, now = np.random.default_rng(5), time.time()
    contexts = [context_of(running.PRODUCT, each).tobytes() for each in running.customers(2, 100)]
    for number in range(count):
        product = msgspec.structs.replace(running.PRODUCT, name=f"p{number}", horizon=1_000_000 + 1000 * number)
        opened.add_product(product.name, msgspec.json.encode(product), msgspec.json.encode(product.rules), now)
        quotes = [
            NewQuote(
                generator.bytes(16).hex(),
                product.name,
                "shop",
                contexts[slot % 100],
                float(generator.uniform(0.1, 0.9)),
                *("0.00", 0.0, 0, False, 0.001, None),
            )
            for slot in range(SLOTS)
        ]
        opened.write(
            quotes, [NewOutcome(each.id, "shop", float(running.buys(generator, each.price))) for each in quotes]
        )
    opened.beat(now)
    opened.beat(now + 1.0)
    learning = LearningLoop(opened)
    while learning.turn() or (opened.state(f"p{count - 1}") is None):
        pass
    opened.drop_lease(learning.holder)
    opened.close()


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ready(server: Running) -> bool:
    """Are prices made and slots learned? An earlier tree says both with /readyz."""
    for path in ("/readyz/learning", "/readyz"):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{path}", timeout=60) as answer:
                return bool(answer.status == 200)
        except urllib.error.HTTPError as problem:
            if problem.code != 404:
                return False
    return False


def start(stack: ExitStack, store: str, folder: Path, source: str) -> tuple[Running, dict[str, float]]:
    """A service on this store, and how long it took: until it serves, until all is ready, and of processors."""
    began = time.monotonic()
    server = stack.enter_context(running.service(store, folder, source=source))
    serving = time.monotonic() - began
    while not ready(server):
        time.sleep(0.05)
    whole = time.monotonic() - began
    return server, {
        "serving_s": serving,
        "ready_s": whole,
        "quoter_cpu_s": cpu_seconds(server.process.pid),
        "learner_cpu_s": sum(cpu_seconds(pid) for pid in server.processes()[1:]),
    }


def idle(server: Running) -> dict[str, float]:
    """Shares of a processor, once what a start leaves to do is done."""
    time.sleep(2 * CALM)
    quoter, *learner = server.processes()
    before, began = (cpu_seconds(quoter), sum(map(cpu_seconds, learner))), time.monotonic()
    time.sleep(CALM)
    seconds = time.monotonic() - began
    after = cpu_seconds(quoter), sum(map(cpu_seconds, learner))
    return {"quoter_idle": (after[0] - before[0]) / seconds, "learner_idle": (after[1] - before[1]) / seconds}


def wait_for_certificates(file: str, count: int) -> None:
    """The learner writes one a product after the first start, which is no part of idling."""
    with closing(sqlite3.connect(file)) as connection:
        while connection.execute("SELECT count(*) FROM certificate").fetchone()[0] < count:
            time.sleep(0.5)


def wires(server: Running, count: int) -> Iterator[bytes]:
    chance = random.Random(3)
    customers = running.customers(1, 500)
    while True:
        body = {"product": f"p{chance.randrange(count)}", "attributes": chance.choice(customers)}
        yield request("/v1/quotes", json.dumps(body).encode(), server.key)


def compare(one: Running, many: Running, rounds: int, seconds: float) -> dict[str, float]:
    """p99 of quotes with many products over that with one."""

    async def stretch(server: Running, count: int) -> Slice:
        return await open_loop(server.port, wires(server, count), CONNECTIONS, seconds, RATE)

    async def go() -> list[tuple[Slice, Slice]]:
        return [(await stretch(one, 1), await stretch(many, MANY)) for _ in range(rounds)]

    found = asyncio.run(go())
    assert not sum(each.failures for pair in found for each in pair)
    pairs = [(first.quantile(0.99), second.quantile(0.99)) for first, second in found]
    return {
        "p99_one_ms": 1e3 * median(first for first, _ in pairs),
        "p99_many_ms": 1e3 * median(second for _, second in pairs),
        "p99_ratio": median(second / first for first, second in pairs),
    }


def measure(source: str, rounds: int, seconds: float) -> dict[str, Any]:
    environment = {**os.environ, "PYTHONPATH": source}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        servers, result = [], {}
        for count in (1, MANY):
            place = Path(folder, str(count))
            place.mkdir()
            store = str(place / "shop.db")
            with running.service(store, place, source=source):  # begins the note of releases while there are none
                pass
            command = [sys.executable, __file__, "--prepare", store, str(count)]
            subprocess.run(command, env=environment, check=True)
            with ExitStack() as first:  # makes certificates
                start(first, store, place, source)
                wait_for_certificates(store, count)
            server, result[f"start_{count}"] = start(stack, store, place, source)
            servers.append(server)
        result["idle"] = idle(servers[1])
        result["p99"] = compare(*servers, rounds, seconds)
    return result


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--prepare", nargs=2, metavar=("STORE", "COUNT"))
    parser.add_argument("--before", help="the src folder of another tree")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=3.0)
    chosen = parser.parse_args()
    if chosen.prepare is not None:
        prepare(chosen.prepare[0], int(chosen.prepare[1]))
        return
    sources = {"now": str(HERE.parents[1] / "src")}
    if chosen.before:
        sources = {"before": chosen.before, **sources}
    print(json.dumps({name: measure(each, chosen.rounds, chosen.seconds) for name, each in sources.items()}, indent=2))


if __name__ == "__main__":
    main()
