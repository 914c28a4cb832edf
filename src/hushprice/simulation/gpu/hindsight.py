"""The best one price in hindsight on a GPU: a block of threads a trial, its customers shared out among them."""

from __future__ import annotations

import functools
from typing import Any

from numba import float64

from hushprice.demand import family, features
from hushprice.price_search import coefficients
from hushprice.simulation import contexts
from hushprice.simulation.gpu.fit import total
from hushprice.simulation.gpu.shape import Shape, known
from hushprice.simulation.gpu.steps import twins
from hushprice.simulation.gpu.toolkit import TEAM, cuda
from hushprice.simulation.hindsight import PRICES
from hushprice.simulation.world import customer_trial


@functools.cache
def earn(shape: Shape) -> Any:
    """`hindsight.revenue_curve` of every trial, for prices of its own: both are (trials, PRICES)."""
    d, k, in_double, double = shape.dimension, shape.contexts, known(shape._replace(single=False)), twins(False)
    come, describe, line = double(contexts.fill), double(features.fill), double(coefficients.demand_line)
    demanded, whose = double(family.mean), double(customer_trial)

    def earned(world, seed, first, horizon, prices, totals):  # type: ignore[no-untyped-def]
        t, local, shared = cuda.blockIdx.x, cuda.local.array, cuda.shared.array(TEAM, float64)
        x, u, v = local((k, 1), float64), local((d, 1), float64), local((d, 1), float64)
        a, b, sums = local(1, float64), local(1, float64), local(PRICES, float64)
        market = in_double(world, world.theta)
        trial = whose(market.customers, first + t)
        for m in range(PRICES):
            sums[m] = 0.0
        for period in range(1 + cuda.threadIdx.x, horizon + 1, TEAM):
            come(market.stream, seed, trial, period, 1, x)
            describe(market.map, x, 1, u, v)
            line(market.theta, u, v, 1, a, b)
            for m in range(PRICES):
                p = prices[t, m]
                sums[m] += p * demanded(market.family, market.slope, a[0] + b[0] * p)
        for m in range(PRICES):
            found = total(sums[m], shared)
            if cuda.threadIdx.x == 0:
                totals[t, m] = found

    return earned
