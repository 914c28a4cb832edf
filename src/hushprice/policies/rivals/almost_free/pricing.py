"""The side that prices: a Newton step an epoch, the next weights, and the best prices for theta."""

from __future__ import annotations

import math

import numpy as np

from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.types import FloatArray


class WeightedBelief:
    """theta of log-odds = offset + theta'psi, and U with E[U psi psi' U / ||U psi||] + lambda U near I."""

    def __init__(self, frame: Frame, noise: float) -> None:
        self._frame, self._noise = frame, noise
        self._unit = frame.slope * frame.length
        self._ball = self._unit * frame.size
        self.theta, self.u = np.zeros(frame.dimension), np.eye(frame.dimension)

    def prices(self, customers: Customers) -> FloatArray:
        """The best price for theta."""
        return self._frame.best_prices(customers, self.theta / self._unit)

    def accept(self, total: FloatArray, count: int) -> None:
        """Take up an epoch's sum, of so many records. Where noise hides the curvature, theta and U hardly move."""
        d = self.theta.size
        far = math.sqrt(2.0) * self._noise * (2.0 * math.sqrt(d) + 2.0)  # passed by the matrix's noise once in e^4
        far = max(far, 1e-9 * count)  # finite where records leave a direction open
        curvature = total[d:].reshape(d, d)
        theta = self.theta - 4.0 * np.linalg.solve(curvature + far * np.eye(d), total[:d])
        self.theta = theta * min(1.0, self._ball / max(float(np.linalg.norm(theta)), 1e-300))
        # U = (M + lambda)^-1 at the fixed point, M the mean of w psi'; half a step of it, which does not swing.
        mean = curvature @ self.u / count
        values, vectors = np.linalg.eigh(0.5 * (mean + mean.T))
        step = (vectors / np.sqrt(np.maximum(values, far / count))) @ vectors.T
        root = _root(self.u)
        self.u = root @ step @ root


def _root(matrix: FloatArray) -> FloatArray:
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(values)) @ vectors.T)
