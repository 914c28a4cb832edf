"""The whole way from one customer's context to a price, as one compiled call: for a live quote every call counts.

The steps are those of NewtonQuoter.price_of, in the same order, so that the two agree to the last digit.
"""

from __future__ import annotations

from hushprice.demand.features import fill
from hushprice.numerics.jit import brief
from hushprice.optimizer.coefficients import bonus_curve, demand_line
from hushprice.optimizer.lanes import best_prices
from hushprice.optimizer.spread import spread_lines
from hushprice.types import FloatArray

ROWS = 9  # of the scratch `rows`, (ROWS, 1)


@brief
def price_of_customer(
    features: int,
    family: int,
    constants: FloatArray,
    context: FloatArray,
    uniform: float,
    theta: FloatArray,
    inverse: FloatArray,
    parts: FloatArray,
    rows: FloatArray,
    search: FloatArray,
) -> float:
    """The best price in [cost, 1]. constants are slope, width, spread and unit cost; parts is (2, d, 1)."""
    slope, width, dispersion, cost = constants[0], constants[1], constants[2], constants[3]
    u, v = parts[0], parts[1]
    a, b, q0, q1, q2, price, uniforms = rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], rows[6]
    fill(features, context.reshape(-1, 1), 1, u, v)
    demand_line(theta, u, v, 1, a, b)
    bonus_curve(inverse, u, v, 1, q0, q1, q2, rows[7:9])
    uniforms[0] = uniform
    spread_lines(dispersion, 1, uniforms, a, b, q1, q2)
    above = 1.0 - cost
    if cost > 0.0:  # coefficients in r instead of p = cost + above r
        a[0] += b[0] * cost
        b[0] *= above
        q0[0] += cost * (q1[0] + cost * q2[0])
        q1[0] += 2.0 * cost * q2[0]
        q1[0] *= above
        q2[0] *= above * above
    best_prices(family, slope, width / above, 1, a, b, q0, q1, q2, price, search)
    return min(cost + above * price[0], 1.0)
