"""A warm start beside a cold one: the same customers, with a fit of 50,000 rows of the same demand, and of another.

    python benchmarks/logs/warm_start.py --horizon 40000 --runs 4 --worlds designed unseen
    python benchmarks/logs/warm_start.py --horizon 40000 --runs 4 --wrong

Earnings are relative to staying. "cold, later" is what the cold run earned of customers SAVED + 1 on: a warm start that
earns as much of its own first customers is worth SAVED fresh ones. "ahead" is warm less cold over the whole horizon,
the mean over runs and its standard error; "worst" the lowest moment of any run after 1,000 customers.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from logs.simulated_fit import simulated_fit
from shops.designed import Case, logit, shop

from hushprice.shops.trials import run_shop
from hushprice.shops.world import World
from hushprice.types import FloatArray

SAVED = 20_000
PROMISED = 1000

# The product and the world of a run, and the world of another demand that the log is of.
WRONG: dict[str, tuple[Case, World]] = {
    "elastic; log inelastic": (Case(shop(), logit(2.6)), logit(0.3)),
    "inelastic; log elastic": (Case(shop(), logit(0.3, personal=0.5)), logit(2.6)),
    "right; log inelastic": (Case(shop(), logit(1.0, personal=1.7)), logit(0.3)),
    "right; log elastic": (Case(shop(), logit(1.0, personal=1.7)), logit(3.0)),
    "elastic; three times as many buy in the log": (Case(shop(), logit(2.6)), logit(2.6, conversion=0.054)),
    "elastic; attributes the other way round in the log": (Case(shop(), logit(2.6)), logit(2.6, personal=-2.0)),
    "half buy; log of a rise": (
        Case(shop(floor=10.0, ceiling=60.0, conversion=0.5), logit(2.0, conversion=0.5)),
        logit(0.1, conversion=0.5, personal=0.2),
    ),
}


class Run(NamedTuple):
    """Earnings of a run: all, from SAVED on, before the last SAVED, and the lowest moment; relative to staying."""

    whole: float
    later: float
    early: float
    worst: float


def run(job: tuple[str, str, bool, int, float, int]) -> Run:
    """One run."""
    file, name, warm, horizon, epsilon, number = job
    case, log = (
        WRONG[name] if file == "wrong" else (importlib.import_module(f"shops.{file}").cases(horizon)[name], None)
    )
    product = replace(case.product, epsilon=epsilon)
    if warm:
        prior = simulated_fit(product, log or case.world, epsilon=epsilon, seed=number)
        product = replace(product, prior=prior)
    result = run_shop("cautious", product=product, world=case.world, horizon=horizon, trials=1, seed=number, workers=1)
    earned, stayed, at = result.earnings[0], result.staying[0], result.checkpoints
    saved, left = int(np.searchsorted(at, SAVED)), int(np.searchsorted(at, horizon - SAVED))

    def share(first: int, last: int) -> float:
        return float((earned[last] - earned[first]) / (stayed[last] - stayed[first]))

    path: FloatArray = (earned / stayed)[at >= PROMISED]
    return Run(float(earned[-1] / stayed[-1]), share(saved, -1), float(earned[left] / stayed[left]), float(path.min()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--horizon", type=int, default=40_000)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--worlds", nargs="+", default=["designed", "unseen"])
    parser.add_argument("--only", nargs="+", help="names of worlds")
    parser.add_argument("--wrong", action="store_true", help="logs of another demand")
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args()
    cells = [("wrong", name) for name in WRONG] if given.wrong else [
        (file, name) for file in given.worlds for name in importlib.import_module(f"shops.{file}").cases(given.horizon)
    ]  # fmt: skip
    print("| world | cold | warm | ahead | warm, first | cold, later | worst cold | worst warm |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    with ProcessPoolExecutor(given.processes) as pool:
        for file, name in cells:
            if given.only and name not in given.only:
                continue
            jobs = [
                [(file, name, warm, given.horizon, given.epsilon, number) for number in range(given.runs)]
                for warm in (False, True)
            ]
            cold, warm = (np.array(list(pool.map(run, each))) for each in jobs)
            ahead = warm[:, 0] - cold[:, 0]
            error = ahead.std(ddof=1) / np.sqrt(len(ahead)) if len(ahead) > 1 else float("nan")
            print(
                f"| {name} | {cold[:, 0].mean():.3f} | {warm[:, 0].mean():.3f} | {ahead.mean():+.3f} ± {error:.3f} "
                f"| {warm[:, 2].mean():.3f} | {cold[:, 1].mean():.3f} | {cold[:, 3].min():.3f} | {warm[:, 3].min():.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
