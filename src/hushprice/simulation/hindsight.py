"""The best one price for everyone, in hindsight: what personal prices have to beat."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hushprice.demand import family, features
from hushprice.numerics.jit import step
from hushprice.price_search import coefficients
from hushprice.simulation import contexts
from hushprice.simulation.scratch import STRETCH, World, scratch
from hushprice.types import FloatArray, IntArray

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


def best_fixed_price(world: World, seed: int, trial: int, horizon: int, control: IntArray) -> float:
    """The one price that would have earned most on this trial's customers."""

    def totals(prices: FloatArray) -> FloatArray:
        earned = np.zeros(prices.size)
        if not revenue_curve(world, seed, trial, horizon, prices, earned, control):
            raise KeyboardInterrupt
        return earned

    return narrow(totals)


@step
def revenue_curve(
    world: World, seed: int, trial: int, horizon: int, prices: FloatArray, totals: FloatArray, control: IntArray
) -> bool:
    """Total expected revenue of each of the given fixed prices over the whole horizon."""
    room = scratch(world.stream.size, world.theta.size)
    a, b = room.line[0], room.line[1]
    sums = np.zeros((prices.size, STRETCH))
    for start in range(1, horizon + 1, STRETCH):
        if control[0] != 0:
            return False
        count = min(STRETCH, horizon - start + 1)
        contexts.fill(world.stream, seed, trial, start, count, room.x)
        features.fill(world.map, room.x, count, room.u, room.v)
        coefficients.demand_line(world.theta, room.u, room.v, count, a, b)
        for m in range(prices.size):
            p, row = prices[m], sums[m]
            for i in range(count):
                row[i] += p * family.mean(world.family, world.slope, a[i] + b[i] * p)
    for m in range(prices.size):
        totals[m] = np.sum(sums[m])
    return True
