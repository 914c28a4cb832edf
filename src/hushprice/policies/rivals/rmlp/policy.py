"""Episode j has j customers: the first pays a uniform price, the others the best price of a lasso fit of those first.

The fit sees the uniform prices alone, so that prices that depend on an estimate never bias it.
"""

from __future__ import annotations

import numpy as np

from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rival_parts.lasso import lasso
from hushprice.policies.rival_parts.logistic_fit import Rows
from hushprice.policies.rival_parts.rival_policy import Asked, RivalPolicy, unprotected
from hushprice.types import FloatArray

READS: dict[str, tuple[str, ...]] = {"rmlp": ()}
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


def rival(asked: Asked, frame: Frame) -> RivalPolicy:
    """The policy for a frame."""
    return unprotected(asked, frame, EpisodicLasso)
