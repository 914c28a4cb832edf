"""What rows add to the sums of a fit, number by number: compiled loops over columns.

A row's numbers are the same bit for bit whoever comes with it, compiled or not: every loop does to a row what it does
to any other, in IEEE arithmetic, and nothing is added across rows before it is a whole number.
"""

from __future__ import annotations

import math

import numpy as np

from hushprice.numerics.functions import exp
from hushprice.numerics.jit import inlined, step
from hushprice.types import FloatArray, IntArray

PIECE = 256  # rows: columns of so many stay in a processor's nearest memory
SPARE = 3  # columns of `work` besides one for every entry of a row
_FAR = 700.0  # of log-odds: e to it is a float
_TINY = 1e-300  # a chance of 0 or 1 is a float's
_ROOT = math.sqrt(2.0)


@inlined
def _held(value: float, least: float, most: float) -> float:
    """Between the two; the most where it is no number, as beliefs beyond all floats make some."""
    value = value if value < most else most
    return value if value > least else least


@step
def hold(rows: FloatArray, weights: FloatArray) -> None:
    """Rows [x; z; y], a column each, to their bounds; what is no number weighs nothing, whatever let it pass."""
    last = rows.shape[0] - 1
    for j in range(last + 1):
        column, least = rows[j], (0.0 if j == last else -1.0)
        for i in range(weights.size):
            value = column[i]
            weights[i] = weights[i] if value == value else 0.0
            column[i] = _held(value, least, 1.0)


@step
def add_whole(numbers: FloatArray, weights: FloatArray, unit: float, total: IntArray) -> None:
    """Numbers of rows, none above 1, times the rows' weights: each is cut to whole multiples of 1 / unit, and added."""
    for j in range(total.size):
        column, added = numbers[j], np.int64(0)
        for i in range(weights.size):
            added += np.int64(_held(column[i], -1.0, 1.0) * (weights[i] * unit))
        total[j] += added


@inlined
def _turn(x: FloatArray, start: int, count: int, i: int, triangle: FloatArray, out: FloatArray) -> None:
    """Entry i of the triangle times rows."""
    for r in range(count):
        out[r] = 0.0
    for j in range(i + 1):
        weight, column = triangle[i, j], x[j, start : start + count]
        for r in range(count):
            out[r] += weight * column[r]


@step
def score_columns(
    x: FloatArray,
    z: FloatArray,
    y: FloatArray,
    lines: FloatArray,
    centre: FloatArray,
    whitening: FloatArray,
    weights: FloatArray,
    bounds: FloatArray,
    work: FloatArray,
    out: FloatArray,
) -> None:
    """t psi / (1 + L) of rows (score_plan.py), a row of `out` for each number.

    `lines` are level and response at theta, [1; x] each; `bounds` are L, c, b, the price's scale, and whether the
    outcomes are mirrored.
    """
    k, size = x.shape[0], weights.size
    largest, heaviest, own, scale, mirrored = bounds[0], bounds[1], bounds[2], bounds[3], bounds[4] > 0.5
    for start in range(0, z.size, PIECE):
        count = min(PIECE, z.size - start)
        end = start + count
        odds, response, squares = work[k, :count], work[k + 1, :count], work[k + 2, :count]
        price = out[k + 1, start:end]
        for r in range(count):
            odds[r], response[r] = lines[0, 0], lines[1, 0]
            price[r] = (z[start + r] - centre[k]) * scale
            squares[r] = (weights[k + 1] * price[r]) * (weights[k + 1] * price[r])
        for j in range(k):
            column, centred = x[j, start:end], work[j, :count]
            for r in range(count):
                odds[r] += lines[0, 1 + j] * column[r]
                response[r] += lines[1, 1 + j] * column[r]
                centred[r] = column[r] - centre[j]
        for j in range(k):
            white, crossed = out[1 + j, start:end], out[k + 2 + j, start:end]
            _turn(work, 0, count, j, whitening, white)
            for r in range(count):
                one, other = weights[1 + j] * white[r], weights[k + 2 + j] * (price[r] * white[r])
                white[r], crossed[r] = one, other
                squares[r] += one * one + other * other
        first = out[0, start:end]
        for r in range(count):
            distance = _held(odds[r] - response[r] * z[start + r], -_FAR, _FAR)
            chance = 1.0 / (1.0 + exp(distance if mirrored else -distance))  # of the rarer outcome
            bought = 1.0 - y[start + r] if mirrored else y[start + r]
            heavy = min(min(1.0 / max(1.0 - chance, _TINY), heaviest), largest / max(chance, _TINY))
            residual = _held(heavy * (bought - chance), -largest, 1.0) * (1.0 / (1.0 + largest))
            first[r] = weights[0] * residual
            squares[r] = residual * min(1.0, own / max(np.sqrt(squares[r]), 1e-12))
            price[r] = (weights[k + 1] * price[r]) * squares[r]
        for j in range(1, size):
            if j != k + 1:
                column = out[j, start:end]
                for r in range(count):
                    column[r] *= squares[r]


@step
def description_columns(
    x: FloatArray,
    z: FloatArray,
    centre: FloatArray,
    whitening: FloatArray,
    bounds: FloatArray,
    work: FloatArray,
    out: FloatArray,
) -> None:
    """[kappa; sqrt(2) v; v v'] / D of rows (description.py), a row of `out` for each; `bounds` are R, kappa and D."""
    size = x.shape[0] + 1
    radius, constant, scale = bounds[0], bounds[1] / bounds[2], 1.0 / bounds[2]
    for start in range(0, z.size, PIECE):
        count = min(PIECE, z.size - start)
        end = start + count
        squares = work[size, :count]
        for r in range(count):
            squares[r] = 0.0
        for i in range(size):
            centred = work[i, :count]
            column = z[start:end] if i == size - 1 else x[i, start:end]
            for r in range(count):
                centred[r] = column[r] - centre[i]
        for i in range(size):
            v = out[1 + i, start:end]
            _turn(work, 0, count, i, whitening, v)
            for r in range(count):
                squares[r] += v[r] * v[r]
        first = out[0, start:end]
        for r in range(count):
            first[r] = constant
            squares[r] = min(1.0, radius / max(np.sqrt(squares[r]), 1e-12))
        for i in range(size):
            v, held = out[1 + i, start:end], work[i, :count]
            for r in range(count):
                held[r] = v[r] * squares[r]
                v[r] = (_ROOT * scale) * held[r]
        at = 1 + size
        for i in range(size):
            left = work[i, :count]
            for j in range(i, size):
                right, product, factor = work[j, :count], out[at, start:end], scale if i == j else _ROOT * scale
                for r in range(count):
                    product[r] = factor * (left[r] * right[r])
                at += 1
