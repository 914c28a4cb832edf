"""A customer's value is w'[1; x] without noise, w in an ellipsoid; prices in its middle cut it, others stay below.

Logistic tastes make cuts throw w away: the source says so of noise, and the table shows what it costs.
"""

from __future__ import annotations

import math

import numpy as np

from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rival_parts.rival_policy import Asked, RivalPolicy, unprotected
from hushprice.types import FloatArray

READS: dict[str, tuple[str, ...]] = {"ellipsoid": ()}
RADIUS = 1.0  # of the first ellipsoid, around the middle price for everybody, in shares of the range of prices


class EllipsoidCuts:
    """Values and prices are shares of the range. One customer at a time, until no price can be wide enough to cut."""

    def __init__(self, frame: Frame, rng: np.random.Generator) -> None:
        d = frame.contexts + 1
        self._frame, self._dimension = frame, max(d, 2)
        self._narrow = self._dimension**2 / frame.horizon  # below it nothing is explored: regret d^2 ln T
        self.center: FloatArray = np.zeros(self._dimension)
        self.center[0] = 0.5
        self.shape: FloatArray = RADIUS**2 * np.eye(self._dimension)
        self._cut: FloatArray | None = None  # who was last priced in the middle
        self.due = 1

    def _directions(self, customers: Customers) -> FloatArray:
        one = np.ones((1, customers.size))
        spare = np.zeros((self._dimension - 1 - len(customers.x), customers.size))
        return np.concatenate([one, customers.x, spare]).T

    def prices(self, customers: Customers) -> FloatArray:
        x = self._directions(customers)
        middle, half = x @ self.center, np.sqrt(np.maximum(((x @ self.shape) * x).sum(axis=1), 0.0))
        wide = 2.0 * half > self._narrow
        share = np.where(wide, middle, middle - half)
        held = np.clip(share, 0.0, 1.0)
        self._cut = x[0] if bool(wide[0]) and held[0] == share[0] else None
        return self._frame.lowest + (self._frame.highest - self._frame.lowest) * held

    def learn(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
        if self._cut is None:
            return
        self.cut(self._cut, 1.0 if demands[0] > 0.0 else -1.0)
        longest = math.sqrt(self._dimension * float(np.linalg.eigvalsh(self.shape)[-1]))
        self.due = 1 if 2.0 * longest > self._narrow else 2**62

    def cut(self, x: FloatArray, side: float) -> None:
        """Keep the half {w: side (x'w - x'center) >= 0}: the smallest ellipsoid around it."""
        d = self._dimension
        b = self.shape @ x / math.sqrt(float(x @ self.shape @ x))
        self.center = self.center + side * b / (d + 1.0)
        self.shape = d * d / (d * d - 1.0) * (self.shape - 2.0 / (d + 1.0) * np.outer(b, b))


def rival(asked: Asked, frame: Frame) -> RivalPolicy:
    """The policy for a frame."""
    return unprotected(asked, frame, EllipsoidCuts)
