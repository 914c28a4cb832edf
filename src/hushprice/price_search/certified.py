"""The price of alg:framework, line 10: the global maximizer of an upper confidence bound on revenue.

U (price_search/curve.py) may have several peaks, so [0, 1] is cut into cells: at the roots of q, where the bonus has
its corners, and then as needed. A cell is dropped when a bound shows that it cannot beat the best price found, solved
by Newton's method when U is provably concave on it, and halved otherwise. Every bound is rigorous, so the value
returned is within TOLERANCE of the true maximum for any theta and any Lambda; docs/proofs/price_search.md has the
proof.

The paper's outer min{1, .} never changes the answer: ties at the cap go to the larger uncapped value, then to the lower
price.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from hushprice.numerics.functions import multiple
from hushprice.numerics.jit import inlined, merged, step
from hushprice.price_search.curve import (
    TINY,
    Bonus,
    Revenue,
    Slopes,
    arch,
    bonus_at,
    bonus_bounds,
    bonus_derivatives,
    deepest_bend,
    demand_at,
    form_at,
    form_range,
    overhang,
    revenue_at,
    revenue_bounds,
    revenue_derivatives,
)
from hushprice.types import FloatArray

# A peak: its price, its value, and an interval that holds it.
Peak: TypeAlias = tuple[float, float, float, float]

TOLERANCE = 1e-10  # in value, relative above 1; the promise to users is 1e-9
STACK = 128  # scratch of one search: a grid, then a stack of cells, two numbers for each of at most 45 halvings
_PENDING = 16  # where the stack begins
_CELLS, _SEVEN = 7, 7.0  # eight grid points: one or two vector registers
_NARROWEST = 1e-13  # cells are not halved below this; U cannot change visibly over it
_PEAK = 1e-11  # Newton's share of the tolerance
_POLISH = 4  # more steps of Newton at most, for the price itself: a value this near leaves its sixth digit open


@step
def best_price(
    family: int, slope: float, a: float, b: float, q0: float, q1: float, q2: float, width: float, work: FloatArray
) -> float:
    """The lowest price in [0, 1] whose upper confidence bound is the largest, to TOLERANCE in value."""
    revenue = Revenue(family, slope, a, b)
    bonus = Bonus(q0, q1, q2, width)
    low, high = _roots(bonus)
    best, best_value, left = 0.0, bonus_at(bonus, 0.0), 0.0
    for piece in range(3):  # q has one sign on each of [0, low], [low, high], [high, 1]; some may be empty
        right = low if piece == 0 else (high if piece == 1 else 1.0)
        if right > left:
            lit = width if _positive(bonus, left, right) else 0.0
            best, best_value = _search(revenue, Bonus(q0, q1, q2, lit), left, right, best, best_value, work)
            left = right
    return best


@inlined
def _roots(bonus: Bonus) -> tuple[float, float]:
    """The roots of q moved into [0, 1], in order, computed without cancellation; 0 and 0 where q keeps one sign."""
    discriminant = -arch(bonus)
    if bonus.width == 0.0 or not discriminant > 0.0:
        return 0.0, 0.0
    root = np.sqrt(discriminant)
    half = -0.5 * (bonus.q1 + (root if bonus.q1 >= 0.0 else -root))
    first = half / bonus.q2 if bonus.q2 != 0.0 else -bonus.q0 / bonus.q1
    second = bonus.q0 / half
    return min(max(min(first, second), 0.0), 1.0), min(max(max(first, second), 0.0), 1.0)


@inlined
def _positive(bonus: Bonus, left: float, right: float) -> bool:
    """The sign of q between neighbouring roots; without roots it is that of q0 + q2, and q may touch zero anywhere."""
    if arch(bonus) < 0.0:
        return form_at(bonus, 0.5 * (left + right)) > 0.0
    return bonus.q0 + bonus.q2 > 0.0


@merged
def _search(
    revenue: Revenue, bonus: Bonus, left: float, right: float, best: float, best_value: float, work: FloatArray
) -> tuple[float, float]:
    """The better of the best so far and all of [left, right], where q has one sign, with its value."""
    spacing = (right - left) / _SEVEN
    for i in range(_CELLS + 1):
        p = min(left + multiple(spacing, i), right)
        work[i] = revenue_at(revenue, p) + bonus_at(bonus, p)
    for i in range(_CELLS + 1):
        if work[i] > best_value:
            best_value = work[i]
            best = min(left + multiple(spacing, i), right)
    bend = deepest_bend(revenue) * spacing * spacing * 0.125
    start = left  # of the cells that may hold the top and are neighbours: they are settled together
    for i in range(_CELLS):
        low = left + multiple(spacing, i)
        high = right if i == _CELLS - 1 else left + multiple(spacing, i + 1)
        if max(work[i], work[i + 1]) + bend + overhang(bonus, low, high) <= best_value + TOLERANCE:
            if low > start:
                best, best_value = _settle(revenue, bonus, start, low, best, best_value, work)
            start = high
    if right > start:
        best, best_value = _settle(revenue, bonus, start, right, best, best_value, work)
    return best, best_value


@step
def _settle(
    revenue: Revenue, bonus: Bonus, left: float, right: float, best: float, best_value: float, work: FloatArray
) -> tuple[float, float]:
    """Take [left, right] to the end: drop it, solve it, or halve it, depth first from the left."""
    top = _PENDING
    work[top] = left
    work[top + 1] = right
    while top >= _PENDING:
        left = work[top]
        right = work[top + 1]
        top -= 2
        demand_left = demand_at(revenue, left)
        demand_right = demand_at(revenue, right)
        value_left = left * demand_left[0] + bonus_at(bonus, left)
        value_right = right * demand_right[0] + bonus_at(bonus, right)
        if value_right > best_value:  # the left end is a grid price or the right end of the cell before
            best, best_value = right, value_right
        curvature, excess = _bounds(revenue, bonus, left, right, demand_left, demand_right)
        if curvature < 0.0:
            p, value, low, high = _solve(revenue, bonus, left, right, demand_left, demand_right, curvature)
            if value > best_value - TOLERANCE:  # or a grid price beside it could win by where Newton stopped
                p, value = _polish(revenue, bonus, low, high, p)
            if value > best_value:
                best, best_value = p, value
            continue
        roof = max(value_left, value_right) + excess
        # A roof that is infinite or NaN means that the parameters overflow, and halving would never end.
        if best_value + TOLERANCE * max(1.0, best_value) < roof < np.inf and right - left > _NARROWEST:
            middle = 0.5 * (left + right)
            work[top + 2] = middle
            work[top + 3] = right
            work[top + 4] = left
            work[top + 5] = middle
            top += 4
    return best, best_value


@merged
def _bounds(
    revenue: Revenue, bonus: Bonus, left: float, right: float, demand_left: Slopes, demand_right: Slopes
) -> tuple[float, float]:
    """U'' <= first, and U exceeds the larger of its end values by at most the second, on [left, right]."""
    revenue_up, revenue_down = revenue_bounds(revenue, left, right, demand_left, demand_right)
    least, most = form_range(bonus, left, right)
    bonus_up, bonus_down = bonus_bounds(bonus, least, most)
    span = right - left
    bend = max(0.0, -revenue_down - bonus_down)
    return revenue_up + bonus_up, bend * span * span * 0.125 + overhang(bonus, left, right)


@merged
def _solve(
    revenue: Revenue,
    bonus: Bonus,
    left: float,
    right: float,
    demand_left: Slopes,
    demand_right: Slopes,
    curvature: float,
) -> Peak:
    """The top of [left, right], where U'' <= curvature < 0; or nothing better than the ends."""
    gradient_left = revenue_derivatives(revenue, left, demand_left)[0] + bonus_derivatives(bonus, left)[0]
    gradient_right = revenue_derivatives(revenue, right, demand_right)[0] + bonus_derivatives(bonus, right)[0]
    if not gradient_left > 0.0 > gradient_right:  # then the top is an end
        return left, -np.inf, left, right
    secant = left + (right - left) * gradient_left / (gradient_left - gradient_right)
    return _newton(revenue, bonus, left, right, secant, curvature)


@step
def _newton(revenue: Revenue, bonus: Bonus, low: float, high: float, start: float, curvature: float) -> Peak:
    """The peak between low and high, where U'' <= curvature < 0.

    Two certificates: U* - U <= U'^2 / (2 |curvature|), and U* - U <= |U'| (high - low).
    """
    p = start if low < start < high else 0.5 * (low + high)
    stride = high - low
    while True:
        demand = demand_at(revenue, p)
        revenue_1, revenue_2 = revenue_derivatives(revenue, p, demand)
        bonus_1, bonus_2 = bonus_derivatives(bonus, p)
        gradient = revenue_1 + bonus_1
        if gradient > 0.0:
            low = p
        else:
            high = p
        certified = gradient * gradient <= -2.0 * _PEAK * curvature or abs(gradient) * (high - low) <= _PEAK
        if certified or high - low <= _NARROWEST:
            return p, p * demand[0] + bonus_at(bonus, p), low, high
        following = p - gradient / min(revenue_2 + bonus_2, curvature)
        # Near a root of q Newton crawls: a step must stay inside and be at most half the one before, or we bisect.
        if not (low < following < high and abs(following - p) <= 0.5 * stride):
            following = 0.5 * (low + high)
        stride = abs(following - p)
        p = following


@merged
def _polish(revenue: Revenue, bonus: Bonus, low: float, high: float, p: float) -> tuple[float, float]:
    """Newton's method from p towards the peak between low and high, as long as U' shrinks; with its value.

    Where the steps before began and ended may hang on a rounding error, at a root of q above all: U' is infinite there.
    The price shall not, so that two machines find the same one.
    """
    demand = demand_at(revenue, p)
    slopes, pulls = revenue_derivatives(revenue, p, demand), bonus_derivatives(bonus, p)
    for _ in range(_POLISH):
        gradient = slopes[0] + pulls[0]
        following = min(max(p - gradient / min(slopes[1] + pulls[1], -TINY), low), high)
        demand_there = demand_at(revenue, following)
        slopes, pulls = revenue_derivatives(revenue, following, demand_there), bonus_derivatives(bonus, following)
        if not abs(slopes[0] + pulls[0]) < abs(gradient):
            break
        p, demand = following, demand_there
    return p, p * demand[0] + bonus_at(bonus, p)
