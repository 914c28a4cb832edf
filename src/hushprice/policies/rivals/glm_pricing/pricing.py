"""The side that prices where some customers are public: from their fit on, a step against every direction received."""

from __future__ import annotations

import math

import numpy as np

from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.types import FloatArray


class MixedBelief:
    """theta of log-odds = offset + theta'psi, psi = phi / length. A step is curvature^-1 / (weight + t) of a direction.

    With such steps theta is the mean of the public fit and of t reports, the fit counting as `weight` of them.
    """

    def __init__(self, frame: Frame, radius: float) -> None:
        self._frame, self._radius = frame, radius
        self._unit = frame.slope * frame.length
        self._ball = self._unit * frame.size
        self.theta, self.weight, self._count = np.zeros(frame.dimension), 1.0, 0
        self._inverse: FloatArray = np.eye(frame.dimension)

    def prices(self, customers: Customers) -> FloatArray:
        """The best price for theta."""
        return self._frame.best_prices(customers, self.theta / self._unit)

    def begin(self, theta: FloatArray, curvature: FloatArray, records: int) -> None:
        """Take up the fit of so many public records. One is worth as many reports as a report is noisier than it."""
        self._inverse = np.asarray(np.linalg.inv(curvature), dtype=np.float64)
        self.weight = records * max(1.0, self._radius**2 / float(np.trace(curvature)))
        self.theta = self._held(theta)

    def accept(self, direction: FloatArray) -> None:
        """One step."""
        self._count += 1
        step = self._radius / (self.weight + self._count)
        self.theta = self._held(self.theta - step * (self._inverse @ direction))

    def _held(self, theta: FloatArray) -> FloatArray:
        far = math.sqrt(float(theta @ theta))
        return theta * min(1.0, self._ball / max(far, 1e-300))
