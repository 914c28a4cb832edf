"""Sums over many records in 64-bit integers, equal to those of whole_numbers.py over one at a time in Python's."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from hushprice.mechanisms.whole_numbers import UNIT_BITS, in_unit_ball
from hushprice.types import FloatArray, IntArray

MOST_TERMS = 1 << 16  # records whose products are added in 64 bits: sums stay below 2^58
_HALF = UNIT_BITS // 2


def in_unit_balls(vectors: FloatArray) -> IntArray:
    """`in_unit_ball` of every column, many at a time."""
    short = (np.abs(vectors) <= 1.0).all(axis=0)
    whole = np.trunc(np.ldexp(np.where(short, vectors, 0.0), UNIT_BITS)).astype(np.int64)
    for i in np.flatnonzero(~short | _longer(whole)):
        whole[:, i] = in_unit_ball(vectors[:, i])
    return whole


def _longer(whole: IntArray) -> NDArray[np.bool_]:
    """Which columns are longer than 1, exactly. Squares pass 64 bits, so digits to the base 2^20 are carried."""
    mask = (1 << _HALF) - 1
    high, low = np.abs(whole) >> _HALF, np.abs(whole) & mask
    ones = (low * low).sum(axis=0)
    middle = 2 * (high * low).sum(axis=0) + (ones >> _HALF)
    top = (high * high).sum(axis=0) + (middle >> _HALF)
    one = 1 << UNIT_BITS
    return (top > one) | ((top == one) & (((middle | ones) & mask) > 0))


def products(whole: IntArray) -> list[int]:
    """The sum of x x' over the columns x, packed, in units of 2^-80 and without rounding; MOST_TERMS columns at most.

    |x_i| <= 2^40 is high 2^20 + low with |high| <= 2^20 and 0 <= low < 2^20, so no sum below passes 2^41 MOST_TERMS.
    """
    high, low = whole >> _HALF, whole & ((1 << _HALF) - 1)
    cross = high @ low.T
    upper = _upper(whole.shape[0])
    sums = ((high @ high.T)[upper], (cross + cross.T)[upper], (low @ low.T)[upper])
    return [
        (top << UNIT_BITS) + (middle << _HALF) + ones
        for top, middle, ones in zip(*(each.tolist() for each in sums), strict=True)
    ]


@functools.lru_cache(maxsize=64)
def _upper(dimension: int) -> tuple[IntArray, ...]:
    return np.triu_indices(dimension)
