"""Customers of a simulated market: who comes, and how they answer prices."""

from __future__ import annotations

import numpy as np

from hushprice.demand import family, features, welfare
from hushprice.numerics import tape
from hushprice.numerics.jit import step
from hushprice.price_search import coefficients
from hushprice.simulation import contexts
from hushprice.simulation.scratch import Stretch
from hushprice.simulation.world import KernelMarket, customer_trial
from hushprice.types import FloatArray


@step
def arrive(world: KernelMarket, seed: int, trial: int, start: int, count: int, stretch: Stretch) -> None:
    """Customers come; what a clairvoyant would charge them and earn.

    Where one number decides what a customer does it is drawn now, into the row of demands: a GPU draws all numbers of a
    period side by side.
    """
    whose = customer_trial(world.customers, trial)
    if world.family == family.LOGISTIC:
        for i in range(count):
            stretch.out[4, i] = tape.uniform(seed, whose, start + i, tape.DEMAND)
    contexts.fill(world.stream, seed, whose, start, count, stretch.x)
    if start <= world.changed < start + count:
        for j in range(world.changed_x.size):
            stretch.x[j, world.changed - start] = world.changed_x[j]
    features.fill(world.map, stretch.x, count, stretch.u, stretch.v)
    a, b, best, worth = stretch.line[0], stretch.line[1], stretch.line[2], stretch.line[3]
    coefficients.demand_line(world.theta, stretch.u, stretch.v, count, a, b)
    for i in range(count):
        best[i] = welfare.clairvoyant_price(world.family, world.slope, a[i], b[i])
    for i in range(count):
        worth[i] = welfare.revenue(world.family, world.slope, a[i], b[i], best[i])


@step
def respond(world: KernelMarket, seed: int, trial: int, start: int, count: int, stretch: Stretch) -> None:
    """Customers answer the prices; what that is worth."""
    whose = customer_trial(world.customers, trial)
    a, b = stretch.line[0], stretch.line[1]
    price, z, revenue, surplus, demand = stretch.out[0], stretch.out[1], stretch.out[2], stretch.out[3], stretch.out[4]
    for i in range(count):
        z[i] = a[i] + b[i] * price[i]
    for i in range(count):
        revenue[i] = price[i] * family.mean(world.family, world.slope, z[i])
    for i in range(count):
        surplus[i] = welfare.surplus(world.family, world.slope, z[i])
    if world.family == family.LOGISTIC:  # apart from the others, so that it vectorizes
        for i in range(count):
            demand[i] = family.draw(family.LOGISTIC, world.slope, world.bound, z[i], demand[i], 0.5)
    else:
        for i in range(count):
            first, second = tape.uniforms(seed, whose, start + i, tape.DEMAND, 0)
            demand[i] = family.draw(world.family, world.slope, world.bound, z[i], first, second)
    if start <= world.changed < start + count and not np.isnan(world.changed_demand):
        demand[world.changed - start] = world.changed_demand


@step
def draw_coins(seed: int, whose: int, start: int, count: int, coins: FloatArray) -> None:
    """The public coin of each period, by which policies explore; `whose` is the trial whose customers come."""
    for i in range(count):
        coins[i] = tape.uniform(seed, whose, start + i, tape.EXPLORATION)
