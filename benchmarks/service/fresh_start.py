"""A start with very many products of policy cautious of which none has released anything: each has a batch to plan.

    python benchmarks/service/fresh_start.py                       # this tree
    python benchmarks/service/fresh_start.py --source OTHER/src    # another

Says when the service listens, when the list of products is answered and when somebody learns, and how quotes do
meanwhile.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import msgspec
import running
import uvloop
from load import open_loop
from running import Running

from hushprice.service.store import open_store

RATE, CONNECTIONS, SECONDS = 200.0, 16, 2.0  # quotes a second, and of a stretch


def declare(store: str, folder: Path, count: int) -> None:
    running.declare(store, folder, running.CAUTIOUS)
    opened = open_store(store, "learner")
    for number in range(count - 1):
        product = msgspec.structs.replace(running.CAUTIOUS, name=f"p{number}", horizon=1_000_000 + 1000 * number)
        spec, rules = msgspec.json.encode(product), msgspec.json.encode(product.rules)
        opened.add_product(product.name, spec, rules, time.time())
    opened.close()


def answered(server: Running, path: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{path}", timeout=1) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, TimeoutError):
        return False


async def watch(server: Running, began: float) -> None:
    waited = {"/v1/products": 0.0, "/readyz/learning": 0.0}
    while not all(waited.values()):
        quotes = await open_loop(server.port, running.wires(server), CONNECTIONS, SECONDS, RATE)
        p50, p99 = (1e3 * quotes.quantile(share) for share in (0.5, 0.99))
        print(f"{time.monotonic() - began:.0f} s: p50 {p50:.1f} ms, p99 {p99:.1f} ms, failures {quotes.failures}")
        for path, when in waited.items():
            waited[path] = when or (time.monotonic() - began if answered(server, path) else 0.0)
    print({path: round(when, 1) for path, when in waited.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", help="the src folder of another tree")
    parser.add_argument("--products", type=int, default=1000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hushprice-fresh-") as folder:
        store = str(Path(folder, "shop.db"))
        declare(store, Path(folder), given.products)
        began = time.monotonic()
        with running.service(store, Path(folder), source=given.source, rate=None) as server:
            print(f"listens after {time.monotonic() - began:.1f} s")
            uvloop.run(watch(server, began))


if __name__ == "__main__":
    main()
