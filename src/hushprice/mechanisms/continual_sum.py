"""What the two strategies of a continual sum share: their empty state, their sections, and the noise of each entry."""

from __future__ import annotations

import math

import numpy as np

from hushprice.numerics.linear import packed_size
from hushprice.privacy.streams import Strategy, Tree
from hushprice.types import FloatArray


def scales_of(noise: float, frobenius: bool, dimension: int) -> FloatArray:
    """The noise's deviation for every entry of a packed upper triangle.

    Isotropic in Frobenius norm means that the two copies of an off-diagonal entry share one entry's noise.
    """
    rows, columns = np.triu_indices(dimension)
    return noise * np.where((rows != columns) & frobenius, math.sqrt(0.5), 1.0)


def empty_state(strategy: Strategy, dimension: int) -> tuple[FloatArray, FloatArray]:
    """The state of a strategy, empty: what `tree` and `toeplitz` call exact and running."""
    size = packed_size(dimension)
    if isinstance(strategy, Tree):
        return np.zeros((strategy.levels, size)), np.zeros((strategy.levels + 1, size))
    return np.zeros((1, size)), np.zeros((len(strategy.poles) + 2, size))


def sections_of(strategy: Strategy) -> tuple[FloatArray, FloatArray]:
    """A Toeplitz strategy's poles and zeros; empty for a tree."""
    if isinstance(strategy, Tree):
        return np.empty(0), np.empty(0)
    return np.array(strategy.poles), np.array(strategy.zeros)
