"""The random tape of a simulation: `draw(seed, trial, period, stream)` by counter, never by state.

A value depends on its address alone, so a result depends on (seed, trial) and not on workers, order, chunks or
engine, and a policy that draws more never shifts another's luck. The generator is Philox4x32-10 (Salmon et al.,
"Parallel random numbers: as easy as 1, 2, 3", SC 2011). It is fast and reproducible, and for that very reason it is
never used to protect anybody: production noise comes from the operating system (`noise.py`).
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from hushprice.numerics.functions import cos_sin_turn, log
from hushprice.numerics.jit import inlined, merged, step
from hushprice.types import FloatArray

# Streams have names; two streams never share a draw.
CONTEXTS = 1
DEMAND = 2
EXPLORATION = 3
COVARIANCE_NOISE = 4
ESTIMATE_NOISE = 5
INPUT_NOISE = 6
OUTPUT_NOISE = 7
HOLDOUT = 8

Words: TypeAlias = tuple[np.uint64, np.uint64, np.uint64, np.uint64]

_M0 = np.uint64(0xD2511F53)
_M1 = np.uint64(0xCD9E8D57)
_W0 = np.uint64(0x9E3779B9)
_W1 = np.uint64(0xBB67AE85)
_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)
_5 = np.uint64(5)
_7 = np.uint64(7)
_16 = np.uint64(16)
_TWO_25 = 33554432.0
_UNIT_52 = 1.0 / 4503599627370496.0
_UNIT_32 = 1.0 / 4294967296.0


@inlined
def philox(key: np.uint64, c0: np.uint64, c1: np.uint64, c2: np.uint64, c3: np.uint64) -> Words:
    """Ten rounds of Philox4x32. All values are uint64 that hold 32 bits, so nothing ever overflows."""
    k0 = key & _LOW
    k1 = key >> _32
    for _ in range(10):
        left = c0 * _M0
        right = c2 * _M1
        c0 = (right >> _32) ^ c1 ^ k0
        c1 = right & _LOW
        c2 = (left >> _32) ^ c3 ^ k1
        c3 = left & _LOW
        k0 = (k0 + _W0) & _LOW
        k1 = (k1 + _W1) & _LOW
    return c0, c1, c2, c3


@merged
def block(seed: int, trial: int, period: int, stream: int, index: int) -> Words:
    """128 random bits at one address; `index` tells apart the blocks one stream needs in one period.

    Addresses are distinct for seed, period < 2^63, trial < 2^32 and stream, index < 2^16.
    """
    n = np.uint64(period)
    return philox(np.uint64(seed), n & _LOW, n >> _32, np.uint64(trial), (np.uint64(stream) << _16) ^ np.uint64(index))


@inlined
def unit(high: np.uint64, low: np.uint64) -> float:
    """A uniform on the open unit interval from 52 of 64 random bits; never 0, never 1 (with 53 it can round to 1)."""
    return (np.float64(high >> _5) * _TWO_25 + np.float64(low >> _7) + 0.5) * _UNIT_52


@inlined
def short_unit(word: np.uint64) -> float:
    """A uniform on the open unit interval from 32 random bits."""
    return (np.float64(word) + 0.5) * _UNIT_32


@inlined
def uniforms(seed: int, trial: int, period: int, stream: int, index: int) -> tuple[float, float]:
    """Two uniforms at one address."""
    a, b, c, d = block(seed, trial, period, stream, index)
    return unit(a, b), unit(c, d)


@inlined
def uniform(seed: int, trial: int, period: int, stream: int) -> float:
    """The first uniform at one address."""
    return uniforms(seed, trial, period, stream, 0)[0]


@inlined
def normals(seed: int, trial: int, period: int, stream: int, index: int) -> tuple[float, float, float, float]:
    """Four standard normals at one address (Box and Muller; 32-bit uniforms, so tails end at 6.7 deviations)."""
    a, b, c, d = block(seed, trial, period, stream, index)
    first = np.sqrt(-2.0 * log(short_unit(a)))
    second = np.sqrt(-2.0 * log(short_unit(c)))
    cos1, sin1 = cos_sin_turn(short_unit(b))
    cos2, sin2 = cos_sin_turn(short_unit(d))
    return first * cos1, first * sin1, second * cos2, second * sin2


@step
def take_normals(seed: int, trial: int, period: int, stream: int, out: FloatArray) -> None:
    """The first standard normals of one period, as many as `out` has entries."""
    for first in range(0, out.size, 4):
        a, b, c, d = normals(seed, trial, period, stream, first // 4)
        out[first] = a
        if first + 1 < out.size:
            out[first + 1] = b
        if first + 2 < out.size:
            out[first + 2] = c
        if first + 3 < out.size:
            out[first + 3] = d


@step
def fill_normals(seed: int, trial: int, stream: int, start: int, count: int, rows: int, out: FloatArray) -> None:
    """Put `rows` standard normals for each of the periods start .. start + count - 1 into out[row, i]."""
    for first in range(0, rows, 4):
        index = first // 4
        for i in range(count):
            a, b, c, d = normals(seed, trial, start + i, stream, index)
            out[first, i] = a
            out[first + 1, i] = b  # out has its rows rounded up to a multiple of four
            out[first + 2, i] = c
            out[first + 3, i] = d
