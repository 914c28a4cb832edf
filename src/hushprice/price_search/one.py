"""`many.best_prices` for one customer, digit for digit: what a live quote and a thread of a GPU call."""

from __future__ import annotations

from hushprice.demand.welfare import clairvoyant_price
from hushprice.numerics.functions import multiple
from hushprice.numerics.jit import step
from hushprice.price_search import climb, many
from hushprice.price_search.certified import best_price
from hushprice.price_search.curve import Bonus, Revenue, arch, bonus_at, form_at, lit, overhang, revenue_at, uphill
from hushprice.types import FloatArray


@step
def price_of_one(
    family: int, slope: float, width: float, a: float, b: float, q0: float, q1: float, q2: float, work: FloatArray
) -> float:
    """`best_price`, mostly by the short ways. work has price.STACK entries."""
    some = lit(q0, q1, q2)
    revenue, bonus = Revenue(family, slope, a, b), Bonus(some * q0, some * q1, some * q2, width)
    p = clairvoyant_price(family, slope, a, b, 0)
    for _ in range(climb.STEPS):
        p = uphill(revenue, bonus, p, 0.0, 1.0)
    if climb.certified(revenue, bonus, p):
        return p
    return _by_grid(revenue, Bonus(q0, q1, q2, width), work)


@step
def _by_grid(revenue: Revenue, bonus: Bonus, work: FloatArray) -> float:
    """From the best of a few prices; the general search where that cannot be certified."""
    best, p = -1.0, 0.0
    for j in range(many.POINTS):
        at = multiple(many.SPACING, j)
        work[j] = revenue_at(revenue, at) + bonus_at(bonus, at)
        p = at if work[j] > best else p
        best = max(work[j], best)
    there = Bonus(bonus.q0, bonus.q1, bonus.q2, bonus.width if form_at(bonus, p) > 0.0 else 0.0)
    low, high = max(p - many.WINDOW, 0.0), min(p + many.WINDOW, 1.0)
    for _ in range(many.STEPS):
        p = uphill(revenue, there, p, low, high)
    sure, ceiling = many.certify_window(revenue, there, bonus.width, p, low, high)
    arched = arch(bonus) < 0.0  # else there is no overhang, and a GPU need not read that code
    for j in range(many.POINTS - 1):
        left, right = multiple(many.SPACING, j), multiple(many.SPACING, j + 1)
        inside = low < 0.5 * (left + right) < high
        over = overhang(bonus, left, right) if arched else 0.0
        sure = sure and (inside or max(work[j], work[j + 1]) + over <= ceiling)
    if sure:
        return p
    settings = revenue.a, revenue.b, bonus.q0, bonus.q1, bonus.q2, bonus.width
    return best_price(revenue.family, revenue.slope, *settings, work)


@step
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
    """`many.best_prices` one after the other, digit for digit: what a GPU's thread calls instead of it."""
    for i in range(count):
        prices[i] = price_of_one(family, slope, width, a[i], b[i], q0[i], q1[i], q2[i], work)
