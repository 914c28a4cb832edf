"""What a plan is held against on each market of the prior: knowing demand, one good price, and the reference price."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hushprice.numerics.jit import step
from hushprice.simulation.hindsight import narrow, revenue_curve
from hushprice.simulation.kernels.paper import arrive
from hushprice.simulation.market import Market
from hushprice.simulation.scratch import STRETCH, World, scratch
from hushprice.types import FloatArray

CUSTOMERS = 8 * STRETCH  # drawn to know what a customer is worth on average
_TRIAL = 1 << 30  # of the random tape: customers that no forecast meets


class Yardsticks(NamedTuple):
    """Expected revenue a customer."""

    clairvoyant: float
    one_price: float
    reference_price: float


def yardsticks(market: Market, reference_price: float, seed: int, index: int) -> Yardsticks:
    """Of the market of that index. One price is the best for theta*, which no shop knows."""
    world, trial, control = market.world(CUSTOMERS), _TRIAL + index, np.zeros(1, dtype=np.int64)

    def totals(prices: FloatArray) -> FloatArray:
        earned = np.zeros(prices.size)
        revenue_curve(world, seed, trial, CUSTOMERS, prices, earned, control)
        return earned

    one, reference = totals(np.array([narrow(totals), reference_price])) / CUSTOMERS
    return Yardsticks(most(world, seed, trial) / CUSTOMERS, float(one), float(reference))


@step
def most(world: World, seed: int, trial: int) -> float:
    """What the customers would bring in at the prices best for each."""
    room = scratch(world.stream.size, world.theta.size)
    total = 0.0
    for start in range(1, CUSTOMERS + 1, STRETCH):
        arrive(world, seed, trial, start, STRETCH, room)
        total += np.sum(room.line[3])
    return total
