"""Two experimental prices at every square number of customers, greedy prices of a lasso fit of everything between."""

from __future__ import annotations

import math

import numpy as np

from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rival_parts.lasso import lasso
from hushprice.policies.rival_parts.logistic_fit import Rows
from hushprice.policies.rival_parts.rival_policy import Asked, RivalPolicy, unprotected
from hushprice.policies.rival_parts.stretches import GROWTH
from hushprice.types import FloatArray

READS: dict[str, tuple[str, ...]] = {"ban-keskin": ()}
TRIED = (0.25, 0.75)  # m1 and m2, shares of the range of prices; the source allows any two that differ
FACTOR = 0.1  # c of lambda = c t^(1/4) sqrt(ln d + ln t), in units of the slope, on the sum of losses
STEPS = 60  # of proximal gradient, from the last estimate


class SparseGreedy:
    """A fit after the second experimental price of a square, where customers have grown by a twentieth."""

    def __init__(self, frame: Frame, rng: np.random.Generator) -> None:
        self._frame = frame
        self._rows, self.theta = Rows(frame.dimension), np.zeros(frame.dimension)
        self._root, self._at, self._fitted = 1, 0, 0  # the square at hand: customers from root^2 to (root + 1)^2

    @property
    def due(self) -> int:
        return 1 if self._at < 2 else 2 * self._root + 1 - self._at

    def prices(self, customers: Customers) -> FloatArray:
        frame = self._frame
        if self._at < 2:
            return np.full(customers.size, frame.lowest + TRIED[self._at] * (frame.highest - frame.lowest))
        return frame.best_prices(customers, self.theta)

    def learn(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
        self._rows.add_customers(self._frame, customers, prices, demands)
        self._at += len(demands)
        if self._at == 2 and self._rows.count * GROWTH > self._fitted * (GROWTH + 1):
            self._fit()
        if self._at == 2 * self._root + 1:
            self._root, self._at = self._root + 1, 0

    def _fit(self) -> None:
        """lasso's penalty on the mean loss is factor slope sqrt(ln d / n); the source's is its lambda / n."""
        self._fitted = count = self._rows.count
        d = max(self._frame.dimension, 2)
        wanted = FACTOR * count**0.25 * math.sqrt(math.log(d) + math.log(count)) / count
        theta = lasso(
            self._rows, self._frame.slope, self.theta, steps=STEPS, factor=wanted / math.sqrt(math.log(d) / count)
        )
        size = float(np.linalg.norm(theta))
        self.theta = theta * min(1.0, self._frame.size / max(size, 1e-300))


def rival(asked: Asked, frame: Frame) -> RivalPolicy:
    """The policy for a frame."""
    return unprotected(asked, frame, SparseGreedy)
