"""Epanechnikov's kernel in price, bent at the ends of the range so that a price there is asked for without bias.

K(u) = 3/4 (1 - u^2) on [-1, 1]. Where the range of prices cuts it to [low, high], it is replaced by
(a2 - a1 u) K(u) / (a0 a2 - a1^2), a_j the integral of u^j K over what is left: total 1 and mean 0 there too (Jones,
"Simple boundary correction for kernel density estimation", 1993). `positive` asks for K / a0 instead, which is never
below 0 and off by the first order at the ends.
"""

from __future__ import annotations

import numpy as np

from hushprice.types import FloatArray


def kernel_weights(
    prices: FloatArray, wanted: FloatArray, bandwidth: float, ends: tuple[float, float], *, positive: bool = False
) -> FloatArray:
    """K((price - wanted) / bandwidth) / bandwidth of every row; 0 where the wanted price is outside the range.

    >>> kernel_weights(np.array([0.0]), np.array([0.0]), 0.5, (-1.0, 1.0)).tolist()
    [1.5]
    """
    distance = (prices - wanted) / bandwidth
    low = np.clip((ends[0] - wanted) / bandwidth, -1.0, 1.0)
    high = np.clip((ends[1] - wanted) / bandwidth, -1.0, 1.0)
    inside = (np.abs(distance) < 1.0) & (wanted >= ends[0]) & (wanted <= ends[1])
    plain = np.where(inside, 0.75 * (1.0 - distance * distance), 0.0) / bandwidth
    mass = _integral(high, 0) - _integral(low, 0)
    if positive:
        return np.asarray(plain / np.where(mass > 0.0, mass, 1.0))
    mean, square = _integral(high, 1) - _integral(low, 1), _integral(high, 2) - _integral(low, 2)
    whole = mass * square - mean * mean
    return np.asarray(plain * (square - mean * distance) / np.where(whole > 0.0, whole, 1.0))


def _integral(u: FloatArray, power: int) -> FloatArray:
    """The integral of u^power K(u), from 0 to u."""
    return np.asarray(0.75 * (u ** (power + 1) / (power + 1) - u ** (power + 3) / (power + 3)))
