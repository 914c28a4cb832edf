"""Demand fitted to one half of a log, to be asked about the other: the model of a doubly robust value.

No noise is added: it is exact, and for the operator alone.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from hushprice.logs.buckets import folds_of
from hushprice.logs.log_reader import LogReader
from hushprice.logs.rows import LogRows
from hushprice.policies.cautious.pricing.shop_model import ShopModel, with_constant
from hushprice.types import FloatArray

_RIDGE = 1.0  # of theta = 0, the shop's declaration: what one visit in four would say about a number
_STEPS = 12
_CLOSE = 1e-6


class CrossedDemand:
    """theta of either half of a log."""

    def __init__(self, model: ShopModel, thetas: FloatArray) -> None:
        self._model = model
        self.thetas = thetas  # (2, size): row f was fitted to the other half than f

    def expected(self, rows: LogRows, prices: FloatArray) -> FloatArray:
        """Demand of rows at these relative prices, by the half they are not in."""
        customers, half = with_constant(rows.contexts), folds_of(rows)
        level, response = self._model.lines(self.thetas, customers)
        at = np.arange(len(half))
        return np.asarray(expit(level[half, at] - response[half, at] * prices))

    def __repr__(self) -> str:
        return "CrossedDemand(<sensitive>)"


def fit_crossed(model: ShopModel, reader: LogReader) -> CrossedDemand:
    """Penalized maximum likelihood for both halves, by Newton steps, a pass over the log each."""
    thetas = np.zeros((2, model.size))
    for _ in range(_STEPS):
        gradient, curvature = np.zeros((2, model.size)), np.zeros((2, model.size, model.size))
        for rows in reader.rows():
            _add(model, rows, thetas, gradient, curvature)
        steps = np.zeros_like(thetas)
        for half in (0, 1):
            total = curvature[half] + _RIDGE * np.eye(model.size)
            steps[half] = np.linalg.solve(total, gradient[half] - _RIDGE * thetas[half])
        longest = np.sqrt((steps * steps).sum(axis=1, keepdims=True))
        thetas += steps * np.minimum(1.0, 4.0 / np.maximum(longest, 1e-300))
        if float(longest.max()) < _CLOSE:
            break
    return CrossedDemand(model, thetas)


def _add(model: ShopModel, rows: LogRows, thetas: FloatArray, gradient: FloatArray, curvature: FloatArray) -> None:
    customers, halves = with_constant(rows.contexts), folds_of(rows)
    features = np.hstack([customers, -rows.prices[:, None] * customers])
    for half in (0, 1):
        taken = features[halves != half]
        base = model.level - model.response * rows.prices[halves != half]
        chance = expit(base + taken @ thetas[half])
        gradient[half] += taken.T @ (rows.demands[halves != half] - chance)
        curvature[half] += (taken * (chance * (1.0 - chance))[:, None]).T @ taken
