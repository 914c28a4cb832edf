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
    root = (1.0 + wrightomega(np.minimum(level + steep * margin - 1.0, _LARGEST))) / steep
    best = np.where(response > _FLAT, root - margin, highest)
    return np.clip(best, lowest, highest)


def best_price_of_one(level: float, response: float, *, margin: float, lowest: float, highest: float) -> float:
    """The same for one customer: on plain numbers it takes a tenth of the time. NaN stays NaN.

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
