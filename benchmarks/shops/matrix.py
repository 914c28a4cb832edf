"""Every world, horizon, epsilon and policy, as many runs as there is time for: resumable.

    python benchmarks/shops/matrix.py --worlds designed held_back --horizons 5000 50000 --epsilons 0.5 1 3 --runs 16
    python benchmarks/shops/matrix.py --page build/shops.jsonl

A line of the file is a run: what it earned over staying at every checkpoint. What the file has is not run again;
`--page` prints the tables of docs/lab/shops.md from it.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from itertools import product as pairs
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from hushprice.shops.trials import run_shop

PROMISED = 1000
PRIVATE = ("cautious", "one-price")  # the others read no epsilon
ALLOWED_MEAN, ALLOWED_RUN, ALLOWED_MIDWAY = 0.97, 0.96, 0.96

Job = tuple[str, str, str, int, float, int]  # file, world, policy, horizon, epsilon, run


def run(job: Job) -> list[float]:
    """What one run earned over staying, at every checkpoint after the first thousand customers."""
    file, name, policy, horizon, epsilon, number = job
    case = importlib.import_module(f"shops.{file}").cases(horizon)[name]
    given = replace(case.product, epsilon=epsilon)
    found = run_shop(policy, product=given, world=case.world, horizon=horizon, trials=1, seed=number, workers=1)
    relative = (found.earnings[0] / found.staying[0])[found.checkpoints >= PROMISED]
    return [round(float(each), 5) for each in relative]


def read(path: Path) -> dict[Job, list[float]]:
    """All runs of a file."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {tuple(each["job"]): each["path"] for each in map(json.loads, lines)}


def measure(jobs: list[Job], path: Path, workers: int) -> None:
    """What is missing, a line a run as it ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(workers) as pool, path.open("a") as file:
        started = {pool.submit(run, job): job for job in jobs}
        for count, done in enumerate(as_completed(started), 1):
            file.write(json.dumps({"job": started[done], "path": done.result()}) + "\n")
            file.flush()
            print(f"\r{count} of {len(jobs)}", end="", file=sys.stderr, flush=True)


def tables(found: dict[Job, list[float]]) -> Iterable[str]:
    """Ends by file; then every cell's worst moments."""
    cells: dict[tuple[str, str, str, int, float], list[list[float]]] = defaultdict(list)
    for (*cell, _), path in found.items():
        cells[tuple(cell)].append(path)
    yield "| customers | epsilon | worlds | runs a world | policy | mean of worlds | worst mean | worst run | below |"
    yield "|---:|---:|---|---:|---|---:|---:|---:|---:|"
    groups: dict[tuple[int, float, str, str], list[list[list[float]]]] = defaultdict(list)
    for (file, _, policy, horizon, epsilon), paths in cells.items():
        groups[horizon, epsilon, file, policy].append(paths)
    for (horizon, epsilon, file, policy), worlds in sorted(groups.items()):
        runs = sorted({len(paths) for paths in worlds})
        end = float(np.mean([np.mean([path[-1] for path in paths]) for paths in worlds]))
        worst = min(float(np.mean(paths, axis=0).min()) for paths in worlds)
        lowest = [min(path) for paths in worlds for path in paths]
        below = sum(each < ALLOWED_RUN for each in lowest)
        yield (
            f"| {horizon:,} | {epsilon:g} | {file}, {len(worlds)} | {'-'.join(map(str, runs))} | {policy} | {end:.4f} "
            f"| {worst:.3f} | {min(lowest):.3f} | {below} of {len(lowest)} |"
        )
    for horizon, epsilon in sorted({(job[3], job[4]) for job in found}):
        yield from ("", f"{horizon:,} customers, epsilon {epsilon:g}", "")
        yield "| world | " + " | ".join(("cautious", "thompson", "one-price")) + " | worst mean | worst run |"
        yield "|---|" + "---:|" * 5
        for file, name in sorted({cell[:2] for cell in cells if cell[3:] == (horizon, epsilon)}):
            row, worst_of = [], ("", "")
            for policy in ("cautious", "thompson", "one-price"):
                each = epsilon if policy in PRIVATE else 1.0
                paths = cells.get((file, name, policy, horizon, each), [])
                ends = [path[-1] for path in paths]
                row.append(f"{np.mean(ends):.3f}" if paths else "")
                if policy == "cautious" and paths:
                    worst_of = (f"{np.mean(paths, axis=0).min():.3f}", f"{min(map(min, paths)):.3f}")
            yield f"| {file}: {name} | " + " | ".join(row) + f" | {worst_of[0]} | {worst_of[1]} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", nargs="+", default=["designed", "unseen", "fresh", "held_back"])
    parser.add_argument("--horizons", type=int, nargs="+", default=[5_000, 50_000, 500_000])
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.5, 1.0, 3.0])
    parser.add_argument("--policies", nargs="+", default=["cautious", "thompson", "one-price"])
    parser.add_argument("--runs", type=int, default=16)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--file", type=Path, default=Path("build/shops.jsonl"))
    parser.add_argument("--page", type=Path, help="print the tables of this file, and run nothing")
    given = parser.parse_args()
    if given.page:
        print("\n".join(tables(read(given.page))))
        return
    have, jobs = read(given.file), list[Job]()
    for number, horizon, epsilon in pairs(range(given.runs), given.horizons, given.epsilons):
        for file, policy in pairs(given.worlds, given.policies):
            if policy not in PRIVATE and epsilon != 1.0:
                continue
            names = importlib.import_module(f"shops.{file}").cases(horizon)
            jobs += [(file, name, policy, horizon, epsilon, number) for name in names]
    measure([job for job in dict.fromkeys(jobs) if job not in have], given.file, given.workers)


if __name__ == "__main__":
    main()
