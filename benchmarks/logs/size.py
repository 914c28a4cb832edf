"""How fast a log is read, beside reading its files alone, and with how much memory.

    python benchmarks/logs/size.py --rows 1e7

Writes visits as partitioned Parquet to a temporary folder, or takes those that are in `--folder`, then reads them, each
time in a process of its own: the same columns by Polars alone, chunk by chunk ("alone") and by its streaming engine
("collected"), also with customers' keys ("keys", "keys collected"), and by `open_log` in a product's numbers, with an
exact sum, without and with digests of customers' keys ("log", "customers"). "fit", "fit, two" and "fit, people" are all
passes of a fit of the rows, here, in two processes, and of customers. Wall time is what one waits for; processor time
is all cores' work, and is what to compare on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars

import hushprice
from hushprice.demand.schema import Boolean, Category, Number, Schema
from hushprice.logs.passes import run_pass
from hushprice.logs.read import open_log
from hushprice.logs.rows import LogRows
from hushprice.logs.sources import ParquetSource
from hushprice.product import Product

PER_FILE = 2_000_000
WAYS = ("alone", "collected", "keys", "keys collected", "log", "customers", "fit", "fit, two", "fit, people")
ALONE, KEYED, FITS = WAYS[:2], WAYS[2:4], WAYS[6:]
REGIONS = np.array(["south", "north", "west", "east"])
SCHEMA = Schema(
    attributes=(
        Number(name="age", low=18, high=98),
        Number(name="tenure", low=0, high=20),
        Category(name="region", levels=("south", "north", "west", "east")),
        Boolean(name="member"),
    )
)
PRODUCT = Product(floor=20, ceiling=30, reference_price=25, conversion=0.02, schema=SCHEMA)


def write(folder: Path, rows: int) -> None:
    """The log, a file at a time."""
    for at, first in enumerate(range(0, rows, PER_FILE)):
        count, rng = min(PER_FILE, rows - first), np.random.default_rng(at)
        polars.DataFrame(
            {
                "price": rng.integers(2000, 3001, count) / 100.0,
                "bought": rng.random(count) < 0.02,
                "age": rng.normal(45.0, 15.0, count),
                "tenure": rng.exponential(4.0, count),
                "region": REGIONS[rng.integers(0, 4, count)],
                "member": rng.random(count) < 0.4,
                "customer": rng.integers(0, max(1, rows // 4), count),
            }
        ).write_parquet(folder / f"{at:05}.parquet")


def bought(rows: LogRows) -> list[int]:
    return [len(rows.prices), int(rows.demands.sum())]


def read(folder: Path, how: str) -> dict[str, float]:
    """Seconds and memory of one way to read."""
    start, before, rows = time.perf_counter(), worked(), 0
    if how in ("alone", "keys"):
        source = ParquetSource(tuple(sorted(folder.glob("*.parquet"))), str(folder))
        names = [each for each in source.types if how == "keys" or each != "customer"]
        for partition in range(source.partitions):
            rows += sum(chunk.frame.height for chunk in source.chunks(partition, names))
    elif how in ("collected", "keys collected"):
        wanted = polars.exclude("customer") if how == "collected" else polars.all()
        scan = polars.scan_parquet(folder / "*.parquet").select(wanted)
        rows = sum(batch.height for batch in scan.collect_batches())
    elif how in FITS:
        log = open_log(folder, product=PRODUCT, columns={} if how == "fit, people" else {"customer": ""})
        where = {"executor": "processes", "workers": 2} if how == "fit, two" else {}
        rows = round(hushprice.fit(log, product=PRODUCT, epsilon=1.0, seed=1, simulation=True, **where).count)
    else:
        columns = {} if how == "customers" else {"customer": ""}
        rows = run_pass(open_log(folder, product=PRODUCT, columns=columns), bought, 2)[0]
    seconds, used = time.perf_counter() - start, worked() - before
    return {"rows": rows, "seconds": seconds, "worked": used, "peak": peak_memory()}


def worked() -> float:
    """Processor seconds of this program and of the processes it started and that ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def peak_memory() -> float:
    """The most memory that this program, or one that it started, has held, in MiB (Linux)."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):  # getrusage would count the program that started this one
            return max(children, int(line.split()[1]) / 1024)
    return float("nan")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=lambda text: int(float(text)), default=1_000_000)
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("--folder", help="with the visits of another run, or where to keep them")
    options.add_argument("--ways", nargs="+", default=WAYS, choices=WAYS)
    options.add_argument("--read", nargs=2, metavar=("FOLDER", "HOW"), help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.read is not None:
        print(json.dumps(read(Path(given.read[0]), given.read[1])))
        return
    with tempfile.TemporaryDirectory(prefix="hushprice-size-") as empty:
        name = given.folder or empty
        if given.folder is None or not Path(name).exists():
            Path(name).mkdir(exist_ok=True)
            write(Path(name), given.rows)
        size = sum(each.stat().st_size for each in Path(name).iterdir()) / 1e6
        print(f"{given.rows:,} rows, {size:,.0f} MB of Parquet, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
        best: dict[str, dict[str, float]] = {}
        for _ in range(given.repeat):  # in turn, so that a busy machine is busy for all
            for how in given.ways:
                command = [sys.executable, __file__, "--read", name, how]
                found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
                before = best.get(how, found)
                best[how] = {key: min(value, before[key]) for key, value in found.items()}
        for how, found in best.items():
            same = KEYED if how in (*KEYED, "customers", "fit, people") and any(way in best for way in KEYED) else ALONE
            alone = [best[way] for way in same if way in best] or [found]
            wall, used = (found[key] / min(each[key] for each in alone) for key in ("seconds", "worked"))
            print(
                f"{how:14} {given.rows / found['seconds'] / 1e6:6.2f} million rows/s; wall {wall:5.2f} and processor "
                f"{used:5.2f} times the fastest reading of the same; at most {found['peak']:,.0f} MiB"
            )


if __name__ == "__main__":
    main()
