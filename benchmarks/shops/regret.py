"""Regret of policy cautious in random markets of the paper's model, beside Thompson sampling and the best fixed price.

    python benchmarks/shops/regret.py --markets 3

Regret is earnings lost a customer against the best personal prices for the very customers of the run, times 1e4. Prints
a table for docs/lab/shops.md.
"""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from hushprice.shops.trials import BLOCK, CUSTOMERS, run_shop
from shops.classes import CLASSES, DESIGNED, Market

COMPARED = 10 * BLOCK
WAYS = {"cautious": ("cautious", True), "its noise off": ("cautious", False), "Thompson": ("thompson", True)}


def regret(job: tuple[str, int, str, int, float]) -> float:
    """Of one way in one market."""
    name, number, way, horizon, risk = job
    policy, noise = WAYS[way]
    market = Market(CLASSES[name], number)
    product = replace(market.product(), risk=risk)
    found = run_shop(
        policy, product=product, world=market, horizon=horizon, trials=1, seed=number, noise=noise, workers=1
    )
    return 1e4 * (best(market, number, horizon)[0] - float(found.earnings[0, -1]) / horizon)


def best(market: Market, number: int, horizon: int) -> tuple[float, float]:
    """What the best personal prices earn a customer of the run with this seed, and how much less the best fixed price.

    The latter on the first customers alone, the same for both: who comes moves either by more than they are apart.
    """
    grid = np.linspace(0.02, 1.0, 99)
    total, apart = 0.0, np.zeros(grid.size)
    for first in range(0, horizon, BLOCK):
        rng = np.random.default_rng((number, 0, CUSTOMERS, first))  # as the trial draws them
        contexts = market.contexts(first, BLOCK, rng)[: horizon - first]
        personal = float(market.best_earnings(first, contexts).sum())
        total += personal
        if first < COMPARED:
            prices = np.broadcast_to(grid[:, None], (grid.size, len(contexts)))
            apart += [personal - (each * market.probabilities(first, contexts, each)).sum() for each in prices]
    return total / horizon, float(apart.min()) / min(horizon, COMPARED)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markets", type=int, default=10)
    parser.add_argument("--horizon", type=int, default=100_000)
    parser.add_argument("--risk", type=float, default=1.0)
    parser.add_argument("--all", action="store_true", help="with the classes that had no part in choosing constants")
    given = parser.parse_args()
    print("| market | " + " | ".join(WAYS) + " | best fixed price |")
    print("|---|" + "---:|" * (len(WAYS) + 1))
    with ProcessPoolExecutor() as pool:
        for name in CLASSES if given.all else DESIGNED:
            row = []
            for way in WAYS:
                jobs = [(name, number, way, given.horizon, given.risk) for number in range(given.markets)]
                row.append(float(np.mean(list(pool.map(regret, jobs)))))
            found = np.array([best(Market(CLASSES[name], each), each, given.horizon) for each in range(given.markets)])
            row.append(1e4 * float(found[:, 1].mean()))
            print(f"| {name} | " + " | ".join(f"{each:.1f}" for each in row) + " |", flush=True)


if __name__ == "__main__":
    main()
