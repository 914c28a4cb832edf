"""What it costs not to be trusted: earnings in three shops, growth of regret, and the price that is charged.

    python benchmarks/trust.py --runs 4 --output trust.json
    python benchmarks/trust.py --runs 8 --growth
    python benchmarks/trust.py --read trust.json --picture docs/images/trust/growth.svg
    python benchmarks/trust.py --evidence
    python benchmarks/trust.py --runs 3 --way "local, drawn price"
    python benchmarks/trust.py --runs 12 --epsilons
    python benchmarks/trust.py --runs 8 --told

The first command runs policy cautious under every trust model, the second in the market alone; the third prints the
tables of docs/lab/trust.md from their results and draws the growth of regret; the fourth runs nothing, and says how
much noise there is; the fifth runs one way of the shops alone; the sixth is about `local` with one price in the market,
at four epsilons; the last says what `shuffle` loses by not knowing who comes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from shops.classes import CLASSES, Market

from hushprice.policies.cautious.pricing.population import PEOPLE, Population
from hushprice.policies.cautious.pricing.question import question_of
from hushprice.policies.cautious.rules import CautiousRules
from hushprice.product import Product
from hushprice.research.shop_planner.runs import UnseenAttributes
from hushprice.settings import TRUST
from hushprice.shops import trials
from hushprice.shops.private_strategy import PrivateStrategy, rules_of
from hushprice.shops.trials import BLOCK, run_shop
from hushprice.shops.world import World
from hushprice.trust.bits import keep_of
from hushprice.trust.drawn_price import middles
from hushprice.types import FloatArray
from shops import designed

CUSTOMERS = 50_000
SHOPS = ("elastic", "half buy", "classes, 60 % buy")
MARKET = "main, k = 2, slope 4, correlated"
HORIZONS = (1000, 10_000, 100_000)
LONG = 300_000
# The trust model, epsilon, and whether anything is known of customers.
WAYS = {
    "central": ("central", 1.0, True),
    "aggregated": ("aggregated", 1.0, True),
    "shuffle": ("shuffle", 1.0, True),
    "local": ("local", 1.0, True),
    "local, epsilon 4": ("local", 4.0, True),
    "local, one price": ("local", 1.0, False),
    "shuffle, one price": ("shuffle", 1.0, False),
    "local, drawn price": ("local", 1.0, True),
}
GROWING = ("central", "aggregated", "shuffle", "local", "local, one price", "shuffle, one price")
AT_EPSILONS = {f"local, one price, epsilon {each:g}": ("local", each, False) for each in (0.5, 1.0, 2.0, 4.0)}
Job = tuple[str, str, int, int]  # shop or market, way, customers, number


def found(job: Job) -> tuple[Job, float]:
    """A shop's earnings over staying, or a market's regret in all."""
    name, way, customers, number = job
    if name == MARKET:
        market = Market(CLASSES[name], number)
        earned, _ = _played(market.product(), market, way, customers, number)
        return job, best(market, customers, number) - earned
    case = designed.cases(customers)[name]
    earned, stayed = _played(case.product, case.world, way, customers, number)
    return job, earned / stayed


def best(market: Market, customers: int, number: int) -> float:
    """What the very customers of a run are worth at the price that is best for each."""
    total = 0.0
    for first in range(0, customers, BLOCK):
        contexts = market.contexts(first, BLOCK, np.random.default_rng((number, 0, 0, first)))
        total += float(market.best_earnings(first, contexts[: customers - first]).sum())
    return total


class DrawnPrices(PrivateStrategy):
    """Every device draws its price, at the epsilon of its report (trust/drawn_price.py, for many customers at once)."""

    def prices(self, contexts: FloatArray) -> FloatArray:
        super().prices(contexts)  # draws coins
        keep, question = keep_of(self._product.epsilon), question_of(self.quoter)
        own = self.quoter.relative_prices(contexts, np.zeros(len(contexts)))
        above = own > question.price((0.0,) * question.contexts, 0.0)
        above ^= self._rng.random(len(contexts)) >= keep
        low, high = middles(question, keep)
        relative = np.where(above, high, low) + question.spread * self._coins
        prices = self._product.reference_price + self._product.reach * relative
        return np.clip(prices, self._product.floor, self._product.ceiling)


def _played(product: Product, world: World, way: str, customers: int, number: int) -> tuple[float, float]:
    trust, epsilon, known = (WAYS | AT_EPSILONS)[way]
    product = replace(product, epsilon=epsilon)
    if not known:
        product, world = replace(product, contexts=0), UnseenAttributes(world)
    with patch.object(trials, "PrivateStrategy", DrawnPrices if "drawn" in way else PrivateStrategy):
        result = run_shop(
            "cautious", product=product, world=world, horizon=customers, trials=1, seed=number, trust=trust, workers=1,
        )  # fmt: skip
    return float(result.earnings[0, -1]), float(result.staying[0, -1])


def measure(runs: int, workers: int, output: Path, ways: tuple[str, ...], shops: tuple[str, ...]) -> None:
    """One run of everything after the other; results are written as they come."""
    jobs: list[Job] = []
    for number in range(runs):
        jobs += [(name, way, CUSTOMERS, number) for name in shops for way in ways or WAYS]
        jobs += [(MARKET, way, each, number) for each in HORIZONS for way in (() if ways else GROWING)]
    results: list[Any] = []
    with ProcessPoolExecutor(workers) as pool:
        for done in pool.map(found, jobs):
            results.append(done)
            output.write_text(json.dumps(results))


def tables(results: list[tuple[list[Any], float]]) -> dict[str, dict[int, tuple[float, float]]]:
    """Print both tables; returns regret by way and horizon."""
    cells: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for (name, way, customers, _), value in results:
        cells[name, way, customers].append(value)
    print("| trust | " + " | ".join(SHOPS) + " | mean |\n|---|" + "---:|" * (len(SHOPS) + 1))
    for way in [each for each in WAYS if (SHOPS[0], each, CUSTOMERS) in cells]:
        row = [_mean(cells[shop, way, CUSTOMERS]) for shop in SHOPS]
        mean = np.mean([each for each, _ in row])
        print(f"| {way} | " + " | ".join(f"{each:.3f} ± {error:.3f}" for each, error in row) + f" | {mean:.3f} |")
    print("\n| trust | " + " | ".join(f"T = {each:,}" for each in HORIZONS) + " | slope | of the last ten times |")
    print("|---|" + "---:|" * (len(HORIZONS) + 2))
    known = [way for way in GROWING if (MARKET, way, HORIZONS[0]) in cells]
    regret = {way: {each: _mean(cells[MARKET, way, each]) for each in HORIZONS} for way in known}
    for way, row in regret.items():
        draws = np.array([cells[MARKET, way, each] for each in HORIZONS])
        slopes = " | ".join(f"{m:.2f} ± {e:.2f}" for m, e in (_slope(draws, 0), _slope(draws, -2)))
        print(f"| {way} | " + " | ".join(f"{m:.1f} ± {e:.1f}" for m, e in row.values()) + f" | {slopes} |")
    return regret


def _slope(draws: FloatArray, first: int) -> tuple[float, float]:
    """Of ln regret in ln T from this horizon on, and how far it varies over draws taken again with replacement."""
    rng, runs = np.random.default_rng(0), draws.shape[1]
    asked = [np.arange(runs), *rng.integers(runs, size=(2000, runs))]
    horizons = np.log(HORIZONS[first:])
    found = [np.polyfit(horizons, np.log(draws[first:, each].mean(axis=1)), 1)[0] for each in asked]
    return float(found[0]), float(np.std(found[1:]))


def picture(regret: dict[str, dict[int, tuple[float, float]]], file: Path) -> None:
    """Regret in all over customers, by trust model."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "hushprice"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.0, 4.0), layout="constrained")
    for way, row in regret.items():
        means = [mean for mean, _ in row.values()]
        axes.errorbar(list(row), means, yerr=[2.0 * error for _, error in row.values()], marker="o", ms=3, label=way)
    axes.set(xscale="log", yscale="log", xlabel="customers", ylabel="regret, in prices of 1")
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None)


def over_epsilon(runs: int, workers: int) -> None:
    """Print regret of `local` with one price at each epsilon, the same draws of the market for all."""
    jobs: list[Job] = [(MARKET, way, HORIZONS[-1], number) for number in range(runs) for way in AT_EPSILONS]
    cells: dict[str, list[float]] = defaultdict(list)
    with ProcessPoolExecutor(workers) as pool:
        for (_, way, _, _), regret in pool.map(found, jobs):
            cells[way].append(regret)
    print(f"| epsilon | T = {HORIZONS[-1]:,} |\n|---:|---:|")
    for way, (_, epsilon, _) in AT_EPSILONS.items():
        mean, error = _mean(cells[way])
        print(f"| {epsilon:g} | {mean:.1f} ± {error:.1f} |")


def told(runs: int) -> None:
    """Print regret of `central`, of `shuffle`, and of `shuffle` that knows who comes to the market, without doubt."""
    rows: dict[str, list[float]] = defaultdict(list)
    for number in range(runs):
        people = Market(CLASSES[MARKET], number).contexts(0, PEOPLE, np.random.default_rng((number, PEOPLE)))
        for way in ("central", "shuffle"):
            rows[way].append(found((MARKET, way, LONG, number))[1])
        with patch.multiple(Population, people=lambda self, known=people: known, doubt=0.0):
            rows["shuffle, told who comes"].append(found((MARKET, "shuffle", LONG, number))[1])
    print(f"| trust | T = {LONG:,} |\n|---|---:|")
    for way, regret in rows.items():
        mean, error = _mean(regret)
        print(f"| {way} | {mean:.0f} ± {error:.0f} |")


def evidence() -> None:
    """Of one price alone: the noise of a side, and customers until as much is known as `central` knows of 50,000."""
    lines = []
    for conversion in (0.02, 0.5):
        product = designed.shop(conversion=conversion, contexts=0)
        rules = {trust: rules_of(product, 10 * CUSTOMERS, True, trust) for trust in TRUST}
        asked = _known(rules["central"], CUSTOMERS)
        for trust, each in rules.items():
            noise = [each.score_noise(0, count)[0] for count in (1000, 10_000, 100_000)]
            high = _until(each, asked)
            lines.append(
                f"| {100 * conversion:g} % | {trust} | " + " | ".join(f"{n:.1f}" for n in noise) + f" | {high:,} |"
            )
    print("| who buy | trust | 1,000 | 10,000 | 100,000 | customers for the same |\n|---:|---|---:|---:|---:|---:|")
    print("\n".join(lines))
    # How local grows with epsilon, at half who buy: customers that know as much as CUSTOMERS do at epsilon 1.
    products = {each: replace(product, epsilon=each) for each in (0.25, 0.5, 1.0, 2.0)}
    own = {each: rules_of(one, 10 * CUSTOMERS, True, "local") for each, one in products.items()}
    asked = _known(own[1.0], CUSTOMERS)
    print("\n| epsilon | customers for the same, local |\n|---:|---:|")
    print("\n".join(f"| {each:g} | {_until(rules, asked):,} |" for each, rules in own.items()))


def _until(rules: CautiousRules, asked: float) -> int:
    """How many customers it takes to know so much, to a thousandth."""
    low, high = 1, 2**40
    while high - low > max(1, low // 1000):
        middle = (low + high) // 2
        low, high = (middle, high) if _known(rules, middle) < asked else (low, middle)
    return high


def _known(rules: CautiousRules, customers: int) -> float:
    """Squares of a side over variances, added up over batches: what is known of one side's chance to buy."""
    slots, known, bought = 0, 0.0, rules.model.conversion
    while slots < customers:
        count = min(rules.next_count(slots), customers - slots)
        known += (0.5 * count) ** 2 / (0.5 * count * bought * (1.0 - bought) + rules.score_noise(0, count)[0] ** 2)
        slots += count
    return known


def _mean(values: list[float]) -> tuple[float, float]:
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--output", type=Path, default=Path("trust.json"))
    parser.add_argument("--read", type=Path)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--evidence", action="store_true")
    parser.add_argument("--epsilons", action="store_true")
    parser.add_argument("--told", action="store_true", help="who comes")
    parser.add_argument("--growth", action="store_true", help="the market alone")
    parser.add_argument("--way", action="append", choices=list(WAYS), help="of the shops alone, this way")
    given = parser.parse_args()
    if given.evidence:
        evidence()
        return
    if given.told:
        told(given.runs)
        return
    if given.epsilons:
        over_epsilon(given.runs, given.workers)
        return
    if given.read is None:
        measure(given.runs, given.workers, given.output, tuple(given.way or ()), () if given.growth else SHOPS)
    regret = tables(json.loads((given.read or given.output).read_text()))
    if given.picture is not None:
        picture(regret, given.picture)


if __name__ == "__main__":
    main()
