"""The best price where demand is logistic and its log-odds fall along a line: in closed form."""

from __future__ import annotations

import numpy as np
from scipy.special import wrightomega

from hushprice.types import FloatArray

_FLAT = 1e-9  # a response below this is no response: the highest price is best
_LARGEST = 700.0  # exp() of it is finite


def best_relative_price(
    level: FloatArray, response: FloatArray, *, margin: float, lowest: float, highest: float
) -> FloatArray:
    """The z in [lowest, highest] that maximizes (margin + z) / (1 + exp(-(level - response z))).

    With q = margin + z and L = level + response margin, the first-order condition q response (1 - f) = 1 reads
    w e^w = e^(L - 1) for w = response q - 1, which Lambert's function solves; earnings rise before and fall after it.

    >>> best_relative_price(np.array([0.0]), np.array([2.0]), margin=1.0, lowest=-1.0, highest=1.0).round(3).tolist()
    [0.0]
    """
    steep = np.maximum(response, _FLAT)
    root = (1.0 + _omega(level + steep * margin - 1.0)) / steep
    best = np.where(response > _FLAT, root - margin, highest)
    return np.clip(best, lowest, highest)


def _omega(height: FloatArray) -> FloatArray:
    """SciPy's wrightomega, w + log(w) = height, on whole arrays in a third of the time.

    From a start that is right at both ends, two steps of fourth order (Fritsch, Shafer and Crowley 1973).

    >>> _omega(np.array([-40.0, 0.0, 1.0, 700.0])).round(6).tolist()
    [0.0, 0.567143, 1.0, 693.458309]
    """
    x = np.clip(height, -_LARGEST, _LARGEST)
    small = np.exp(np.minimum(x, 1.0))
    w = np.where(x < 1.0, small / (1.0 + small * (0.9 - 0.2 * np.minimum(small, 1.0))), x - np.log(np.maximum(x, 1.0)))
    for _ in range(2):
        rest, next_to = x - w - np.log(w), w + 1.0
        twice = 2.0 * next_to * (next_to + (2.0 / 3.0) * rest)
        w = w * (1.0 + rest / next_to * (twice - rest) / (twice - 2.0 * rest))
    return np.asarray(w)


def best_price_of_one(level: float, response: float, *, margin: float, lowest: float, highest: float) -> float:
    """One customer's best price, up to a last digit: on plain numbers it takes a tenth of the time. NaN stays NaN.

    >>> round(best_price_of_one(0.0, 2.0, margin=1.0, lowest=-1.0, highest=1.0), 3)
    0.0
    """
    if response <= _FLAT:
        return highest
    height = level + response * margin - 1.0
    root = (1.0 + float(wrightomega(_LARGEST if height > _LARGEST else height))) / response
    return clipped(root - margin, lowest, highest)


def clipped(value: float, lowest: float, highest: float) -> float:
    """The value, or the nearer bound; NaN is neither below nor above."""
    return lowest if value < lowest else highest if value > highest else value
