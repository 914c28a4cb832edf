"""The price on a grid that is worth most to an optimist, for many customers, compiled.

Features are polynomials in the price, phi = C_0 + p C_1 + p^2 C_2, so that phi'theta and ||phi||^2 in a matrix's norm
are polynomials too, found once a customer.
"""

from __future__ import annotations

import math

import numpy as np

from hushprice.numerics.functions import exp
from hushprice.numerics.jit import step
from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.types import FloatArray

# What a price is worth, with m = phi'theta and w = width ||phi||: (margin + p) times demand but for REVENUE.
DEMAND = 0  # demand is m + w, held to [0, 1]
REVENUE = 1  # m + w is the revenue itself
LOGISTIC = 2  # demand is f(m + w), f the logistic curve around the frame's offset
LOGISTIC_MEAN = 3  # demand is f(m) + w, at most 1


def best_on_grid(
    frame: Frame, parts: FloatArray, theta: FloatArray, inverse: FloatArray, *, width: float, kind: int
) -> FloatArray:
    """For each customer the price of the frame's grid that is worth most; `parts` holds C_0, C_1, ..., (j, d, n).

    Ties go to the lower price.
    """
    out = np.empty(parts.shape[2])
    terms = np.array([frame.margin, frame.level, frame.response, frame.slope, width])
    _search(frame.grid, np.ascontiguousarray(parts), theta, np.ascontiguousarray(inverse), terms, kind, out)
    return out


def glm_parts(customers: Customers) -> FloatArray:
    """u and v as the search takes them."""
    return np.stack([customers.u, customers.v])


@step
def _search(
    grid: FloatArray,
    parts: FloatArray,
    theta: FloatArray,
    inverse: FloatArray,
    terms: FloatArray,
    kind: int,
    out: FloatArray,
) -> None:
    powers, d = parts.shape[0], parts.shape[1]
    margin, level, response, slope, width = terms[0], terms[1], terms[2], terms[3], terms[4]
    for i in range(out.size):
        a0, a1, a2 = 0.0, 0.0, 0.0  # phi'theta
        q0, q1, q2, q3, q4 = 0.0, 0.0, 0.0, 0.0, 0.0  # ||phi||^2
        for j in range(d):
            c0, c1 = parts[0, j, i], parts[1, j, i]
            c2 = parts[2, j, i] if powers > 2 else 0.0
            a0 += c0 * theta[j]
            a1 += c1 * theta[j]
            a2 += c2 * theta[j]
            r0, r1, r2 = 0.0, 0.0, 0.0
            for k in range(d):
                r0 += inverse[j, k] * parts[0, k, i]
                r1 += inverse[j, k] * parts[1, k, i]
                if powers > 2:
                    r2 += inverse[j, k] * parts[2, k, i]
            q0 += c0 * r0
            q1 += c0 * r1 + c1 * r0
            q2 += c0 * r2 + c1 * r1 + c2 * r0
            q3 += c1 * r2 + c2 * r1
            q4 += c2 * r2
        best = -math.inf
        for at in range(grid.size):
            p = grid[at]
            mean = a0 + p * (a1 + p * a2)
            bonus = width * math.sqrt(max(q0 + p * (q1 + p * (q2 + p * (q3 + p * q4))), 0.0))
            if kind == DEMAND:
                value = (margin + p) * min(max(mean + bonus, 0.0), 1.0)
            elif kind == REVENUE:
                value = mean + bonus
            elif kind == LOGISTIC:
                value = (margin + p) / (1.0 + exp(response * p - level - slope * (mean + bonus)))
            else:
                value = (margin + p) * min(1.0 / (1.0 + exp(response * p - level - slope * mean)) + bonus, 1.0)
            if value > best:
                best = value
                out[i] = p
