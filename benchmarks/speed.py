"""How fast the simulator is, as ratios measured in one run on one core.

Beside the policy stand a plain NumPy loop of the same algorithm (`naive.py`) and the clairvoyant simulation, which is
the cost of the environment alone: arrivals, demand, regret and surplus. Machines are noisy, so ratios are what counts.

    make bench                                   # about four minutes
    python benchmarks/speed.py --quick           # smaller sizes, no 1e7
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

import naive
import numpy as np

from hushprice import open_pricer
from hushprice.demand.families import Logistic
from hushprice.demand.features import main_effects
from hushprice.simulation.market import Market, paper_market
from hushprice.simulation.run import simulate

ROWS = (
    ("environment alone", "clairvoyant", "published"),
    ("paper (published)", "paper", "published"),
    ("paper (printed)", "paper", "printed"),
    ("nonprivate", "nonprivate", "published"),
)


def market_of(dimension: int) -> Market:
    """The paper's instance up to d = 11; beyond, the same with theta* spread evenly."""
    if dimension <= 11:
        return paper_market(dimension)
    theta = np.full(dimension, -0.5 / np.sqrt(dimension - 1))
    theta[-1] = np.sqrt(0.75)
    return Market(demand=Logistic(), features=main_effects(dimension - 1), theta=theta, name=f"spread, d = {dimension}")


def once(policy: str, horizon: int, dimension: int, calibration: str, seed: int) -> float:
    """Nanoseconds a period of one trial on one core."""
    result = simulate(
        policy,
        calibration=calibration,
        market=market_of(dimension),
        horizon=horizon,
        epsilon=2.0,
        trials=1,
        workers=1,
        seed=seed,
    )
    return 1e9 * result.seconds / horizon


def nanoseconds(policy: str, horizon: int, dimension: int, calibration: str = "published", repeats: int = 3) -> float:
    """The median of some repeats."""
    return statistics.median(once(policy, horizon, dimension, calibration, seed) for seed in range(repeats))


def side_by_side(horizon: int) -> dict[str, float]:
    """Median of three rounds; each round times every row once, so that a slow spell of the machine meets all alike."""
    rows: dict[str, list[float]] = {}
    for seed in range(3):
        for name, policy, calibration in ROWS:
            rows.setdefault(name, []).append(once(policy, horizon, 2, calibration, seed))
        loop = naive.run(horizon, 2, 1.0, horizon**-2.0, "published", seed)
        rows.setdefault("NumPy loop", []).append(1e9 * loop.seconds / horizon)
    return {name: statistics.median(times) for name, times in rows.items()}


def peak_memory(horizon: int, dimension: int) -> float:
    """Megabytes by which one trial raises the peak of a fresh process that has read its compiled code (Linux)."""
    code = f"""
import re
from hushprice import simulate
def run(horizon):
    simulate("paper", horizon=horizon, dimension={dimension}, trials=1, workers=1, epsilon=2.0)
def kilobytes(field):
    return int(re.search(field + r":\\s+(\\d+)", open("/proc/self/status").read())[1])
run(100)
open("/proc/self/clear_refs", "w").write("5")  # forget the peak so far
before = kilobytes("VmRSS")
run({horizon})
print((kilobytes("VmHWM") - before) / 1024)
"""
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def live_release(dimension: int, repeats: int = 40) -> float:
    """Milliseconds of one live quote that learns a record and releases a covariance with exact noise; the median."""
    pricer = open_pricer(policy="paper", horizon=1000, contexts=dimension - 1, epsilon=1.0)
    customers = np.random.default_rng(0).uniform(-1, 1, (repeats + 5, dimension - 1))
    times = []
    for customer in customers:
        started = time.perf_counter()
        quote = pricer.quote(customer)
        times.append(time.perf_counter() - started)
        pricer.observe(quote.id, 1)
    return 1e3 * statistics.median(times[5:])


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    horizon = 100_000 if quick else 1_000_000
    simulate("paper", horizon=100, trials=1, workers=1)

    print(f"d = 2, T = {horizon:,}, one core, eps1 = eps2 = 1, delta = 1/T^2 each")
    costs = side_by_side(horizon)
    environment, loop = costs["environment alone"], costs["NumPy loop"]
    print(f"{'':20} {'ns/period':>10} {'x environment':>14} {'NumPy loop / this':>18}")
    for name, cost in costs.items():
        print(f"{name:20} {cost:10.1f} {cost / environment:14.1f} {loop / cost:18.0f}")

    print("\nlinear in T: paper (published), d = 2, ns/period")
    for size in (10**4, 10**5, 10**6) if quick else (10**4, 10**5, 10**6, 10**7):
        print(f"  T = {size:>10,}: {nanoseconds('paper', size, 2, repeats=1 if size > 10**6 else 3):8.1f}")

    print(f"\nin d: T = {horizon // 10:,}, ns/period")
    for dimension in (2, 3, 5, 10, 20):
        alone = nanoseconds("clairvoyant", horizon // 10, dimension)
        cost = nanoseconds("paper", horizon // 10, dimension)
        print(f"  d = {dimension:2d}: paper {cost:9.1f}   environment {alone:6.1f}   ratio {cost / alone:6.1f}")

    print("\nlive: one quote, one record learned, one covariance released with exact noise")
    for dimension in (2, 20):
        print(f"  d = {dimension:2d}: {live_release(dimension):6.2f} ms")

    print(f"\nmemory a trial adds: d = 3, T = {horizon:,}: {peak_memory(horizon, 3):.1f} MB")
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", "from hushprice.cli import main; main()", "--help"], capture_output=True, check=False
    )
    print(f"hushprice --help: {time.perf_counter() - started:.2f} s")


if __name__ == "__main__":
    main()
