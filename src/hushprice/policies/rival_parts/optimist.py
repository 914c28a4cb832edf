"""Optimism in a generalized linear model: what `ucb-glm`, `glm-ucb` and `wang-optimism` share."""

from __future__ import annotations

import math

import numpy as np

from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rival_parts.logistic_fit import Rows, fit
from hushprice.policies.rival_parts.optimism import best_on_grid, glm_parts
from hushprice.policies.rival_parts.stretches import Stretched
from hushprice.types import FloatArray

RIDGE = 1e-3  # of a fit: finite where data are separable, and gone after a hundred customers
STEPS = 6  # of Newton, from the last estimate


class Optimist(Stretched):
    """Uniform prices until the least eigenvalue of V reaches `enough`, then the optimistic price at each refit's fit.

    V is the sum of psi psi', psi = phi / length, so that theta is estimated in units of the length.
    """

    kind: int

    def __init__(self, frame: Frame, rng: np.random.Generator, *, enough: float = 1.0) -> None:
        super().__init__()
        self.frame, self._rng, self._enough = frame, rng, enough
        self.rows = Rows(frame.dimension)
        self.theta = np.zeros(frame.dimension)
        self.v = np.zeros((frame.dimension, frame.dimension))
        self._inverse: FloatArray = np.eye(frame.dimension)
        self.ready = False

    def width(self) -> float:
        """The bonus per unit of ||psi|| in the norm of V^-1."""
        raise NotImplementedError

    def prices(self, customers: Customers) -> FloatArray:
        frame = self.frame
        if not self.ready:
            return self._rng.uniform(frame.lowest, frame.highest, customers.size)
        parts, theta = glm_parts(customers) / frame.length, self.theta * frame.length
        return best_on_grid(frame, parts, theta, self._inverse, width=self.width(), kind=self.kind)

    def take(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
        self.rows.add_customers(self.frame, customers, prices, demands)
        psi = customers.features(prices) / self.frame.length
        self.v += psi.T @ psi

    def refit(self) -> None:
        self.ready = self.ready or float(np.linalg.eigvalsh(self.v)[0]) >= self._enough
        if self.ready:
            self._inverse = np.asarray(np.linalg.inv(self.v), dtype=np.float64)
            self.theta = self.estimate()

    def estimate(self) -> FloatArray:
        """The fit of all rows: maximum likelihood."""
        return fit(self.rows, self.frame.slope, self.theta, ridge=RIDGE, steps=STEPS)


def flattest(frame: Frame) -> float:
    """kappa: the least slope of demand in psi'theta, ||psi|| <= 1, within one unit of any theta of length up to S."""
    steep, far = frame.slope * frame.length, frame.slope * frame.length * (frame.size + 1.0)
    return steep / (2.0 + 2.0 * math.cosh(min(far, 700.0)))
