"""The price for one customer in one compiled step, and prices for the margin over a unit cost."""

from __future__ import annotations

import numpy as np

from hushprice.demand.features import fill
from hushprice.numerics.jit import allocating, brief, step
from hushprice.policies.newton.pricing.dispersion import spread_lines
from hushprice.policies.newton.pricing.probe import is_on, move_lines
from hushprice.price_search.coefficients import bonus_curve, demand_line
from hushprice.price_search.one import price_of_one
from hushprice.types import FloatArray

LINES = 8  # rows of numbers about one customer


@step
def above_cost(
    cost: float, count: int, a: FloatArray, b: FloatArray, q0: FloatArray, q1: FloatArray, q2: FloatArray
) -> None:
    """Coefficients in r instead of p = c + (1 - c) r, in place: the search for revenue then finds the best margin.

    (p - c) f(a + b p) + width sqrt(q(p)) is (1 - c) times r f(a' + b' r) + width / (1 - c) sqrt(q'(r)), and r in [0, 1]
    are the prices from cost to ceiling.
    """
    above = 1.0 - cost
    for i in range(count):
        a[i] += b[i] * cost
        b[i] *= above
        q0[i] += cost * (q1[i] + cost * q2[i])
        q1[i] = above * (q1[i] + 2.0 * cost * q2[i])
        q2[i] *= above * above


@step
def lines_for_one(
    family: int,
    slope: float,
    theta: FloatArray,
    inverse: FloatArray,
    u: FloatArray,
    v: FloatArray,
    near: float,
    tilt: FloatArray,
    spread: float,
    uniform: float,
    cost: float,
    lines: FloatArray,
) -> None:
    """a, b, q0, q1, q2 of one customer into the first rows of `lines` (LINES, 1): moved, spread and above cost."""
    a, b, q0, q1, q2, uniforms, up, down = (
        lines[0],
        lines[1],
        lines[2],
        lines[3],
        lines[4],
        lines[5],
        lines[6],
        lines[7],
    )
    left, right = u.reshape(-1, 1), v.reshape(-1, 1)
    demand_line(theta, left, right, 1, a, b)
    bonus_curve(inverse, left, right, 1, q0, q1, q2, lines[6:8])
    if is_on(tilt):
        demand_line(tilt, left, right, 1, up, down)
        move_lines(family, slope, near, cost, 1, up, down, a, b, q1, q2)
    uniforms[0] = uniform
    spread_lines(spread, 1, uniforms, a, b, q1, q2)
    if cost > 0.0:
        above_cost(cost, 1, a, b, q0, q1, q2)


@allocating
def price_for_one(
    family: int,
    slope: float,
    theta: FloatArray,
    inverse: FloatArray,
    u: FloatArray,
    v: FloatArray,
    near: float,
    tilt: FloatArray,
    spread: float,
    uniform: float,
    cost: float,
    width: float,
    work: FloatArray,
) -> float:
    """The r that is best for a customer whose features are u + p v; p itself where there is no cost."""
    lines = np.empty((LINES, 1))
    lines_for_one(family, slope, theta, inverse, u, v, near, tilt, spread, uniform, cost, lines)
    a, b, q0, q1, q2 = lines[0, 0], lines[1, 0], lines[2, 0], lines[3, 0], lines[4, 0]
    return price_of_one(family, slope, width, a, b, q0, q1, q2, work)


@brief
def price_of_customer(
    features: int,
    family: int,
    constants: FloatArray,
    context: FloatArray,
    uniform: float,
    theta: FloatArray,
    inverse: FloatArray,
    tilt: FloatArray,
    parts: FloatArray,
    work: FloatArray,
) -> float:
    """The best price for a context: a live quote in one call.

    constants are slope, width, spread, cost, near; parts is (2, d). Features are written to parts and sums to work, so
    both belong to one call: calls that shared them would price one customer by another's features.
    """
    slope, width, spread, cost, near = constants[0], constants[1], constants[2], constants[3], constants[4]
    u, v = parts[0], parts[1]
    fill(features, context.reshape(-1, 1), 1, u.reshape(-1, 1), v.reshape(-1, 1))
    width = width / (1.0 - cost) if cost > 0.0 else width
    share = price_for_one(family, slope, theta, inverse, u, v, near, tilt, spread, uniform, cost, width, work)
    return min(cost + (1.0 - cost) * share, 1.0) if cost > 0.0 else share
