"""The side that prices: the minimizer of all losses' quadratic bounds so far, by a noisy sum."""

from __future__ import annotations

import numpy as np

from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.types import FloatArray

STRONG = 0.2  # H: how strongly convex the losses are taken to be, in psi'theta


class Leader:
    """theta_{t+1} = argmin sum <g_s, w> + H/2 ||w - theta_s||^2 = -sum (g_s - H theta_s) / H t; prices are greedy."""

    def __init__(self, frame: Frame) -> None:
        self._frame, self._unit = frame, frame.slope * frame.length
        self._ball = self._unit * frame.size
        self.theta = np.zeros(frame.dimension)

    def prices(self, customers: Customers) -> FloatArray:
        """The best price for theta."""
        return self._frame.best_prices(customers, self.theta / self._unit)

    def accept(self, total: FloatArray, count: int) -> None:
        """The noisy sum of g_s - H theta_s of so many customers."""
        theta = -total / (STRONG * count)
        self.theta = theta * min(1.0, self._ball / max(float(np.linalg.norm(theta)), 1e-300))
