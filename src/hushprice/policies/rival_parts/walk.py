"""A belief that moves against every direction received (`ldp-sgd`, `glm-pricing`). It sees directions alone."""

from __future__ import annotations

import math

import numpy as np

from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.types import FloatArray

RATE, SHRINK = 5.0, 0.05  # theta -= RATE/(t + 1) (z + SHRINK theta), the source's constants


class Walk:
    """theta of log-odds = offset + theta'psi, psi = phi / length; held to the ball that theta* is known to lie in."""

    def __init__(self, frame: Frame, radius: float, *, rate: float = RATE, shrink: float = SHRINK) -> None:
        self._frame, self._radius, self._rate, self._shrink = frame, radius, rate, shrink
        self._unit = frame.slope * frame.length  # theta in units of the frame's
        self._ball = self._unit * frame.size
        self.theta, self._count = np.zeros(frame.dimension), 0

    def prices(self, customers: Customers) -> FloatArray:
        """The best price for theta."""
        return self._frame.best_prices(customers, self.theta / self._unit)

    def accept(self, directions: FloatArray) -> None:
        """One step a direction, in order."""
        theta, ball, size = self.theta.copy(), self._ball, self._radius
        for sent in directions:
            self._count += 1
            theta -= self._rate / (self._count + 1.0) * (size * sent + self._shrink * theta)
            far = math.sqrt(float(theta @ theta))
            if far > ball:
                theta *= ball / far
        self.theta = theta
