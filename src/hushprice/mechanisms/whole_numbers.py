"""Whole numbers from a record to what is published, so that no digit of a release carries a trace of a record.

Vectors are cut to multiples of 2^-40 and held to the unit ball as integers. The Toeplitz filter C runs on a grid finer
than the noise's, and rounding to that grid is charged (docs/proofs/discrete_noise.md).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from hushprice.mechanisms import toeplitz
from hushprice.mechanisms.continual_sum import sections_of
from hushprice.privacy.streams import Toeplitz
from hushprice.types import FloatArray

UNIT_BITS = 40  # features and scores are cut to this many binary places
FINER = 48  # the filter works on a grid so many binary places finer than the noise's
_ROOT_BITS = 80
_ROOT = math.isqrt(2 << (2 * _ROOT_BITS))  # sqrt(2), rounded down


class Filter:
    """The Toeplitz filter C in whole numbers, and the decoder of what it publishes; memories are the caller's."""

    def __init__(self, strategy: Toeplitz, shift: int) -> None:
        self._shift = shift  # of the noise's grid, 2^-shift
        self._sections = sections_of(strategy)
        self._multipliers = [
            (_dyadic(pole), _dyadic(Fraction(pole) - Fraction(zero)))
            for pole, zero in zip(strategy.poles, strategy.zeros, strict=True)
        ]

    def empty_memories(self, size: int) -> tuple[list[list[int]], FloatArray]:
        """Empty memories of C, which are sensitive, and of the decoder, as in toeplitz.py, which are not."""
        sections = len(self._multipliers)
        return [[0] * size for _ in range(sections)], np.zeros((sections + 2, size))

    def publish(self, row: list[int], noise: list[int], memories: list[list[int]], decoded: FloatArray) -> FloatArray:
        """Send a row of x, FINER binary places finer than the noise, through C; decode all that was published."""
        packed = np.empty(len(row))
        for k, signal in enumerate(row):
            for memory, (pole, gain) in zip(memories, self._multipliers, strict=True):
                before = memory[k]
                memory[k] = _times(before, pole) + signal
                signal += _times(before, gain)
            published = round_bits(signal, FINER) + noise[k]
            packed[k] = toeplitz.decode(decoded, *self._sections, k, math.ldexp(published, -self._shift))
        return packed


def in_unit_ball(vector: FloatArray) -> list[int]:
    """A vector in units of 2^-40, of length at most 1 exactly.

    Entries are cut to 40 binary places towards zero, then held to the unit ball as integers: the sensitivity rests on
    it, and a norm computed in floating point can pass 1 by a rounding error.
    """
    one = 1 << UNIT_BITS
    whole = [int(math.ldexp(float(value), UNIT_BITS)) for value in vector]
    norm2 = sum(value * value for value in whole)
    if norm2 > one * one:
        norm = math.isqrt(norm2) + 1
        whole = [(abs(value) * one // norm) * (1 if value > 0 else -1) for value in whole]
    return whole


def without_root(packed: FloatArray, dimension: int) -> FloatArray:
    """A packed matrix whose off-diagonal entries were times sqrt(2), without that."""
    rows, columns = np.triu_indices(dimension)
    return np.where(rows == columns, packed, packed * math.sqrt(0.5))


def outer(phi: FloatArray, shift: int, frobenius: bool) -> list[int]:
    """phi phi', packed, rounded to multiples of 2^-shift; off-diagonal entries times sqrt(2) if `frobenius`.

    Features are held to the unit ball first.
    """
    return on_grid(square(in_unit_ball(phi)), phi.size, shift, frobenius)


def square(whole: list[int]) -> list[int]:
    """x x', packed, without rounding."""
    return [left * right for i, left in enumerate(whole) for right in whole[i:]]


def on_grid(packed: list[int], dimension: int, shift: int, frobenius: bool) -> list[int]:
    """A packed matrix in units of 2^-80, rounded to multiples of 2^-shift; off-diagonal times sqrt(2) if asked."""
    bits = 2 * UNIT_BITS - shift
    rounded, at = [], 0
    for size in range(dimension, 0, -1):
        rounded.append(round_bits(packed[at], bits))
        for value in packed[at + 1 : at + size]:
            rounded.append(round_bits(value * _ROOT, bits + _ROOT_BITS) if frobenius else round_bits(value, bits))
        at += size
    return rounded


def _dyadic(value: Fraction | float) -> tuple[int, int]:
    """A binary fraction as (numerator, bits): every float is one, exactly."""
    exact = Fraction(value)
    return exact.numerator, exact.denominator.bit_length() - 1


def _times(value: int, factor: tuple[int, int]) -> int:
    """The product, rounded once."""
    return round_bits(value * factor[0], factor[1])


def round_bits(value: int, bits: int) -> int:
    """value / 2^bits to the nearest integer; halves go up."""
    if bits <= 0:
        return value << -bits
    return (value + (1 << (bits - 1))) >> bits


def hexed(rows: list[list[int]]) -> list[str]:
    """Whole numbers of any size as text, a row a line."""
    return [" ".join(format(value, "x") for value in row) for row in rows]


def unhexed(text: list[str], like: list[list[int]]) -> list[list[int]] | None:
    """What `hexed` wrote; None where it has another shape."""
    rows = [[int(value, 16) for value in line.split()] for line in text]
    return rows if [len(row) for row in rows] == [len(row) for row in like] else None
