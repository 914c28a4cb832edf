"""Regret of policy cautious in random markets of the paper's model, beside Thompson sampling and the best fixed price.

    python benchmarks/shops/regret.py --markets 3

Regret is earnings lost a customer against the best personal prices, times 1e4. Prints a table for docs/lab/shops.md.
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

from hushprice.shops.trials import run_shop
from shops.classes import CLASSES, DESIGNED, Market

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
    return 1e4 * (_best(market)[0] - float(found.earnings[0, -1]) / horizon)


def _best(market: Market) -> tuple[float, float]:
    """What the best personal prices and the best fixed price earn a customer."""
    contexts = market.contexts(0, 20_000, np.random.default_rng(0))
    grid = np.linspace(0.02, 1.0, 99)
    fixed = max(price * market.probabilities(0, contexts, np.full(20_000, price)).mean() for price in grid)
    return float(market.best_earnings(0, contexts).mean()), float(fixed)


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
            found = np.array([_best(Market(CLASSES[name], number)) for number in range(given.markets)])
            row.append(1e4 * float((found[:, 0] - found[:, 1]).mean()))
            print(f"| {name} | " + " | ".join(f"{each:.1f}" for each in row) + " |", flush=True)


if __name__ == "__main__":
    main()
