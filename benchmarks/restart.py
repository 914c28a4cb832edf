"""How long the service takes to be back after kill -9, with few and with very many quotes in its store.

Ready is what /readyz/learning says: the store answers and somebody learns. Compiled code is on disk, as after any
first start. Machines are noisy, so the same is measured with an empty store, and the processor's seconds stand beside
the clock's.

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
from tests.service.crash.filled import fill
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


def restarts(served: Served, times: int) -> tuple[float, float]:
    """Medians of seconds until ready, and of the processor's seconds until everything runs."""
    ready, used = [], []
    for _ in range(times):
        time.sleep(1.0)
        served.crash("both")
        ready.append(served.recover("both"))
        used.append(served.processor_seconds())
    return statistics.median(ready), statistics.median(used)


def main() -> None:
    asked = argparse.ArgumentParser(description="Seconds until the service is back after kill -9.")
    asked.add_argument("--quotes", type=int, default=1_000_000)
    asked.add_argument("--times", type=int, default=5)
    given = asked.parse_args()
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; medians of {given.times}")
    for name, made in (("SQLite", on_sqlite), ("PostgreSQL", on_postgres)):
        with made() as served:
            served.start()
            report(name, "empty", restarts(served, given.times))
            served.end()
            fill(served.uri, given.quotes, learned=False)
            served.start()
            report(name, f"{given.quotes:.0e}", restarts(served, given.times))
            served.end()


def report(name: str, size: str, medians: tuple[float, float]) -> None:
    ready, used = medians
    print(f"{name:10} {size:>6} quotes: ready after {ready:.2f} s, of the processor {used:.2f} s", flush=True)


if __name__ == "__main__":
    main()
