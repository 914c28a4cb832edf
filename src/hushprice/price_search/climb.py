"""The first and cheapest try of `best_prices`: one climb from the price that is best without a bonus.

Once a policy has learned something, the bonus is small and the best price lies near the top of revenue alone, which has
a closed form. From there a few Newton steps arrive at a price p, and a certificate needs only three stretches. Between
a price short of p and one past it, U is concave, so p is the top there. Before that stretch revenue rises and after it
revenue falls (it has one top where demand falls in price), so its nearer end and the larger end of the convex bonus
bound U. Where demand does not fall in price, U may simply rise all the way to 1.
docs/proofs/price_search.md has the proof. Lanes without a certificate go on to the grid of many.py.
"""

from __future__ import annotations

import numpy as np

from hushprice.demand.family import GAUSSIAN
from hushprice.demand.welfare import clairvoyant_price
from hushprice.numerics.jit import inlined, step
from hushprice.price_search.certified import STACK, TOLERANCE
from hushprice.price_search.curve import (
    TINY,
    Bonus,
    Revenue,
    arch,
    bonus_at,
    bonus_bounds,
    bonus_derivatives,
    demand_at,
    form_range,
    revenue_bounds,
    revenue_derivatives,
    uphill,
)
from hushprice.types import FloatArray

LANES = 64  # customers priced side by side
A, B, Q0, Q1, Q2, TOP, SETTLED = (np.uint64(STACK + row * LANES) for row in range(7))
ROWS = 7
STEPS = 2  # Newton steps
_REACH = 0.9  # how far past p, in units of 1 / |slope b|: short of where revenue stops being concave
_SHORT = 0.5  # how far short of p, as a share of p: near 0 the bonus may bend sharply


@step
def climb(family: int, slope: float, width: float, lanes: np.uint64, work: FloatArray) -> None:
    """A price for every lane into row TOP; row SETTLED is 1 where it is certified, else 0."""
    for i in range(lanes):
        work[TOP + i] = clairvoyant_price(family, slope, work[A + i], work[B + i], 0)  # near it is enough
    for _ in range(STEPS):
        for i in range(lanes):
            revenue = Revenue(family, slope, work[A + i], work[B + i])
            bonus = Bonus(work[Q0 + i], work[Q1 + i], work[Q2 + i], width)
            work[TOP + i] = uphill(revenue, bonus, work[TOP + i], 0.0, 1.0)
    for i in range(lanes):
        revenue = Revenue(family, slope, work[A + i], work[B + i])
        bonus = Bonus(work[Q0 + i], work[Q1 + i], work[Q2 + i], width)
        work[SETTLED + i] = 1.0 if certified(revenue, bonus, work[TOP + i]) else 0.0


@inlined
def certified(revenue: Revenue, bonus: Bonus, p: float) -> bool:
    """Is p the top of [0, 1], to TOLERANCE?"""
    b = revenue.b
    # q >= 0 and B convex on the whole line
    convex = bonus.width == 0.0 or (arch(bonus) >= 0.0 and bonus.q0 + bonus.q2 >= 0.0)
    left = _SHORT * p if b < 0.0 else 0.0
    right = min(p + (1.0 if revenue.family == GAUSSIAN else _REACH / max(abs(revenue.slope * b), TINY)), 1.0)
    demand = demand_at(revenue, p)
    demand_left = demand_at(revenue, left)
    demand_right = demand_at(revenue, right)
    gradient = revenue_derivatives(revenue, p, demand)[0] + bonus_derivatives(bonus, p)[0]
    revenue_up, _ = revenue_bounds(revenue, left, right, demand_left, demand_right)
    least, most = form_range(bonus, left, right)
    up = revenue_up + bonus_bounds(bonus, least, most)[0]
    inside = gradient * gradient <= -2.0 * TOLERANCE * up
    at_end = up < 0.0 and ((p == 0.0 and gradient <= 0.0) or (p == 1.0 and gradient >= 0.0))
    ceiling = p * demand[0] + bonus_at(bonus, p) + TOLERANCE
    below = left * demand_left[0] + max(bonus_at(bonus, 0.0), bonus_at(bonus, left))
    above = right * demand_right[0] + max(bonus_at(bonus, right), bonus_at(bonus, 1.0))
    rising = left == 0.0 or (revenue_derivatives(revenue, left, demand_left)[0] >= 0.0 and below <= ceiling)
    falling = right == 1.0 or (revenue_derivatives(revenue, right, demand_right)[0] <= 0.0 and above <= ceiling)
    peak = b < 0.0 and (inside or at_end) and rising and falling
    # R' = f + p b f' >= f(a) where b >= 0, and B' >= B'(0) where B is convex.
    rises = p == 1.0 and b >= 0.0 and demand_left[0] + bonus_derivatives(bonus, 0.0)[0] > 0.0
    return convex and (peak or rises)
