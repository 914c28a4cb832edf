"""Every world, horizon, epsilon and policy, as many runs as there is time for.

    python benchmarks/shops/matrix.py --worlds designed last --horizons 5000 50000 --epsilons 0.5 1 3 --runs 16
    python benchmarks/shops/matrix.py --page

Runs are kept in a file: what it has is not run again, and two processes may share the work (--part 1/2, --part 2/2).
`--page` prints the tables of docs/lab/shops.md from it. All are earnings as shares of what staying would have earned
from the same customers.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from itertools import product as pairs
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from hushprice.shops.trials import run_shop
from shops import kept_runs
from shops.designed import Case

PROMISED = 1000  # customers, after whom `risk` is promised
POLICIES = ("cautious", "thompson", "one-price")
PRIVATE = ("cautious", "one-price")  # the others read no epsilon
LEAST_MEAN, LEAST_RUN = 0.97, 0.96  # 1 - risk - 0.01 and 1 - 2 risk; where demand changes midway means may go as far


Key = tuple[str, str, str, int, float]  # a run but for its number


class Run(NamedTuple):
    """One run; it depends on nothing else."""

    file: str
    world: str
    policy: str
    horizon: int
    epsilon: float
    number: int


class Cell(NamedTuple):
    """All runs of a policy in a world."""

    end: float
    error: float  # standard error of `end`
    worst_mean: float  # the lowest moment of the mean over runs, after PROMISED
    worst: list[float]  # of each run


def play(job: kept_runs.Job) -> list[float]:
    """What one run earned, at every checkpoint after the first thousand customers."""
    run = Run(*job)
    case = _cases(run.file, run.horizon)[run.world]
    product = replace(case.product, epsilon=run.epsilon)
    found = run_shop(
        run.policy, product=product, world=case.world, horizon=run.horizon, trials=1, seed=run.number, workers=1
    )
    shares = found.shares[0, found.checkpoints >= PROMISED]
    return [round(float(each), 5) for each in shares]


def cells_of(found: dict[kept_runs.Job, list[float]]) -> dict[Key, Cell]:
    """By file, world, policy, horizon and epsilon."""
    paths: dict[Key, list[list[float]]] = defaultdict(list)
    for job, path in found.items():
        paths[job[:-1]].append(path)
    cells = {}
    for key, some in paths.items():
        ends = np.array([path[-1] for path in some])
        error = float(ends.std(ddof=1) / np.sqrt(len(some))) if len(some) > 1 else 0.0
        cells[key] = Cell(float(ends.mean()), error, float(np.mean(some, axis=0).min()), [min(path) for path in some])
    return cells


def tables(found: dict[kept_runs.Job, list[float]]) -> Iterable[str]:
    """Horizons and epsilons; then every world."""
    cells = cells_of(found)
    asked = sorted({(horizon, epsilon) for _, _, policy, horizon, epsilon in cells if policy == "cautious"})
    yield (
        "| customers | epsilon | worlds | runs | cautious | thompson | one-price "
        f"| lowest mean, asked {LEAST_MEAN} | where demand changes, {LEAST_RUN} | worst run | runs below {LEAST_RUN} |"
    )
    yield "|---:|---:|---|---:|" + "---:|" * 7
    for horizon, epsilon in asked:
        files = sorted({file for file, *_, h, e in cells if (h, e) == (horizon, epsilon)})
        for some in (*([each] for each in files), *([files] if len(files) > 1 else [])):
            yield summary(cells, some, horizon, epsilon)
    for horizon, epsilon in asked:
        yield from ("", f"{horizon:,} customers, epsilon {epsilon:g}", "")
        yield "| world | runs | cautious | thompson | one-price | lowest mean | worst run |"
        yield "|---|" + "---:|" * 6
        for file, name in sorted({key[:2] for key in cells if key[2:] == ("cautious", horizon, epsilon)}):
            own = cells[file, name, "cautious", horizon, epsilon]
            ends = [f"{own.end:.3f}" + (f" ± {own.error:.3f}" if len(own.worst) > 1 else "")]
            for policy in POLICIES[1:]:
                other = cells.get((file, name, policy, horizon, epsilon if policy in PRIVATE else 1.0))
                ends.append("" if other is None else f"{other.end:.3f}")
            yield (
                f"| {file}: {name} | {len(own.worst)} | {' | '.join(ends)} | {own.worst_mean:.3f} "
                f"| {min(own.worst):.3f} |"
            )


def summary(cells: dict[Key, Cell], files: list[str], horizon: int, epsilon: float) -> str:
    """A row of the first table: all worlds of these files. Policies are compared in the worlds that all were run in."""
    keys = [key for key in cells if key[0] in files and key[2:] == ("cautious", horizon, epsilon)]
    own = {key[:2]: cells[key] for key in keys}
    ends = [f"{np.mean([cell.end for cell in own.values()]):.4f}"]
    for policy in POLICIES[1:]:
        each = epsilon if policy in PRIVATE else 1.0
        others = [cells.get((*world, policy, horizon, each)) for world in own]
        ends.append(f"{np.mean([cell.end for cell in others if cell]):.4f}" if all(others) else "")
    shown = []
    for midway in (False, True):
        lows = [
            (cell.worst_mean, world[1])
            for world, cell in own.items()
            if _cases(world[0], horizon)[world[1]].midway == midway
        ]
        shown.append(f"{min(lows)[0]:.3f} ({min(lows)[1]})" if lows else "")
    worst = [each for cell in own.values() for each in cell.worst]
    runs = "-".join(str(each) for each in sorted({len(cell.worst) for cell in own.values()}))
    below = sum(each < LEAST_RUN for each in worst)
    return (
        f"| {horizon:,} | {epsilon:g} | {', '.join(map(str, files))}, {len(own)} | {runs} | {' | '.join(ends)} "
        f"| {' | '.join(shown)} | {min(worst):.3f} | {below} of {len(worst)} |"
    )


def _cases(file: str, horizon: int) -> dict[str, Case]:
    return importlib.import_module(f"shops.{file}").cases(horizon)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", nargs="+", default=["designed", "unseen", "fresh", "held_back"], help="their files")
    parser.add_argument("--only", nargs="+", metavar="WORLD", help="of these, by name; all unless given")
    parser.add_argument("--horizons", type=int, nargs="+", default=[5_000, 50_000, 500_000])
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.5, 1.0, 3.0])
    parser.add_argument("--policies", nargs="+", default=list(POLICIES))
    parser.add_argument("--runs", type=int, default=16)
    parser.add_argument("--page", action="store_true", help="print the tables of what there is, and run nothing")
    kept_runs.add_options(parser, "build/shops.jsonl")
    given = parser.parse_args()
    if not given.page:
        jobs: list[kept_runs.Job] = []
        for number, horizon, epsilon in pairs(range(given.runs), given.horizons, given.epsilons):
            for file, policy in pairs(given.worlds, given.policies):
                if policy in PRIVATE or epsilon == 1.0:
                    names = [name for name in _cases(file, horizon) if not given.only or name in given.only]
                    jobs += [Run(file, name, policy, horizon, epsilon, number) for name in names]
        kept_runs.play(play, jobs, given)
    print("\n".join(tables(kept_runs.read(given.file))))


if __name__ == "__main__":
    main()
