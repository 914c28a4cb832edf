"""The planner's predictions beside simulation, on the whole grid: regret, and predicted / simulated.

Both are means over the same 50 demand vectors. Simulation draws its own luck for every vector: with one seed for all,
trial i would have the same noise in every market, and 50 markets would count for little more than one.

    python benchmarks/planner_grid.py             # about ten minutes on one core
    python benchmarks/planner_grid.py --quick     # without 1e6 customers
    python benchmarks/planner_grid.py --maps      # with an intercept, and with interactions, at 1e5 customers instead
"""

from __future__ import annotations

import argparse
import itertools
import math
import time

import numpy as np

from hushprice.policies.newton.rules import newton
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.delta import parse_delta
from hushprice.research.planner import prior
from hushprice.research.planner.outlook import outlook
from hushprice.simulation.run import simulate

HORIZONS = {10**4: 8, 10**5: 4, 10**6: 2}  # trials a vector
EPSILONS = (0.2, 1.0, 5.0)
FEATURES = (1, 2, 4, 9)
FACTOR = 1.5
OTHER_LUCK = 1000  # the seed of the first vector's simulation


def cell(customers: int, features: int, epsilon: float, trials: int, kind: str = "main") -> float:
    """Print one line of the table; returns the ratio."""
    markets = prior.markets(features, map=kind)
    first = markets[0]
    budget = EpsilonDelta(epsilon, parse_delta("2/T^2", customers))
    rules = newton(budget, demand=first.demand, features=first.features)
    predicted, error = outlook(markets, rules, customers, 0, 1).average_regret(customers)
    runs = np.array(
        [
            simulate(
                "noisy-newton",
                market=market,
                horizon=customers,
                epsilon=epsilon,
                trials=trials,
                seed=OTHER_LUCK + index,
                workers=1,
            ).regret
            for index, market in enumerate(markets)
        ]
    )
    simulated = float(runs.mean())
    miss = math.sqrt(float(runs.var(axis=1, ddof=1).mean()) / runs.size)
    ratio = predicted / simulated
    off = ratio * math.hypot(error / predicted, miss / simulated)
    named = f"{features}" if kind == "main" else f"{kind}, {features}"
    left = f"| {customers:.0e} | {epsilon:g} | {named} |".replace("e+0", "e")
    middle = f"{1e4 * predicted:.3g} ± {1e4 * error:.1g} | {1e4 * simulated:.3g} ± {1e4 * miss:.1g}"
    print(f"{left} {middle} | {ratio:.2f} ± {off:.2f} |", flush=True)
    return ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="leave out 1e6 customers")
    parser.add_argument("--maps", action="store_true", help="the other maps instead, with 12 trials a vector")
    given = parser.parse_args()
    started = time.perf_counter()
    print("| customers | epsilon | k | predicted regret x 1e4 | simulated | ratio |\n|---:|---:|---:|---:|---:|---:|")
    grid = itertools.product(HORIZONS.items(), EPSILONS, FEATURES)
    asked = [(customers, k, epsilon, trials, "main") for (customers, trials), epsilon, k in grid]
    if given.maps:
        asked = [(10**5, 2, epsilon, 12, kind) for kind in ("intercept", "interactions") for epsilon in (1.0, 5.0)]
    ratios = [cell(*each) for each in asked if not (given.quick and each[0] > 10**5)]
    held = sum(1 / FACTOR <= ratio <= FACTOR for ratio in ratios)
    print(f"\n{held} of {len(ratios)} cells within a factor {FACTOR:g}; from {min(ratios):.2f} to {max(ratios):.2f}.")
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
