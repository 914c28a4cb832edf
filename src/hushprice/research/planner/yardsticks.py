"""What a plan is held against on each market of the prior: knowing demand, one good price, and the reference price."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hushprice.numerics.jit import step
from hushprice.simulation.hindsight import narrow, revenue_curve
from hushprice.simulation.kernels.customers import arrive
from hushprice.simulation.market import Market
from hushprice.simulation.scratch import STRETCH, Stretch, new_stretch
from hushprice.simulation.world import KernelMarket, TrialInput
from hushprice.types import FloatArray

CUSTOMERS = 8 * STRETCH  # drawn to know what a customer is worth on average
_TRIAL = 1 << 30  # of the random tape: customers that no forecast meets


class Yardsticks(NamedTuple):
    """Expected revenue a customer by each yardstick."""

    clairvoyant: float
    one_price: float
    reference_price: float


def yardsticks(market: Market, reference_price: float, seed: int, index: int) -> Yardsticks:
    """The yardsticks of the market of that index. One price is the best for theta*, which no shop knows."""
    world, trial = market.world(CUSTOMERS), _TRIAL + index
    given = TrialInput(seed, trial, CUSTOMERS, np.zeros(1, dtype=np.int64), 0)

    def totals(prices: FloatArray) -> FloatArray:
        return revenue_curve(world, given, prices)

    one, reference = totals(np.array([narrow(totals), reference_price])) / CUSTOMERS
    best = most(world, seed, trial, new_stretch(world.stream.size, world.theta.size))
    return Yardsticks(best / CUSTOMERS, float(one), float(reference))


@step
def most(world: KernelMarket, seed: int, trial: int, stretch: Stretch) -> float:
    """What the customers would bring in at the prices best for each."""
    total = 0.0
    for start in range(1, CUSTOMERS + 1, STRETCH):
        arrive(world, seed, trial, start, STRETCH, stretch)
        part = 0.0
        for i in range(STRETCH):
            part += stretch.line[3, i]
        total += part
    return total
