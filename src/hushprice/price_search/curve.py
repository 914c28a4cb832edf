"""The objective of alg:framework, line 10, as one customer sees it, and rigorous bounds on how it bends.

For a feature map affine in price, z = phi'theta = a + b p and phi' inv(Lambda) phi = q(p) = q0 + q1 p + q2 p^2, so one
customer is five numbers and a trial price costs O(1):

    U(p) = R(p) + B(p),   R(p) = p f(a + b p),   B(p) = width sqrt(max(0, q(p))).

A negative q (an indefinite Lambda left as it is) counts as no bonus. docs/proofs/price_search.md proves the bounds,
under the names they have here. Revenue and bonus are apart on purpose: one function for their sum would make the vector
loops of many.py a quarter slower.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from hushprice.demand.family import LOGISTIC, derivatives, mean, steepest
from hushprice.numerics.jit import inlined

TINY = 1e-150  # keeps a quotient finite at a root of q
_ROUNDING = 1e-15  # what q and its discriminant may be off by, relative to the terms they are sums of
_F2 = 0.09623  # the largest |s''| of the logistic curve s, 1 / (6 sqrt 3), rounded up

# f, f' and f''/f' at one price: every derivative and bound of R is made of these.
Slopes: TypeAlias = tuple[float, float, float]


class Revenue(NamedTuple):
    """R: the price times the mean demand."""

    family: int
    slope: float
    a: float
    b: float


class Bonus(NamedTuple):
    """B: the width of the confidence interval. Width 0 stands for a stretch of prices where q < 0."""

    q0: float
    q1: float
    q2: float
    width: float


@inlined
def revenue_at(revenue: Revenue, p: float) -> float:
    """R(p)."""
    return p * mean(revenue.family, revenue.slope, revenue.a + revenue.b * p)


@inlined
def demand_at(revenue: Revenue, p: float) -> Slopes:
    """f, f' and f''/f' at price p."""
    return derivatives(revenue.family, revenue.slope, revenue.a + revenue.b * p)


@inlined
def revenue_derivatives(revenue: Revenue, p: float, demand: Slopes) -> tuple[float, float]:
    """R'(p) and R''(p) = b f' (2 + b p f''/f')."""
    f, s, e = demand
    b = revenue.b
    return f + p * b * s, b * s * (2.0 + b * p * e)


@inlined
def form_at(bonus: Bonus, p: float) -> float:
    """q(p)."""
    return bonus.q0 + p * (bonus.q1 + p * bonus.q2)


@inlined
def bonus_at(bonus: Bonus, p: float) -> float:
    """B(p)."""
    return bonus.width * np.sqrt(max(0.0, form_at(bonus, p)))


@inlined
def bonus_derivatives(bonus: Bonus, p: float) -> tuple[float, float]:
    """B'(p) and B''(p), where q(p) > 0."""
    q = max(form_at(bonus, p), TINY)
    pull = bonus.width / np.sqrt(q)
    return 0.5 * pull * (bonus.q1 + 2.0 * bonus.q2 * p), 0.25 * pull * arch(bonus) / q


@inlined
def arch(bonus: Bonus) -> float:
    """4 q0 q2 - q1^2 = 4 q^(3/2) B'' / width: its sign says whether B is convex or concave, everywhere that q > 0."""
    return 4.0 * bonus.q0 * bonus.q2 - bonus.q1 * bonus.q1


@inlined
def lit(q0: float, q1: float, q2: float) -> float:
    """1, or 0 where q is nowhere positive: a negative definite Lambda gives no bonus at all, as q = 0 does."""
    return 1.0 if q0 + q2 > 0.0 or 4.0 * q0 * q2 < q1 * q1 else 0.0


@inlined
def revenue_bounds(
    revenue: Revenue, left: float, right: float, demand_left: Slopes, demand_right: Slopes
) -> tuple[float, float]:
    """R'' <= first and R'' >= second on [left, right], from the demand at its ends."""
    _, s_left, e_left = demand_left
    _, s_right, e_right = demand_right
    b = revenue.b
    z_left = revenue.a + b * left
    z_right = revenue.a + b * right
    s_high = steepest(revenue.family, revenue.slope, z_left, z_right, s_left, s_right)
    s_low = min(s_left, s_right)
    # f''/f' is monotone, so p f''/f' lies between the products of the ends.
    least = min(min(left * e_left, left * e_right), min(right * e_left, right * e_right))
    most = max(max(left * e_left, left * e_right), max(right * e_left, right * e_right))
    one = b * (2.0 + b * least)
    other = b * (2.0 + b * most)
    low = min(one, other)
    high = max(one, other)
    return high * (s_high if high > 0.0 else s_low), low * (s_high if low < 0.0 else s_low)


@inlined
def deepest_bend(revenue: Revenue) -> float:
    """A bound on -R'' over [0, 1]."""
    _, down = revenue_bounds(revenue, 0.0, 1.0, demand_at(revenue, 0.0), demand_at(revenue, 1.0))
    bend = max(0.0, -down)
    if revenue.family == LOGISTIC:
        steep = abs(revenue.slope * revenue.b)
        bend = min(bend, steep * (0.5 + _F2 * steep))  # |R''| <= 2 |b f'| + b^2 |f''|
    return bend


@inlined
def form_range(bonus: Bonus, left: float, right: float) -> tuple[float, float]:
    """The least and the largest q on [left, right]."""
    vertex = -0.5 * bonus.q1 / (bonus.q2 if bonus.q2 != 0.0 else TINY)
    q_left = form_at(bonus, left)
    q_right = form_at(bonus, right)
    q_between = form_at(bonus, min(max(vertex, left), right))
    return min(min(q_left, q_right), q_between), max(max(q_left, q_right), q_between)


@inlined
def bonus_bounds(bonus: Bonus, least: float, most: float) -> tuple[float, float]:
    """B'' <= first on a stretch where q has no root and this range; where B is convex also B'' >= second, else 0."""
    slack = _ROUNDING * (abs(bonus.q0) + abs(bonus.q1) + abs(bonus.q2))
    least = max(least - slack, TINY)
    most = max(most + slack, TINY)
    bend = arch(bonus)
    # The last term matters when q = q2 p^2 exactly: a stretch that touches a double root of q never counts as concave.
    slack = _ROUNDING * (bonus.q1 * bonus.q1 + 4.0 * abs(bonus.q0 * bonus.q2)) + TINY * bonus.q2 * bonus.q2
    up = bend + slack
    down = max(bend - slack, 0.0)
    flattest = least if up > 0.0 else most
    pull = 0.25 * bonus.width
    return pull * up / (flattest * np.sqrt(flattest)), pull * down / (most * np.sqrt(most))


@inlined
def overhang(bonus: Bonus, left: float, right: float) -> float:
    """How far B rises above the chord of its values at left and right. Holds with roots of q inside."""
    if not arch(bonus) < 0.0:
        return 0.0
    q_left = max(0.0, form_at(bonus, left))
    q_right = max(0.0, form_at(bonus, right))
    camber = 0.25 * max(0.0, -bonus.q2) * (right - left) * (right - left)  # q is below its own chord plus this
    top_left = np.sqrt(q_left + camber)
    top_right = np.sqrt(q_right + camber)
    lift = max(top_left - np.sqrt(q_left), top_right - np.sqrt(q_right))
    apart = top_right - top_left
    return bonus.width * (lift + 0.25 * apart * apart / max(top_left + top_right, TINY))


@inlined
def uphill(revenue: Revenue, bonus: Bonus, p: float, low: float, high: float) -> float:
    """One step of Newton's method, held to [low, high]; where U is not concave it runs to the end that is uphill."""
    revenue_1, revenue_2 = revenue_derivatives(revenue, p, demand_at(revenue, p))
    bonus_1, bonus_2 = bonus_derivatives(bonus, p)
    following = p - (revenue_1 + bonus_1) / min(revenue_2 + bonus_2, -TINY)
    return min(max(following, low), high)
