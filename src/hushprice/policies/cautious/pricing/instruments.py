"""What a residual is multiplied by before it is added up: any function of customer, coin and price will do.

Sum of psi (f - y) has mean zero at the truth whatever psi is (a moment equation), so psi may be chosen for what it
costs. A batch has one of the WEIGHTS, w, and with x^ = x held to a ball

    psi = [w1; w2 x^; w3 z [1; x^] / sqrt(2); w4 coin; w5 coin x^].

The constant and the coin are the same whoever the customer is, so replacing a record moves the sum less than two
vectors of length 1 could be apart (docs/proofs/moments.md).
"""

from __future__ import annotations

import math

import numpy as np

from hushprice.types import FloatArray

RADIUS = 0.6  # of the ball x^ lies in, times the root of its entries: what most customers' contexts lie in


def _unit(*weights: float) -> tuple[float, ...]:
    length = math.hypot(*weights)
    return tuple(weight / length for weight in weights)


# For the common price alone; for common and personal prices; mostly for personal ones; for conversion alone, which
# is all there is to see where nothing is tried out.
WEIGHTS = (
    _unit(0.4, 0.0, 0.0, 0.9, 0.0),
    _unit(0.45, 0.25, 0.25, 0.6, 0.4),
    _unit(0.3, 0.3, 0.3, 0.5, 0.7),
    _unit(1.0, 0.0, 0.0, 0.0, 0.0),
)


def held(contexts: FloatArray) -> FloatArray:
    """Rows x^ = x / max(|x|, radius): of length at most 1."""
    radius = RADIUS * math.sqrt(max(contexts.shape[1], 1))
    lengths = np.sqrt((contexts * contexts).sum(axis=1))
    return np.asarray(contexts / np.maximum(lengths, radius)[:, None])


def entries(contexts: int) -> int:
    """The length of psi."""
    return 3 * (contexts + 1)


def own_share(choice: int) -> float:
    """The length of the part of psi that depends on the customer, at most."""
    _, attributes, priced, _, personal = WEIGHTS[choice]
    return math.hypot(attributes, priced, personal)


def instruments(contexts: FloatArray, prices: FloatArray, coins: FloatArray, choice: int) -> FloatArray:
    """Rows psi of customers with these contexts, relative prices in [-1, 1] and coins of +1 and -1."""
    level, attributes, priced, coin, personal = WEIGHTS[choice]
    x = held(contexts)
    one, z = np.ones((len(x), 1)), prices[:, None] * (priced * math.sqrt(0.5))
    c = coins[:, None]
    return np.hstack([level * one, attributes * x, z, z * x, coin * c, (personal * c) * x])
