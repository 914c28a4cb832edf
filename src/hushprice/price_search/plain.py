"""The price for a demand family written in plain Python: readable, slower, without a certificate.

It knows nothing of the family but its mean, so it looks everywhere: a dense grid, then a zoom into every peak of it. It
is also what the tests compare the certified search with.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hushprice.demand.protocol import Demand
from hushprice.types import FloatArray

_POINTS = 2049  # a power of two of cells, so that grid prices are exact
_ZOOM = 16  # cells of one zoom; the next one is two of them wide
_ROUNDS = 11  # from 2 / 2048 down to below 1e-12


def dense_price(demand: Demand, a: float, b: float, bonus: tuple[float, float, float], width: float) -> float:
    """The price in [0, 1] that maximizes p f(a + b p) + width sqrt(max(0, q0 + q1 p + q2 p^2)).

    Paper: alg:framework, line 10, with ties as in `best_price`: the larger uncapped value, then the lower price.
    """

    q0, q1, q2 = bonus

    def value(p: FloatArray) -> FloatArray:
        return p * demand.mean(a + b * p) + width * np.sqrt(np.maximum(0.0, q0 + p * (q1 + p * q2)))

    grid = np.unique(np.concatenate([np.linspace(0.0, 1.0, _POINTS), _corners(q0, q1, q2)]))
    # The first of the largest: a zoom that gains nothing over the grid is rounding, and would blur an exact 0 or 1.
    prices = np.concatenate([grid, _peaks(value, grid)])
    return float(prices[np.argmax(value(prices))])


def _corners(q0: float, q1: float, q2: float) -> FloatArray:
    """The roots of q and its vertex, as far as they lie in [0, 1]: where the bonus can have a corner."""
    roots = np.roots([q2, q1, q0])
    corners = np.concatenate([roots.real[roots.imag == 0.0], [-0.5 * q1 / q2] if q2 != 0.0 else []])
    return corners[(corners >= 0.0) & (corners <= 1.0)]


def _peaks(value: Callable[[FloatArray], FloatArray], grid: FloatArray) -> FloatArray:
    """The top of every stretch of the grid that is higher in its middle, all of them zoomed into side by side."""
    heights = value(grid)
    beside = np.concatenate([[-np.inf], heights, [-np.inf]])
    # Strict on one side only: a flat stretch counts once, at its lowest price.
    (peaks,) = np.nonzero((heights > beside[:-2]) & (heights >= beside[2:]))
    low = grid[np.maximum(peaks - 1, 0)]
    high = grid[np.minimum(peaks + 1, grid.size - 1)]
    for _ in range(_ROUNDS):
        prices = np.linspace(low, high, _ZOOM + 1)
        top = np.argmax(value(prices), axis=0)
        each = np.arange(peaks.size)
        low = prices[np.maximum(top - 1, 0), each]
        high = prices[np.minimum(top + 1, _ZOOM), each]
    return 0.5 * (low + high)
