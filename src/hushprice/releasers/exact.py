"""PrivateCov for live use: whole numbers from the record to what is published, so no digit carries a trace of it.

Published is round(C x) + z on the event's grid, z the exact discrete Gaussian. Everything before the noise is computed
in Python's integers, and everything after it is public. docs/proofs/discrete_noise.md bounds what rounding adds to the
sensitivity; the two facts it needs are kept here: features never leave the unit ball, rounding included, and the filter
rounds each product once.
"""

from __future__ import annotations

import math
from fractions import Fraction

import msgspec
import numpy as np

from hushprice import checks
from hushprice.accounting.events import FROBENIUS, CovarianceStream
from hushprice.accounting.streams import Toeplitz, Tree
from hushprice.errors import BudgetExhausted, InvalidInput
from hushprice.numerics.linear import packed_size
from hushprice.releasers import toeplitz
from hushprice.releasers.covariance import sections_of
from hushprice.releasers.noise import System
from hushprice.releases import CovarianceRelease
from hushprice.types import FloatArray

UNIT_BITS = 40  # features and scores are cut to this many binary places
FINER = 48  # the filter works on a grid so many binary places finer than the noise's
_ROOT_BITS = 80
_LARGEST = 2.0**64
_ROOT = math.isqrt(2 << (2 * _ROOT_BITS))  # sqrt(2), rounded down


class _State(msgspec.Struct, forbid_unknown_fields=True):
    """Integers as hexadecimal text: they pass 64 bits."""

    count: int
    exact: list[str]
    public: list[str]
    decoded: list[float]


class Filter:
    """The Toeplitz filter C in whole numbers, and the decoder of what it publishes; memories are the caller's."""

    def __init__(self, strategy: Toeplitz, shift: int) -> None:
        self._shift = shift  # of the noise's grid, 2^-shift
        self._sections = sections_of(strategy)
        self._multipliers = [
            (_dyadic(pole), _dyadic(Fraction(pole) - Fraction(zero)))
            for pole, zero in zip(strategy.poles, strategy.zeros, strict=True)
        ]

    def rooms(self, size: int) -> tuple[list[list[int]], FloatArray]:
        """Empty memories of C, which are sensitive, and of the decoder, as in toeplitz.py, which are not."""
        sections = len(self._multipliers)
        return [[0] * size for _ in range(sections)], np.zeros((sections + 2, size))

    def publish(self, row: list[int], noise: list[int], memories: list[list[int]], decoded: FloatArray) -> FloatArray:
        """Send a row of x, FINER binary places finer than the noise, through C; decode all that was published."""
        packed = np.empty(len(row))
        for k, signal in enumerate(row):
            for memory, (pole, gain) in zip(memories, self._multipliers, strict=True):
                kept = memory[k]
                memory[k] = _times(kept, pole) + signal
                signal += _times(kept, gain)
            published = round_bits(signal, FINER) + noise[k]
            packed[k] = toeplitz.decode(decoded, *self._sections, k, math.ldexp(published, -self._shift))
        return packed


class ExactCov:
    """The covariance stream of `event`, drawn live. `_exact` is sensitive; `_public` and `_decoded` are not."""

    def __init__(self, *, event: CovarianceStream, source: System) -> None:
        if not event.grid > 0.0:
            raise InvalidInput(f"event must have a grid for live noise, got {event!r}")
        self._event = event
        self._source = source
        self._count = 0
        self._frobenius = event.layout == FROBENIUS
        size = packed_size(event.dimension)
        self._shift = -math.frexp(event.grid)[1] + 1  # grid = 2^-shift
        if isinstance(event.strategy, Tree):
            self._exact = [[0] * size for _ in range(event.strategy.levels)]  # sums of closed nodes
            self._public = [[0] * size for _ in range(event.strategy.levels + 1)]  # noisy ones, from this level up
            self._decoded = np.empty((0, size))
        else:
            self._filter = Filter(event.strategy, self._shift)
            self._exact, self._decoded = self._filter.rooms(size)
            self._public = []

    def absorb(self, phi: FloatArray) -> CovarianceRelease:
        event = self._event
        if phi.shape != (event.dimension,):
            raise InvalidInput(f"phi must have {event.dimension} entries, got shape {phi.shape}")
        if not (np.abs(phi) < _LARGEST).all():  # NaN is not; records are within the unit ball long before
            raise InvalidInput("phi must be finite and of a sensible size")  # says no more: its values are sensitive
        if self._count >= event.steps:
            raise BudgetExhausted(f"{self._count} records are all that the stream was paid for")
        # Drawn before the record is looked at, so that no failure of the draw can depend on it.
        noise = self._source.integers(event.noise / event.grid, packed_size(event.dimension))
        self._count += 1
        if isinstance(event.strategy, Tree):
            packed = self._close_node(outer(phi, self._shift, self._frobenius), noise)
        else:
            row = outer(phi, self._shift + FINER, self._frobenius)
            packed = self._filter.publish(row, noise, self._exact, self._decoded)
        if self._frobenius:
            packed = without_root(packed, event.dimension)
        return CovarianceRelease(packed, self._count, event)

    def _close_node(self, row: list[int], noise: list[int]) -> FloatArray:
        """releasers/tree.py in whole numbers."""
        level = (self._count & -self._count).bit_length() - 1
        packed = np.empty(len(row))
        for k, node in enumerate(row):
            for below in range(level):
                node += self._exact[below][k]
                self._exact[below][k] = 0
            self._exact[level][k] = node
            published = self._public[level + 1][k] + node + noise[k]
            for at in range(level + 1):
                self._public[at][k] = published
            packed[k] = math.ldexp(published, -self._shift)
        return packed

    def state(self) -> bytes:
        """What must survive a restart. Noise already released is part of it and is never drawn again."""
        return msgspec.msgpack.encode(
            _State(self._count, hexed(self._exact), hexed(self._public), self._decoded.ravel().tolist())
        )

    def restore(self, state: bytes, count: int) -> None:
        """Take up after `count` records."""
        checks.whole(0, count=count)
        try:
            saved = msgspec.msgpack.decode(state, type=_State)
            exact, public = unhexed(saved.exact, self._exact), unhexed(saved.public, self._public)
        except (msgspec.DecodeError, ValueError):
            raise InvalidInput("the saved covariance is not one of this releaser") from None
        decoded = np.array(saved.decoded, dtype=float)
        fits = saved.count == count <= self._event.steps and decoded.size == self._decoded.size
        if not (fits and exact is not None and public is not None and np.isfinite(decoded).all()):
            raise InvalidInput("the saved covariance is for another horizon or dimension")
        self._count, self._exact, self._public = count, exact, public
        self._decoded = decoded.reshape(self._decoded.shape)

    def __repr__(self) -> str:
        return "ExactCov(<sensitive>)"


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
