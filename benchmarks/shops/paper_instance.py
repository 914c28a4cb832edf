"""Policy cautious on the paper's own instance, with today's price given: does the promise of `risk` hold there?

    python benchmarks/shops/paper_instance.py --runs 16

Half of the highest price today, floor 0, ceiling 1, a quarter expected to buy (in truth 22 % at d = 2, where 0.5 is
nearly the best single price by luck, and 28 % at d = 3). Regret is earnings lost a customer against the best personal
prices, times 1e4; earnings are relative to staying; "worst" is the lowest moment after 1,000 customers (at T = 1,000,
the end): of the mean over runs, and of any run. Prints a table.
"""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from scipy.special import expit

from hushprice.price_search.logistic import best_relative_price
from hushprice.product import Product
from hushprice.shops.trials import run_shop
from hushprice.simulation.market import paper_market
from hushprice.types import FloatArray

EPSILONS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
PROMISED = 1000


class PaperWorld:
    """The paper's numerical section as a world: demand logistic in [x; -p] / sqrt(d), x uniform."""

    def __init__(self, dimension: int) -> None:
        market = paper_market(dimension)
        scale = float(market.demand.slope) / np.sqrt(dimension)
        self._level, self._response = scale * market.theta[:-1], scale * float(market.theta[-1])

    def contexts(self, start: int, count: int, rng: np.random.Generator) -> FloatArray:
        return rng.uniform(-1.0, 1.0, (count, self._level.size))

    def probabilities(self, start: int, contexts: Any, prices: FloatArray) -> FloatArray:
        return np.asarray(expit(contexts @ self._level - self._response * prices))

    def best_earnings(self, count: int = 200_000) -> float:
        """What the best personal prices earn a customer: z is the price itself, and there is no cost."""
        contexts = self.contexts(0, count, np.random.default_rng(0))
        level, response = contexts @ self._level, np.full(count, self._response)
        prices = best_relative_price(level, response, margin=0.0, lowest=0.0, highest=1.0)
        return float((prices * self.probabilities(0, contexts, prices)).mean())


def product(dimension: int, epsilon: float) -> Product:
    return Product(
        floor=0.0, ceiling=1.0, reference_price=0.5, conversion=0.25, contexts=dimension - 1, epsilon=epsilon
    )


def run(job: tuple[int, int, float, int]) -> tuple[float, float, FloatArray]:
    """One run: earnings a customer, by staying too, and the share of staying at every checkpoint that is promised."""
    dimension, horizon, epsilon, number = job
    found = run_shop(
        "cautious",
        product=product(dimension, epsilon),
        world=PaperWorld(dimension),
        horizon=horizon,
        trials=1,
        seed=number,
        workers=1,
    )
    shares = found.shares[0, found.checkpoints >= min(PROMISED, horizon)]
    return float(found.earnings[0, -1]) / horizon, float(found.staying[0, -1]) / horizon, shares


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=16)
    parser.add_argument("--horizons", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--epsilons", type=float, nargs="+", default=list(EPSILONS))
    parser.add_argument("--processes", type=int, default=None)
    given = parser.parse_args()
    print("| d | T | epsilon | regret | of staying | earnings | worst mean | worst run |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    with ProcessPoolExecutor(given.processes) as pool:
        for dimension in (2, 3):
            best = PaperWorld(dimension).best_earnings()
            for horizon in given.horizons:
                for epsilon in given.epsilons:
                    jobs = [(dimension, horizon, epsilon, number) for number in range(given.runs)]
                    earned, stayed, paths = zip(*pool.map(run, jobs), strict=True)
                    shares = np.array(paths)
                    cells = [f"{1e4 * (best - np.mean(each)):.1f}" for each in (earned, stayed)]
                    cells += [f"{np.sum(earned) / np.sum(stayed):.3f}"]
                    cells += [f"{shares.mean(axis=0).min():.3f}", f"{shares.min():.3f}"]
                    print(f"| {dimension} | {horizon:,} | {epsilon:g} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
