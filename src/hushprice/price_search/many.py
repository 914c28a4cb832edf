"""`best_price` for many customers at once: branch-free passes that settle most, the general search for the rest.

A climb from the closed-form top of revenue settles nearly all customers of a policy that has learned something
(climb.py). For the others a second pass tries a grid of prices, climbs from the best of them by Newton's method, and
then asks for a certificate: the price reached is the top of a window around it, and U is too low everywhere outside the
window. Whoever lacks one goes to the general search, so all prices carry the same guarantee
(docs/proofs/price_search.md).

Speed comes from vector units, and these need care. One scratch array holds all rows at constant offsets, so that the
compiler sees that rows never overlap; offsets and counters are unsigned, so that it sees that no index wraps; loops
store at constant offsets only; revenue and bonus are computed by separate calls. No step of a lane looks at another
lane, so a price does not depend on who else is in the batch.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from hushprice.numerics.jit import inlined, merged, step
from hushprice.price_search.certified import STACK, TOLERANCE, best_price
from hushprice.price_search.climb import LANES, Q0, Q1, Q2, ROWS, SETTLED, TOP, A, B, climb
from hushprice.price_search.curve import (
    Bonus,
    Revenue,
    arch,
    bonus_at,
    bonus_bounds,
    bonus_derivatives,
    deepest_bend,
    demand_at,
    form_at,
    form_range,
    lit,
    overhang,
    revenue_at,
    revenue_bounds,
    revenue_derivatives,
    uphill,
)
from hushprice.types import FloatArray

Verdict: TypeAlias = tuple[bool, float]

POINTS = 16  # prices tried for each of them
SPACING = 1.0 / (POINTS - 1)
WINDOW = 2 * SPACING  # how far the window reaches to either side of the best of these
STEPS = 4  # Newton steps; who has not arrived by then goes to the general search

# Rows of the scratch, after those of climb.py.
_WHO, _PRICE, _BEST, _LOW, _HIGH, _CEILING, _LIT, _SURE, _CELL = (
    np.uint64(STACK + row * LANES) for row in range(ROWS, ROWS + 9)
)
_GRID = np.uint64(STACK + (ROWS + 9) * LANES)
_LANES = np.uint64(LANES)
_ONE = np.uint64(1)
_OPEN = -1.0  # not a price: this customer is not settled yet
WORK = STACK + (ROWS + 9 + POINTS) * LANES  # entries of the scratch that best_prices and best_price need


@merged
def best_prices(
    family: int,
    slope: float,
    width: float,
    count: int,
    a: FloatArray,
    b: FloatArray,
    q0: FloatArray,
    q1: FloatArray,
    q2: FloatArray,
    prices: FloatArray,
    work: FloatArray,
) -> None:
    """`best_price` for each of `count` customers, into `prices`."""
    for start in range(0, count, LANES):
        lanes = np.uint64(min(LANES, count - start))
        first = np.uint64(start)
        for i in range(lanes):
            work[A + i] = a[first + i]
            work[B + i] = b[first + i]
            some = lit(q0[first + i], q1[first + i], q2[first + i])
            work[Q0 + i] = some * q0[first + i]
            work[Q1 + i] = some * q1[first + i]
            work[Q2 + i] = some * q2[first + i]
        climb(family, slope, width, lanes, work)
        for i in range(lanes):
            prices[first + i] = work[TOP + i] if work[SETTLED + i] > 0.0 else _OPEN
    # Who is still open is gathered from everywhere, so that the second pass has full lanes too.
    gathered = np.uint64(0)
    for k in range(count):
        if prices[k] == _OPEN:
            work[_WHO + gathered] = k
            work[A + gathered] = a[k]
            work[B + gathered] = b[k]
            work[Q0 + gathered] = q0[k]
            work[Q1 + gathered] = q1[k]
            work[Q2 + gathered] = q2[k]
            gathered += _ONE
        if gathered == _LANES:
            _settle_all(family, slope, width, gathered, prices, work)
            gathered = np.uint64(0)
    _settle_all(family, slope, width, gathered, prices, work)


@merged
def _settle_all(
    family: int, slope: float, width: float, lanes: np.uint64, prices: FloatArray, work: FloatArray
) -> None:
    """Price the gathered customers: most by the grid, the rest by the general search."""
    _settle_most(family, slope, width, lanes, work)
    for i in range(lanes):
        price = work[_PRICE + i]
        if work[_SURE + i] == 0.0:
            a, b, q0, q1, q2 = work[A + i], work[B + i], work[Q0 + i], work[Q1 + i], work[Q2 + i]
            price = best_price(family, slope, a, b, q0, q1, q2, width, work)
        prices[np.uint64(work[_WHO + i])] = price


@step
def _settle_most(family: int, slope: float, width: float, lanes: np.uint64, work: FloatArray) -> None:
    """Prices into row PRICE; row SURE is 1 where they are certified, else 0."""
    _try_grid(family, slope, width, lanes, work)
    _set_window(width, lanes, work)
    _climb(family, slope, lanes, work)
    for i in range(lanes):
        revenue = Revenue(family, slope, work[A + i], work[B + i])
        bonus = Bonus(work[Q0 + i], work[Q1 + i], work[Q2 + i], work[_LIT + i])
        sure, ceiling = certify_window(revenue, bonus, width, work[_PRICE + i], work[_LOW + i], work[_HIGH + i])
        work[_SURE + i] = 1.0 if sure else 0.0
        work[_CEILING + i] = ceiling
    _certify_outside(width, lanes, work)


@inlined
def _try_grid(family: int, slope: float, width: float, lanes: np.uint64, work: FloatArray) -> None:
    """U at every grid price, and the lowest price where it is largest."""
    for i in range(lanes):
        work[_BEST + i] = -1.0  # below U(0) >= 0
        work[_PRICE + i] = 0.0
    for j in range(POINTS):
        p = SPACING * j
        for i in range(lanes):
            value = revenue_at(Revenue(family, slope, work[A + i], work[B + i]), p)
            value += bonus_at(Bonus(work[Q0 + i], work[Q1 + i], work[Q2 + i], width), p)
            work[_CELL + i] = value
            before = work[_BEST + i]
            work[_PRICE + i] = p if value > before else work[_PRICE + i]
            work[_BEST + i] = max(value, before)
        row = _GRID + np.uint64(j) * _LANES
        for i in range(lanes):  # apart from the arithmetic, which a row that moves would keep from vector units
            work[row + i] = work[_CELL + i]


@inlined
def _set_window(width: float, lanes: np.uint64, work: FloatArray) -> None:
    """The window around the best grid price; LIT is the width if q is positive there, else 0."""
    for i in range(lanes):
        p = work[_PRICE + i]
        q = form_at(Bonus(work[Q0 + i], work[Q1 + i], work[Q2 + i], width), p)
        work[_LIT + i] = width if q > 0.0 else 0.0
        work[_LOW + i] = max(p - WINDOW, 0.0)
        work[_HIGH + i] = min(p + WINDOW, 1.0)


@inlined
def _climb(family: int, slope: float, lanes: np.uint64, work: FloatArray) -> None:
    """Newton's method, held to the window; where U is not concave it runs to the end that is uphill."""
    for _ in range(STEPS):
        for i in range(lanes):
            revenue = Revenue(family, slope, work[A + i], work[B + i])
            bonus = Bonus(work[Q0 + i], work[Q1 + i], work[Q2 + i], work[_LIT + i])
            work[_PRICE + i] = uphill(revenue, bonus, work[_PRICE + i], work[_LOW + i], work[_HIGH + i])


@inlined
def certify_window(revenue: Revenue, bonus: Bonus, width: float, p: float, low: float, high: float) -> Verdict:
    """Is p the top of its window, to TOLERANCE; and how low must U be at grid prices outside for it to be the top.

    The bonus has its width if q is positive in the window, else 0; `width` is the policy's.
    """
    demand = demand_at(revenue, p)
    gradient = revenue_derivatives(revenue, p, demand)[0] + bonus_derivatives(bonus, p)[0]
    revenue_up, _ = revenue_bounds(revenue, low, high, demand_at(revenue, low), demand_at(revenue, high))
    least, most = form_range(bonus, low, high)
    bonus_up, _ = bonus_bounds(bonus, least, most)
    up = revenue_up + bonus_up
    one_sign = least >= 0.0 if bonus.width > 0.0 else width * most <= 0.0
    inside = gradient * gradient <= -2.0 * TOLERANCE * up  # concave, and the slope is nearly zero
    needed = 0.5 * max(0.0, up) * (high - low)  # at an end, a slope that no upward bend can turn within the window
    at_end = (p == 0.0 and gradient <= -needed) or (p == 1.0 and gradient >= needed)
    value = p * demand[0] + bonus_at(bonus, p)
    return one_sign and (inside or at_end), value + TOLERANCE - deepest_bend(revenue) * SPACING * SPACING * 0.125


@inlined
def _certify_outside(width: float, lanes: np.uint64, work: FloatArray) -> None:
    """Keep a lane sure only if every grid cell outside its window stays under the ceiling."""
    concave = 0
    for i in range(lanes):
        work[_CELL + i] = 0.0  # by how much B can pass its chord: nothing, where it is convex
        concave += 1 if arch(Bonus(work[Q0 + i], work[Q1 + i], work[Q2 + i], width)) < 0.0 else 0
    for j in range(POINTS - 1):
        if concave > 0:
            for i in range(lanes):
                bonus = Bonus(work[Q0 + i], work[Q1 + i], work[Q2 + i], width)
                work[_CELL + i] = overhang(bonus, SPACING * j, SPACING * (j + 1))
        row = _GRID + np.uint64(j) * _LANES
        for i in range(lanes):
            inside = work[_LOW + i] < SPACING * (j + 0.5) < work[_HIGH + i]
            under = max(work[row + i], work[row + _LANES + i]) + work[_CELL + i] <= work[_CEILING + i]
            work[_SURE + i] = work[_SURE + i] if inside or under else 0.0
