"""The price of alg:framework, line 10: the global maximizer of an upper confidence bound on revenue.

For a feature map affine in price, z = phi'theta = a + b p and phi' inv(Lambda) phi = q0 + q1 p + q2 p^2, so one customer
is five numbers and a trial price costs O(1). We maximize

    U(p) = R(p) + B(p),   R(p) = p f(a + b p),   B(p) = width sqrt(max(0, q0 + q1 p + q2 p^2))

over [0, 1]. The paper's outer min{1, .} never changes the answer: ties at the cap go to the larger uncapped value,
then to the lower price. U may have several peaks, so [0, 1] is cut into cells; a cell is dropped when a bound shows
that it cannot beat the best price found, solved by Newton's method when U is provably concave on it, and halved
otherwise. Every bound is rigorous, so the value returned is within TOLERANCE of the true maximum for any theta and any
Lambda. docs/proofs/price_search.md derives the bounds.

A negative quadratic form (an indefinite Lambda left as it is) counts as no bonus; between its roots B is concave, so
the roots are made cell borders.
"""

from __future__ import annotations

import numpy as np

from hushprice.demand.family import LOGISTIC, derivatives, mean, steepest
from hushprice.numerics.jit import inlined, step
from hushprice.types import FloatArray

TOLERANCE = 1e-10  # half for dropping cells, half for Newton; the promise to users is 1e-9
CELLS = 7  # eight grid points: one or two vector registers
_NARROWEST = 1e-13
_TINY = 1e-200  # keeps a slope finite where the bonus starts from a root
_F2 = 0.09623  # the largest |s''| of the logistic curve s, 1 / (6 sqrt 3), rounded up

LANES = 64  # customers priced side by side
_POINTS = 16  # prices tried for each of them
_WINDOW = 2  # grid cells on either side of the best of these that must hold the peak
_STEPS = 4  # Newton steps; who has not arrived by then goes to the general search
# Rows of the scratch. One array, so that the compiler sees that rows never overlap and may use vector units.
_A, _B, _Q0, _Q1, _Q2 = (np.uint64(row * LANES) for row in range(5))
_PRICE, _BEST, _LOW, _HIGH, _CEILING, _LIT, _SURE, _TRIED = (np.uint64(row * LANES) for row in range(5, 13))
_GRID = np.uint64(13 * LANES)
_LANES = np.uint64(LANES)
WORK = (13 + _POINTS) * LANES + 128


@inlined
def _bonus(q0: float, q1: float, q2: float, width: float, p: float) -> float:
    return width * np.sqrt(max(0.0, q0 + p * (q1 + p * q2)))


@inlined
def _bonus_slope(q0: float, q1: float, q2: float, width: float, p: float) -> float:
    return 0.5 * width * (q1 + 2.0 * q2 * p) / np.sqrt(max(q0 + p * (q1 + p * q2), _TINY))


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
    """`best_price` for `count` customers: a branch-free pass that certifies most of them, the general search for the rest."""
    for start in range(0, count, LANES):
        lanes = min(LANES, count - start)
        for i in range(np.uint64(lanes)):
            work[_A + i] = a[np.uint64(start) + i]
            work[_B + i] = b[np.uint64(start) + i]
            work[_Q0 + i] = q0[np.uint64(start) + i]
            work[_Q1 + i] = q1[np.uint64(start) + i]
            work[_Q2 + i] = q2[np.uint64(start) + i]
        _pass(family, slope, width, lanes, work)
        for i in range(np.uint64(lanes)):
            k = np.uint64(start) + i
            if work[_SURE + i] > 0.0:
                prices[k] = work[_PRICE + i]
            else:
                prices[k] = best_price(family, slope, a[k], b[k], q0[k], q1[k], q2[k], width, work[_GRID :])


@step
def _pass(family: int, slope: float, width: float, lanes: int, work: FloatArray) -> None:
    """Grid, Newton, certificate. SURE stays 1 where U is concave around the peak found and too low everywhere else."""
    spacing = 1.0 / (_POINTS - 1)
    for i in range(np.uint64(lanes)):
        q0 = work[_Q0 + i]
        q1 = work[_Q1 + i]
        q2 = work[_Q2 + i]
        work[_LIT + i] = width if q0 + q2 > 0.0 else 0.0
        work[_SURE + i] = 0.0 if width > 0.0 and q1 * q1 - 4.0 * q0 * q2 > 0.0 else 1.0
        work[_BEST + i] = -1.0
        work[_PRICE + i] = 0.0
    for j in range(_POINTS):
        p = spacing * j
        row = _GRID + np.uint64(j) * _LANES
        for i in range(np.uint64(lanes)):
            u = p * mean(family, slope, work[_A + i] + work[_B + i] * p)
            u += _bonus(work[_Q0 + i], work[_Q1 + i], work[_Q2 + i], work[_LIT + i], p)
            work[_TRIED + i] = u
            before = work[_BEST + i]
            work[_PRICE + i] = p if u > before else work[_PRICE + i]
            work[_BEST + i] = max(u, before)
        for i in range(np.uint64(lanes)):  # apart from the arithmetic: a row that moves would keep it from vector units
            work[row + i] = work[_TRIED + i]
    for i in range(np.uint64(lanes)):
        work[_LOW + i] = max(work[_PRICE + i] - _WINDOW * spacing, 0.0)
        work[_HIGH + i] = min(work[_PRICE + i] + _WINDOW * spacing, 1.0)
    for _ in range(_STEPS):
        for i in range(np.uint64(lanes)):
            p = work[_PRICE + i]
            b = work[_B + i]
            q0 = work[_Q0 + i]
            q1 = work[_Q1 + i]
            q2 = work[_Q2 + i]
            f, s, e = derivatives(family, slope, work[_A + i] + b * p)
            q = max(q0 + p * (q1 + p * q2), _TINY)
            pull = work[_LIT + i] / np.sqrt(q)
            gradient = f + p * b * s + 0.5 * pull * (q1 + 2.0 * q2 * p)
            second = b * s * (2.0 + b * p * e) + 0.25 * pull * (4.0 * q0 * q2 - q1 * q1) / q
            work[_PRICE + i] = min(max(p - gradient / min(second, -_TINY), work[_LOW + i]), work[_HIGH + i])
    for i in range(np.uint64(lanes)):
        _certify(family, slope, spacing, i, work)
    for j in range(_POINTS - 1):
        row = _GRID + np.uint64(j) * _LANES
        for i in range(np.uint64(lanes)):
            middle = spacing * (j + 0.5)
            inside = work[_LOW + i] < middle < work[_HIGH + i]
            low_enough = max(work[row + i], work[row + _LANES + i]) <= work[_CEILING + i]
            work[_SURE + i] = work[_SURE + i] if inside or low_enough else 0.0


@inlined
def _certify(family: int, slope: float, spacing: float, i: int, work: FloatArray) -> None:
    """Is lane i's price the top of its window, to TOLERANCE; and how low must U be outside for it to be the top of all."""
    p = work[_PRICE + i]
    a = work[_A + i]
    b = work[_B + i]
    q0 = work[_Q0 + i]
    q1 = work[_Q1 + i]
    q2 = work[_Q2 + i]
    lit = work[_LIT + i]
    l = work[_LOW + i]
    r = work[_HIGH + i]
    f, s, _ = derivatives(family, slope, a + b * p)
    gradient = f + p * b * s + _bonus_slope(q0, q1, q2, lit, p)
    _, s_l, e_l = derivatives(family, slope, a + b * l)
    _, s_r, e_r = derivatives(family, slope, a + b * r)
    up, _ = _revenue_bounds(family, slope, a, b, l, r, s_l, s_r, e_l, e_r)
    vertex = min(max(-0.5 * q1 / max(q2, _TINY), l), r)
    least = max(q0 + vertex * (q1 + vertex * q2), _TINY)
    up += 0.25 * lit * max(0.0, 4.0 * q0 * q2 - q1 * q1) / (least * np.sqrt(least))
    arrived = gradient * gradient <= -2.0 * TOLERANCE * up
    at_end = (p == 0.0 and gradient <= 0.0) or (p == 1.0 and gradient >= 0.0)
    work[_SURE + i] = work[_SURE + i] if up < 0.0 and (arrived or at_end) else 0.0
    value = p * f + _bonus(q0, q1, q2, lit, p)
    work[_CEILING + i] = value + TOLERANCE - _bend(family, slope, a, b) * spacing * spacing * 0.125


@step
def best_price(
    family: int, slope: float, a: float, b: float, q0: float, q1: float, q2: float, width: float, work: FloatArray
) -> float:
    """The lowest price in [0, 1] whose upper confidence bound is the largest, to TOLERANCE in value."""
    discriminant = q1 * q1 - 4.0 * q0 * q2
    if width == 0.0 or not discriminant > 0.0:
        lit = width if q0 + q2 > 0.0 else 0.0  # one sign on the whole line; negative counts as no bonus
        return _search(family, slope, a, b, q0, q1, q2, lit, 0.0, 1.0, 0.0, 0.0, work)[0]
    # Indefinite form: cut at the roots of q (computed without cancellation).
    half = -0.5 * (q1 + (np.sqrt(discriminant) if q1 >= 0.0 else -np.sqrt(discriminant)))
    first = half / q2 if q2 != 0.0 else -q0 / q1
    second = q0 / half if half != 0.0 else 0.0
    low = min(max(min(first, second), 0.0), 1.0)
    high = min(max(max(first, second), 0.0), 1.0)
    best = 0.0
    value = _bonus(q0, q1, q2, width, 0.0)
    left = 0.0
    for piece in range(3):
        right = low if piece == 0 else (high if piece == 1 else 1.0)
        if right > left:
            middle = 0.5 * (left + right)
            lit = width if q0 + middle * (q1 + middle * q2) > 0.0 else 0.0
            best, value = _search(family, slope, a, b, q0, q1, q2, lit, left, right, best, value, work)
            left = right
    return best


@step
def _search(
    family: int,
    slope: float,
    a: float,
    b: float,
    q0: float,
    q1: float,
    q2: float,
    width: float,
    left: float,
    right: float,
    best: float,
    best_value: float,
    work: FloatArray,
) -> tuple[float, float]:
    """The better of the best so far and all of [left, right], where B has no root inside, with its value."""
    spacing = (right - left) / CELLS
    for i in range(CELLS + 1):
        p = left + spacing * i
        work[i] = p * mean(family, slope, a + b * p) + _bonus(q0, q1, q2, width, p)
    for i in range(CELLS + 1):
        if work[i] > best_value:
            best_value = work[i]
            best = min(left + spacing * i, right)
    quick = _bend(family, slope, a, b) * spacing * spacing * 0.125
    convex = not q1 * q1 - 4.0 * q0 * q2 > 0.0
    cell = 0
    while cell < CELLS:
        # B convex: U lies below its chord plus what R can bend. Neighbouring survivors are settled together.
        first = cell
        while cell < CELLS and not (convex and max(work[cell], work[cell + 1]) + quick <= best_value + TOLERANCE):
            cell += 1
        if cell > first:
            low = left + spacing * first
            high = min(left + spacing * cell, right)
            best, best_value = _settle(family, slope, a, b, q0, q1, q2, width, low, high, best, best_value, work)
        cell += 1
    return best, best_value


@inlined
def _bend(family: int, slope: float, a: float, b: float) -> float:
    """A bound on -R'' over [0, 1]."""
    _, s_0, e_0 = derivatives(family, slope, a)
    _, s_1, e_1 = derivatives(family, slope, a + b)
    _, down = _revenue_bounds(family, slope, a, b, 0.0, 1.0, s_0, s_1, e_0, e_1)
    bend = max(0.0, -down)
    if family == LOGISTIC:
        steep = abs(slope * b)
        bend = min(bend, steep * (0.5 + _F2 * steep))  # |R''| <= 2 |b f'| + b^2 |f''|
    return bend


@step
def _settle(
    family: int,
    slope: float,
    a: float,
    b: float,
    q0: float,
    q1: float,
    q2: float,
    width: float,
    left: float,
    right: float,
    best: float,
    best_value: float,
    work: FloatArray,
) -> tuple[float, float]:
    """Take one cell to the end: drop it, solve it, or halve it, depth first from the left. Stack in work[16:]."""
    depth = 0
    work[16] = left
    work[17] = right
    while depth >= 0:
        l = work[16 + 2 * depth]
        r = work[17 + 2 * depth]
        depth -= 1
        f_l, s_l, e_l = derivatives(family, slope, a + b * l)
        f_r, s_r, e_r = derivatives(family, slope, a + b * r)
        q_l = max(0.0, q0 + l * (q1 + l * q2))
        q_r = max(0.0, q0 + r * (q1 + r * q2))
        u_l = l * f_l + width * np.sqrt(q_l)
        u_r = r * f_r + width * np.sqrt(q_r)
        if u_l > best_value:
            best, best_value = l, u_l
        if u_r > best_value:
            best, best_value = r, u_r
        revenue_up, revenue_down = _revenue_bounds(family, slope, a, b, l, r, s_l, s_r, e_l, e_r)
        bonus_up, bonus_down, bonus_most = _bonus_bounds(q0, q1, q2, width, l, r, q_l, q_r)
        span = r - l
        if revenue_up + bonus_up < 0.0:  # concave
            g_l = f_l + l * b * s_l + _bonus_slope(q0, q1, q2, width, l)
            g_r = f_r + r * b * s_r + _bonus_slope(q0, q1, q2, width, r)
            if g_l > 0.0 > g_r:  # otherwise the top of this cell is one of its ends
                start = l + span * g_l / (g_l - g_r)
                p, u = _newton(family, slope, a, b, q0, q1, q2, width, l, r, start, revenue_up + bonus_up)
                if u > best_value:
                    best, best_value = p, u
            continue
        bend = max(0.0, -revenue_down) * span * span * 0.125
        together = max(u_l, u_r) + bend + max(0.0, -bonus_down) * span * span * 0.125
        apart = max(l * f_l, r * f_r) + bend + bonus_most
        if min(together, apart) <= best_value + TOLERANCE * max(1.0, best_value) or span <= _NARROWEST:
            continue
        middle = 0.5 * (l + r)
        work[18 + 2 * depth] = middle
        work[19 + 2 * depth] = r
        work[20 + 2 * depth] = l
        work[21 + 2 * depth] = middle
        depth += 2
    return best, best_value


@inlined
def _revenue_bounds(
    family: int, slope: float, a: float, b: float, l: float, r: float, s_l: float, s_r: float, e_l: float, e_r: float
) -> tuple[float, float]:
    """Bounds R'' <= first and R'' >= second on [l, r], from f' and e = f''/f' at its ends: R'' = b f' (2 + b p e)."""
    s_high = steepest(family, slope, a + b * l, a + b * r, s_l, s_r)
    s_low = min(s_l, s_r)
    corner_low = min(min(l * e_l, l * e_r), min(r * e_l, r * e_r))  # e is monotone, so p e lies between the corners
    corner_high = max(max(l * e_l, l * e_r), max(r * e_l, r * e_r))
    c_low = b * (2.0 + b * (corner_low if b >= 0.0 else corner_high))
    c_high = b * (2.0 + b * (corner_high if b >= 0.0 else corner_low))
    low = min(c_low, c_high)
    high = max(c_low, c_high)
    return high * (s_high if high > 0.0 else s_low), low * (s_high if low < 0.0 else s_low)


@inlined
def _bonus_bounds(
    q0: float, q1: float, q2: float, width: float, l: float, r: float, q_l: float, q_r: float
) -> tuple[float, float, float]:
    """Bounds B'' <= first, B'' >= second and B <= third on [l, r], where q has no root inside."""
    least = min(q_l, q_r)
    most = max(q_l, q_r)
    vertex = -0.5 * q1 / q2 if q2 != 0.0 else -1.0
    if l < vertex < r:
        extreme = max(0.0, q0 + 0.5 * q1 * vertex)
        least = min(least, extreme)
        most = max(most, extreme)
    bend = 0.25 * width * (4.0 * q0 * q2 - q1 * q1)  # B'' = bend / q^(3/2): one sign on the whole piece
    if bend == 0.0 and least > 0.0 or most == 0.0 or width == 0.0:
        return 0.0, 0.0, width * np.sqrt(most)
    steep = bend / (least * np.sqrt(least)) if least > 0.0 else (np.inf if bend >= 0.0 else -np.inf)
    mild = bend / (most * np.sqrt(most))
    return max(steep, mild), min(steep, mild), width * np.sqrt(most)


@step
def _newton(
    family: int,
    slope: float,
    a: float,
    b: float,
    q0: float,
    q1: float,
    q2: float,
    width: float,
    low: float,
    high: float,
    start: float,
    curvature: float,
) -> tuple[float, float]:
    """Maximize U on a cell where U'' <= curvature < 0, to TOLERANCE in value: U* - U <= U'^2 / (2 |curvature|)."""
    p = start if low < start < high else 0.5 * (low + high)
    while True:
        f, s, e = derivatives(family, slope, a + b * p)
        gradient = f + p * b * s + _bonus_slope(q0, q1, q2, width, p)
        q = max(q0 + p * (q1 + p * q2), _TINY)
        second = b * s * (2.0 + b * p * e) + 0.25 * width * (4.0 * q0 * q2 - q1 * q1) / (q * np.sqrt(q))
        if gradient > 0.0:
            low = p
        else:
            high = p
        following = p - gradient / second
        if not low < following < high:
            following = 0.5 * (low + high) if high - low > 4.0 * _NARROWEST else (high if gradient > 0.0 else low)
        enough = gradient * gradient <= -2.0 * TOLERANCE * 0.01 * curvature or abs(following - p) <= _NARROWEST
        if enough:
            return p, p * f + _bonus(q0, q1, q2, width, p)
        p = following
