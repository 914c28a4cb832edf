"""Episode j has j customers: the first pays a uniform price, the others the best price of a lasso fit of those first.

The fit sees the uniform prices alone, so that prices that depend on an estimate never bias it.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit

from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rival_parts.logistic_fit import Rows
from hushprice.types import FloatArray

LASSO = 0.1  # of slope sqrt(ln d / n). The source's 4 u_W in its place leaves every coefficient at 0 here
STEPS = 60  # of proximal gradient, from the last estimate


class EpisodicLasso:
    """One fit an episode."""

    def __init__(self, frame: Frame, rng: np.random.Generator) -> None:
        self._frame, self._rng = frame, rng
        self._rows, self.theta = Rows(frame.dimension), np.zeros(frame.dimension)
        self._episode, self._at = 1, 0  # customers of this episode so far

    @property
    def due(self) -> int:
        return 1 if self._at == 0 else self._episode - self._at

    def prices(self, customers: Customers) -> FloatArray:
        if self._at == 0:
            return self._rng.uniform(self._frame.lowest, self._frame.highest, customers.size)
        return self._frame.best_prices(customers, self.theta)

    def learn(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
        if self._at == 0:
            self._rows.add_customers(self._frame, customers, prices, demands)
            self.theta = lasso(self._rows, self._frame.slope, self.theta, steps=STEPS)
        self._at += len(demands)
        if self._at == self._episode:
            self._episode, self._at = self._episode + 1, 0


def lasso(rows: Rows, slope: float, start: FloatArray, *, steps: int, factor: float = LASSO) -> FloatArray:
    """The theta with the least mean loss plus lambda ||theta||_1, lambda = factor slope sqrt(ln d / n)."""
    phi, count = slope * rows.phi, rows.count
    penalty = factor * slope * math.sqrt(math.log(max(start.size, 2)) / count)
    steep = 0.25 * float(np.linalg.eigvalsh(phi.T @ phi)[-1]) / count + 1e-12  # of the mean loss's gradient
    theta = start
    for _ in range(steps):
        moved = theta - phi.T @ (expit(rows.offset + phi @ theta) - rows.bought) / (count * steep)
        theta = np.sign(moved) * np.maximum(np.abs(moved) - penalty / steep, 0.0)
    return theta
