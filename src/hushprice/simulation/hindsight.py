"""The best one price for everyone, in hindsight: what personal prices have to beat."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hushprice.demand import family, features
from hushprice.numerics.jit import step
from hushprice.price_search import coefficients
from hushprice.simulation import contexts
from hushprice.simulation.scratch import STRETCH, Stretch, new_stretch
from hushprice.simulation.world import KernelMarket, TrialInput
from hushprice.types import FloatArray

PRICES = 33  # of a grid


def narrow(totals: Callable[[FloatArray], FloatArray]) -> float:
    """The price in [0, 1] with the largest total, from totals for many prices at once."""
    return float(narrow_many(lambda prices: totals(prices[0])[None], 1)[0])


def narrow_many(totals: Callable[[FloatArray], FloatArray], trials: int) -> FloatArray:
    """That price of each trial, from totals for PRICES prices a trial at once: a grid, narrowed three times."""
    best, low, high = np.zeros(trials), np.zeros(trials), np.ones(trials)
    for _ in range(4):
        prices = np.linspace(low, high, PRICES, axis=1)
        best = prices[np.arange(trials), totals(prices).argmax(axis=1)]
        reach = (high - low) / (PRICES - 1)
        low, high = np.maximum(0.0, best - reach), np.minimum(1.0, best + reach)
    return best


def best_fixed_price(world: KernelMarket, given: TrialInput) -> float:
    """The one price that would have earned most on the customers of this trial."""
    return narrow(lambda prices: revenue_curve(world, given, prices))


def revenue_curve(world: KernelMarket, given: TrialInput, prices: FloatArray) -> FloatArray:
    """Total expected revenue of each of the given fixed prices over the whole horizon."""
    stretch, sums = new_stretch(world.stream.size, world.theta.size), np.zeros((prices.size, STRETCH))
    if not _earn(world, given, prices, stretch, sums):
        raise KeyboardInterrupt
    return np.array([_total(row) for row in sums])


@step
def _earn(world: KernelMarket, given: TrialInput, prices: FloatArray, stretch: Stretch, sums: FloatArray) -> bool:
    """What the prices, a row each, bring in, into one of STRETCH sums in turn; False when the trial was stopped."""
    a, b = stretch.line[0], stretch.line[1]
    for start in range(1, given.horizon + 1, STRETCH):
        if given.control[0] != 0:
            return False
        count = min(STRETCH, given.horizon - start + 1)
        contexts.fill(world.stream, given.seed, given.trial, start, count, stretch.x)
        features.fill(world.map, stretch.x, count, stretch.u, stretch.v)
        coefficients.demand_line(world.theta, stretch.u, stretch.v, count, a, b)
        for m in range(prices.size):
            p, row = prices[m], sums[m]
            for i in range(count):
                row[i] += p * family.mean(world.family, world.slope, a[i] + b[i] * p)
    return True


@step
def _total(numbers: FloatArray) -> float:
    """The sum, in order."""
    total = 0.0
    for i in range(numbers.size):
        total += numbers[i]
    return total
