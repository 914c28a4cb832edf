"""The side that prices: a Newton step an epoch, the next weights, and optimism in their norm."""

from __future__ import annotations

import math

import numpy as np

from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rival_parts.optimism import LOGISTIC, best_on_grid, glm_parts
from hushprice.types import FloatArray


class WeightedBelief:
    """theta of log-odds = offset + theta'psi, and U with E[U psi psi' U / ||U psi||] + lambda U near I."""

    def __init__(self, frame: Frame, noise: float) -> None:
        self._frame, self._noise = frame, noise
        self._ball = frame.slope * frame.length * frame.size
        self.theta, self.u, self.width = np.zeros(frame.dimension), np.eye(frame.dimension), 0.0

    def prices(self, customers: Customers) -> FloatArray:
        """The best price of the grid for log-odds psi'theta + width ||U psi||."""
        frame, parts = self._frame, glm_parts(customers) / self._frame.length
        width = self.width / frame.slope
        return best_on_grid(frame, parts, self.theta / frame.slope, self.u @ self.u, width=width, kind=LOGISTIC)

    def accept(self, total: FloatArray, count: int) -> None:
        """Take up an epoch's sum, of so many records. Where noise hides the curvature, theta and U stay."""
        d = self.theta.size
        far = math.sqrt(2.0) * self._noise * (2.0 * math.sqrt(d) + 2.0)  # passed by the matrix's noise once in e^4
        curvature = total[d:].reshape(d, d)
        if np.linalg.svd(curvature, compute_uv=False)[-1] <= far:
            return
        theta = self.theta - 4.0 * np.linalg.solve(curvature, total[:d])
        self.theta = theta * min(1.0, self._ball / max(float(np.linalg.norm(theta)), 1e-300))
        # U = (M + lambda)^-1 at the fixed point, M the mean of w psi'; half a step of it, which does not swing.
        mean = curvature @ self.u / count
        values, vectors = np.linalg.eigh(0.5 * (mean + mean.T))
        step = (vectors / np.sqrt(np.maximum(values, far / count))) @ vectors.T
        root = _root(self.u)
        self.u = root @ step @ root
        self.width = 4.0 * (self._noise * math.sqrt(2.0 * d) + 0.5 * math.sqrt(count)) / count


def _root(matrix: FloatArray) -> FloatArray:
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(values)) @ vectors.T)
