"""Probes: short batches priced for demand moved on purpose, so that slopes are learned where prices do not show them.

With an intercept, customers of one kind are all quoted one price, and demand at one price says nothing about its slope.
Dispersing prices within a batch helps little: noise is added to the batch's sum, and what dispersion by h adds to that
sum is of order h^2. A whole batch at prices h away from those before it adds h. So every other batch may be a probe:
all its customers are priced for theta moved to the surface of the belief's ellipsoid: the price's coefficient by some
deviations with all else as the belief then expects it, then each other coefficient by what is left of its own.

Who is priced away from where demand is known best teaches the slope anyway and is left alone: on the map of
sec:numerical that is everybody. All of this reads releases, slot numbers and the arriving customer.
"""

from __future__ import annotations

import math

from hushprice.demand.welfare import clairvoyant_price
from hushprice.numerics.jit import inlined, merged, step
from hushprice.numerics.linear import cholesky
from hushprice.price_search.coefficients import bonus_curve, demand_line
from hushprice.types import FloatArray

_MOST_TURNS = 62  # bits of a turn that may be asked for


@merged
def tilt(inverse: FloatArray, effect: FloatArray, reach: float, turn: int, out: FloatArray, work: FloatArray) -> None:
    """`reach` times a root of the belief's covariance times signs, into out. work is (2 d, d) or more.

    The root is Cholesky's, beginning where `effect`, how a price enters the features, is largest, and going round. The
    r-th sign holds for 2^r turns and then changes, so over 2^d turns the mean of out out' is reach^2 inverse. Principal
    axes would do as well, but where variances are equal, as in all directions that nobody has shown yet, the last digit
    decides which axes these are, and two machines would quote other prices.
    """
    d = out.size
    first, matrix, root = 0, work[:d], work[d : 2 * d]
    for i in range(d):
        out[i] = 0.0
        if abs(effect[i]) > abs(effect[first]):
            first = i
    for i in range(d):
        for j in range(d):
            matrix[i, j] = inverse[(first + i) % d, (first + j) % d]
    if not cholesky(matrix, d, root):
        return
    for i in range(d):
        for j in range(i + 1):
            to_the_left = (turn >> min(j, _MOST_TURNS)) & 1 == 1
            out[(first + i) % d] += -reach * root[i, j] if to_the_left else reach * root[i, j]


@inlined
def moves(
    family: int,
    slope: float,
    near: float,
    cost: float,
    a: float,
    b: float,
    q1: float,
    q2: float,
    up: float,
    down: float,
) -> bool:
    """Is the customer with demand a + b p to be priced for (a + up) + (b + down) p instead?

    Demand is known best at p = -q1 / (2 q2). Only if the best price is nearer to that than a share `near` of the way it
    would move does the move teach more about the slope than staying.
    """
    if not q2 > 0.0:
        return False
    price = _best(family, slope, cost, a, b)
    moved = _best(family, slope, cost, a + up, b + down)
    return abs(price + 0.5 * q1 / q2) < near * abs(moved - price)


@inlined
def _best(family: int, slope: float, cost: float, a: float, b: float) -> float:
    """argmax over [c, 1] of (p - c) f(a + b p), with p = c + (1 - c) r."""
    above = 1.0 - cost
    return cost + above * clairvoyant_price(family, slope, a + b * cost, b * above)


@step
def move_lines(
    family: int,
    slope: float,
    near: float,
    cost: float,
    count: int,
    up: FloatArray,
    down: FloatArray,
    a: FloatArray,
    b: FloatArray,
    q1: FloatArray,
    q2: FloatArray,
) -> int:
    """Move the lines a + b p of those who are to be moved. Returns how many."""
    total = 0
    for i in range(count):
        if moves(family, slope, near, cost, a[i], b[i], q1[i], q2[i], up[i], down[i]):
            a[i] += up[i]
            b[i] += down[i]
            total += 1
    return total


@merged
def length(records: int, longest: int, share: float, reach: float, least: float) -> int:
    """Records in a probe: at least `least` and so many that its reach is not passed, at most `longest`."""
    most = min(max(share * records / (reach * reach), least), longest)
    return min(max(1, int(math.ceil(most))), longest)  # noqa: RUF046 (a GPU rounds up to a float)


@merged
def reach_of(records: int, length: int, share: float) -> float:
    """Deviations that prices move by: length times reach^2, which is what a probe costs, is `share` of all records."""
    return math.sqrt(share * records / length)


@merged
def is_on(tilt: FloatArray) -> bool:
    """Is this a probe's tilt, and not all zeros?"""
    on = False
    for j in range(tilt.size):
        on = on or tilt[j] != 0.0
    return on


def work_shape(d: int) -> tuple[int, int]:
    """Of one array that is scratch for `begin` (2 d + 10 rows) and for the steps of belief.py (4 d + 3)."""
    return 4 * d + 9, d


@step
def begin(
    family: int,
    slope: float,
    share: float,
    reach: float,
    least: float,
    near: float,
    cost: float,
    theta: FloatArray,
    inverse: FloatArray,
    u: FloatArray,
    v: FloatArray,
    batches: int,
    records: int,
    end: int,
    out: FloatArray,
    work: FloatArray,
) -> int:
    """The slot after which a batch ends at the latest, and its tilt into out: zeros unless it is a probe.

    It follows `batches` batches of `records` records and would end at `end`. Every other batch may be a probe, and is
    one if somebody among the reference customers, (d, 1) in u and v each, would be moved. The first of them is x = 0.
    """
    d = out.size
    for j in range(d):
        out[j] = 0.0
    if share <= 0.0 or batches % 2 == 0:
        return end
    many = length(records, end - records, share, reach, least)
    tilt(inverse, v[0, :, 0], reach_of(records, many, share), batches // 2, out, work)
    lines = work[2 * d + 1 : 2 * d + 10]
    a, b, up, down, q0, q1, q2 = lines[0], lines[1], lines[2], lines[3], lines[4], lines[5], lines[6]
    for i in range(u.shape[0]):  # one by one: a GPU cannot make room for all
        left, right = u[i], v[i]
        count = left.shape[1]  # 1: written so, steps are not compiled once more for it
        demand_line(theta, left, right, count, a, b)
        demand_line(out, left, right, count, up, down)
        bonus_curve(inverse, left, right, count, q0, q1, q2, lines[7:9])
        if move_lines(family, slope, near, cost, count, up, down, a, b, q1, q2) > 0:
            return records + many
    for j in range(d):
        out[j] = 0.0
    return end
