"""Servers in processes of their own, and stores with a product that has learned enough to search for prices."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
import tomllib
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from load import request

from hushprice.service.shared.config import build
from hushprice.service.shared.product import Product, context_of
from hushprice.service.shared.setup import prepare_learning
from hushprice.service.store import open_store
from hushprice.service.store.values import NewOutcome, NewQuote

HERE = Path(__file__).resolve().parent
NAME = "umbrella"
SCHEMA = {
    "attributes": [
        {"kind": "number", "name": "age", "low": 18, "high": 98},
        {"kind": "boolean", "name": "member"},
        {"kind": "category", "name": "region", "levels": ["south", "north"]},
    ]
}
PRODUCT = Product(name=NAME, currency="EUR", ceiling=40.0, schema=SCHEMA, horizon=100_000_000, epsilon=4.0)
CAUTIOUS = Product(
    name=NAME,
    currency="EUR",
    floor=4.0,
    ceiling=40.0,
    reference_price=20.0,
    conversion=0.5,
    schema=SCHEMA,
    horizon=100_000_000,
    epsilon=4.0,
    risk=0.1,
)
FILE = "from hushprice.cli import app; app()"


@dataclass
class Running:
    """A server's process."""

    process: subprocess.Popen[str]
    port: int
    key: str = "none"

    def processes(self) -> list[int]:
        """This process and its children."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [pid, *map(int, children)]

    def cpu_seconds(self) -> float:
        """Of the process that answers."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=30) as answer:
            return json.load(answer)


@contextmanager
def started(command: list[str], environment: dict[str, str]) -> Iterator[Running]:
    """Start it, wait for its address, and end it."""
    process = subprocess.Popen(
        command, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        yield Running(process, _port(process))
    finally:
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=60)[0]
        if said.strip():
            print(said.strip(), file=sys.stderr)


def _port(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        found = re.search(r"serving http://[^ ]*:(\d+)", line)
        if found:
            return int(found[1])
    raise RuntimeError("the server did not start: " + "".join(said))


@contextmanager
def echo() -> Iterator[Running]:
    with started([sys.executable, str(HERE / "echo.py")], {}) as made:
        yield made


@contextmanager
def service(
    store: str, folder: Path, *, durable: bool = True, source: str | None = None, rate: str | None = "1e9"
) -> Iterator[Running]:
    """`hushprice serve` on this store, without a limit on requests; of another tree's src folder where one is given.

    Without a `rate` the limit is the service's own.
    """
    environment = {
        "HUSHPRICE_STORE": store,
        "HUSHPRICE_STATE_DIR": str(folder),
        "HUSHPRICE_PORT": "0",
        "HUSHPRICE_OPERATOR_PORT": "0",
        "HUSHPRICE_QUOTES_DURABLE": "true" if durable else "false",
    }
    if rate is not None:
        environment["HUSHPRICE_RATE_PER_SECOND"] = rate
    if source is not None:
        environment["PYTHONPATH"] = source
    with started([sys.executable, "-c", FILE, "serve"], environment) as made:
        keys = folder / "hushprice.keys.toml" if "://" in store else Path(store + ".keys.toml")
        made.key = tomllib.loads(keys.read_text())["keys"]["shop"]
        yield made


def customers(seed: int, count: int) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    return [
        {"age": chance.randint(18, 98), "member": chance.random() < 0.5, "region": chance.choice(["south", "north"])}
        for _ in range(count)
    ]


def wires(server: Running) -> Iterator[bytes]:
    """Requests for quotes, of a thousand different customers."""
    bodies = [json.dumps({"product": NAME, "attributes": each}).encode() for each in customers(1, 1000)]
    return cycle([request("/v1/quotes", body, server.key) for body in bodies])


def buys(generator: np.random.Generator, price: float) -> bool:
    return bool(generator.random() < 1.0 / (1.0 + np.exp(4.0 * price - 2.0)))


def declare(store: str, folder: Path, product: Product = PRODUCT) -> None:
    """A store with the product, and in this folder the note of releases, which is begun before the first quote."""
    opened = open_store(store, "learner")
    opened.add_product(NAME, msgspec.json.encode(product), msgspec.json.encode(product.rules), time.time())
    opened.close()
    prepare_learning(build({"store": store, "state_dir": str(folder)}))


def remember(store: str, product: Product = PRODUCT, count: int = 20_000) -> None:
    """Quotes and outcomes of the past, by the store's own way; due as soon as the service's clock moves."""
    opened = open_store(store, "learner")
    generator = np.random.default_rng(7)
    contexts = [context_of(product, each).tobytes() for each in customers(2, 500)]
    for start in range(0, count, 1000):
        quotes = [_past(generator, contexts[index % 500]) for index in range(start, start + 1000)]
        outcomes = [NewOutcome(quote.id, "shop", float(buys(generator, quote.price))) for quote in quotes]
        opened.write(quotes, outcomes)
    opened.close()


def _past(generator: np.random.Generator, context: bytes) -> NewQuote:
    price = float(generator.uniform(0.1, 0.9))
    return NewQuote(generator.bytes(16).hex(), NAME, "shop", context, price, "0.00", 0.0, 0, False, 0.001, None)


def insert(file: str, count: int) -> None:
    """The same for very many, straight into the tables of a SQLite file that no server has open."""
    generator = np.random.default_rng(8)
    contexts = [context_of(PRODUCT, each).tobytes() for each in customers(3, 500)]
    prices = generator.uniform(0.1, 0.9, count)
    demands = (generator.random(count) < 1.0 / (1.0 + np.exp(4.0 * prices - 2.0))).astype(float)
    connection = sqlite3.connect(file)
    (number, slots) = connection.execute("SELECT id, slots FROM product WHERE name = ?", (NAME,)).fetchone()
    day = int(time.time() // 86400)
    ids = generator.bytes(16 * count)
    connection.executemany(
        """INSERT INTO quote (product, slot, id, key, price, holdout, counts, deadline, day, status, demand)
        VALUES (?, ?, ?, 'shop', ?, 0, 1, 0.0, ?, 1, ?)""",
        (
            (number, slots + 1 + index, ids[16 * index : 16 * index + 16], price, day, demand)
            for index, (price, demand) in enumerate(zip(prices.tolist(), demands.tolist(), strict=True))
        ),
    )
    connection.executemany(
        "INSERT INTO record VALUES (?, ?, ?)",
        ((number, slots + 1 + index, contexts[index % 500]) for index in range(count)),
    )
    connection.execute("UPDATE quote SET deadline = 0.0 WHERE deadline > 0.0")  # slots are learned in order
    connection.execute("UPDATE product SET slots = slots + ? WHERE id = ?", (count, number))
    connection.execute("UPDATE tally SET quoted = quoted + ? WHERE product = ? AND day = ?", (count, number, day))
    connection.commit()
    connection.close()


def learned(file: str) -> int:
    """Slots learned, which is more than the last release tells."""
    with closing(sqlite3.connect(file)) as connection:
        row = connection.execute("SELECT learned FROM learner").fetchone()
    return 0 if row is None else int(row[0])


def wait_until_known(store: str, limit: float = 300.0) -> None:
    """Until prices are searched for: before, a quote is a reference price and costs less. cautious always searches."""
    opened = open_store(store, "learner")
    end = time.monotonic() + limit
    while time.monotonic() < end:
        release = opened.latest_release(NAME)
        if release is not None and _searched(release.belief):
            opened.close()
            time.sleep(1.0)  # quoters look twice a second
            return
        time.sleep(0.2)
    raise RuntimeError("nothing was learned that prices can be made of")


def _searched(belief: bytes) -> bool:
    told = msgspec.json.decode(belief)
    return "rule" in told or bool(told["ready"])
