"""Policy cautious beside staying, one private price and Thompson sampling: every world, horizon and epsilon.

    python benchmarks/shops/measure.py --horizon 50000 --epsilon 1 --runs 16 --worlds designed unseen

Earnings are relative to staying; "worst" is the lowest moment of the first policy after 1,000 customers: of the mean
over runs, and of a single run. Prints a table for docs/lab/shops.md.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from hushprice.shops.trials import run_shop
from hushprice.shops.world import World
from hushprice.types import FloatArray

PROMISED = 1000
POLICIES = ("cautious", "thompson", "one-price")


def run(job: tuple[str, str, str, int, float, int]) -> tuple[float, np.ndarray]:
    """One run: what it earned in the end, and at every checkpoint after the first thousand."""
    file, name, policy, horizon, epsilon, number = job
    case = importlib.import_module(f"shops.{file}").cases(horizon)[name]
    product = replace(case.product, epsilon=epsilon)
    result = run_shop(policy, product=product, world=case.world, horizon=horizon, trials=1, seed=number, workers=1)
    relative = result.earnings[0] / result.staying[0]
    return float(relative[-1]), relative[result.checkpoints >= PROMISED]


def best_prices(file: str, name: str, horizon: int) -> tuple[float, float]:
    """The best single price and the best personal prices, relative to staying; of worlds that change, for the whole."""
    case = importlib.import_module(f"shops.{file}").cases(horizon)[name]
    product, rng = case.product, np.random.default_rng(0)
    grid = np.linspace(product.floor, product.ceiling, 61)
    earned, best, stayed = np.zeros(grid.size), 0.0, 0.0
    for start in np.linspace(0, horizon - 1, 16 if case.midway else 4).astype(int):
        contexts = case.world.contexts(int(start), 4000, rng)
        prices = [np.full(4000, price) for price in (*grid, product.reference_price)]
        margins = np.array(
            [(each - product.unit_cost) * _now(case.world, int(start), contexts, each) for each in prices]
        )
        earned, best, stayed = (
            earned + margins[:-1].sum(1),
            best + margins[:-1].max(0).sum(),
            stayed + margins[-1].sum(),
        )
    return float(earned.max() / stayed), float(best / stayed)


def _now(world: World, start: int, contexts: FloatArray, prices: FloatArray) -> FloatArray:
    """Chances of all at one moment: worlds that change take the time from the place in the stretch."""
    return np.concatenate(
        [world.probabilities(start, contexts[i : i + 50], prices[i : i + 50]) for i in range(0, 4000, 50)]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--horizon", type=int, default=50_000)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=16)
    parser.add_argument("--worlds", nargs="+", default=["designed", "unseen"])
    parser.add_argument("--policies", nargs="+", default=list(POLICIES))
    given = parser.parse_args()
    cells = [
        (file, name) for file in given.worlds for name in importlib.import_module(f"shops.{file}").cases(given.horizon)
    ]
    print("| world | best price | best personal | " + " | ".join(given.policies) + " | worst mean | worst run |")
    print("|---|---:|---:|" + "---:|" * (len(given.policies) + 2))
    ends: dict[str, list[float]] = {policy: [] for policy in given.policies}
    with ProcessPoolExecutor() as pool:
        for file, name in cells:
            row = [f"{each:.3f}" for each in best_prices(file, name, given.horizon)]
            worst = ("", "")
            for policy in given.policies:
                jobs = [(file, name, policy, given.horizon, given.epsilon, number) for number in range(given.runs)]
                found = list(pool.map(run, jobs))
                ends[policy].append(float(np.mean([end for end, _ in found])))
                row.append(f"{ends[policy][-1]:.3f}")
                if policy == given.policies[0]:
                    paths = np.array([path for _, path in found])
                    worst = (f"{paths.mean(axis=0).min():.3f}", f"{paths.min():.3f}")
            print(f"| {name} | " + " | ".join(row) + f" | {worst[0]} | {worst[1]} |", flush=True)
    means = " | ".join(f"{np.mean(ends[policy]):.4f}" for policy in given.policies)
    print(f"| mean | | | {means} | | |")


if __name__ == "__main__":
    main()
