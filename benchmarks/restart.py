"""How long the service takes to be back after kill -9, with few and with very many quotes in its store.

Ready is what /readyz says: the store answers and somebody learns. Compiled code is on disk, as after any first start.
Machines are noisy, so the same is measured with an empty store, and the processor's seconds stand beside the clock's.

    python -m benchmarks.restart                       # 1e6 quotes, both stores
    python -m benchmarks.restart --quotes 100000
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.service.conftest import PostgresProcess
from tests.service.crash.filled import NAME, fill
from tests.service.crash.served import OnPostgres, OnSqlite, Served

from hushprice.service.store.postgres_setup import prepare


@contextmanager
def on_sqlite() -> Iterator[Served]:
    with tempfile.TemporaryDirectory(prefix="hushprice-") as folder:
        served = OnSqlite(Path(folder))
        yield served
        served.close()


@contextmanager
def on_postgres() -> Iterator[Served]:
    with tempfile.TemporaryDirectory(prefix="hushprice-pg-") as data, tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("XDG_RUNTIME_DIR", data)
        process = PostgresProcess(Path(data) / "data")
        prepare(process.uri)
        served = OnPostgres(Path(folder), process.uri, process)
        yield served
        served.close()
        process.stop("immediate")


def restarts(served: Served, times: int, product: bool) -> tuple[float, float, float]:
    """Medians of seconds until ready, of processor seconds used until then, and until the first quote."""
    ready, used, quoted = [], [], []
    for _ in range(times):
        time.sleep(1.0)
        served.crash("both")
        began, before = time.monotonic(), served.processor_seconds()
        ready.append(served.start())
        used.append(served.processor_seconds() - before)
        if product:
            line = served.line("shop")
            status, _ = line.call("POST", "/v1/quotes", {"product": NAME, "context": [0.1, 0.2]})
            line.close()
            assert status == 201
            quoted.append(time.monotonic() - began)
    return statistics.median(ready), statistics.median(used), statistics.median(quoted or [0.0])


def main() -> None:
    asked = argparse.ArgumentParser(description="Seconds until the service is back after kill -9.")
    asked.add_argument("--quotes", type=int, default=1_000_000)
    asked.add_argument("--times", type=int, default=5)
    given = asked.parse_args()
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; medians of {given.times}")
    for name, made in (("SQLite", on_sqlite), ("PostgreSQL", on_postgres)):
        with made() as served:
            served.start()
            ready, used, _ = restarts(served, given.times, False)
            print(f"{name:10} {'empty':>9}: ready after {ready:5.2f} s, of the processor {used:5.2f} s")
            served.end()
            began = time.monotonic()
            fill(served.uri, given.quotes, learned=False)
            filled = time.monotonic() - began
            served.start()
            ready, used, quoted = restarts(served, given.times, True)
            size = f"{given.quotes:.0e}"
            print(
                f"{name:10} {size:>9}: ready after {ready:5.2f} s, of the processor {used:5.2f} s, "
                f"first quote after {quoted:5.2f} s (filled in {filled:.0f} s)"
            )
            served.end()


if __name__ == "__main__":
    main()
