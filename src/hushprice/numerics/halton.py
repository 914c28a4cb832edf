"""Points that fill a cube evenly: Halton's sequence with its digits permuted at random.

`scipy.stats.qmc.Halton` gives the same points; to import it takes as long as all else that a service loads.
"""

from __future__ import annotations

import math

import numpy as np

from hushprice.types import FloatArray, IntArray

_BITS = 54  # digits below 2^-54 leave a point of [0, 1] where it is


def scrambled_halton(count: int, dimensions: int, seed: int) -> FloatArray:
    """The first points, (count, dimensions): coordinate j has its digits in the j-th prime's base.

    Owen, "A randomized Halton algorithm in R" (2017), algorithm 1: every digit has a permutation of its own.

    >>> scrambled_halton(4, 1, seed=1).round(3).ravel().tolist()
    [0.154, 0.654, 0.404, 0.904]
    """
    random = np.random.default_rng(seed)
    columns = [_digits_mirrored(count, base, random) for base in _primes(dimensions)]
    return np.stack(columns, axis=1) if columns else np.empty((count, 0))


def _digits_mirrored(count: int, base: int, random: np.random.Generator) -> FloatArray:
    """0, 1, 2, ... with their digits, permuted, behind the point in reverse order."""
    points, rest, weight = np.zeros(count), np.arange(count), 1.0 / base
    for permutation in _permutations(base, random):
        points += permutation[rest % base] * weight
        weight /= base
        rest //= base
    return points


def _permutations(base: int, random: np.random.Generator) -> IntArray:
    """One for every digit that a double can show."""
    drawn = np.tile(np.arange(base), (math.ceil(_BITS / math.log2(base)) - 1, 1))
    for row in drawn:
        random.shuffle(row)
    return drawn


def _primes(count: int) -> list[int]:
    found: list[int] = []
    candidate = 2
    while len(found) < count:
        if all(candidate % prime for prime in found):
            found.append(candidate)
        candidate += 1
    return found
