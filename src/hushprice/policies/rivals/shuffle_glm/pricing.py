"""The side that prices: optimism around a private fit, and when the next one is due."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import eigh

from hushprice.numerics.linear import unpack
from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rival_parts.optimism import LOGISTIC, best_on_grid, glm_parts
from hushprice.releases import CovarianceRelease
from hushprice.types import FloatArray

ZETA = 0.02  # the chance of failing that the source's runs allow
SMALL = 0.25 / math.e  # a record adds (its slope, at most 1/4) psi psi' / e to H


def width_of(dimension: int, horizon: int) -> float:
    """beta = 4 sqrt(d ln(T/zeta))."""
    return 4.0 * math.sqrt(dimension * math.log(horizon / ZETA))


class Optimism:
    """H = lambda I + the released sum. `theta` and the bonus stay as they are between two fits."""

    def __init__(self, dimension: int, horizon: int, ridge: float) -> None:
        self._ridge, self._enough = ridge, 1.05 + 5.0 / (8.0 * math.sqrt(dimension))
        self.width, self.theta = width_of(dimension, horizon), np.zeros(dimension)
        self._newest = self._kept = ridge * np.eye(dimension)
        self.inverse = np.eye(dimension) / ridge

    def accept(self, release: CovarianceRelease) -> bool:
        """Take up a release of the sum of rows sqrt(4 slope) psi. Has H outgrown that of the last fit?"""
        d = self.theta.size
        gram = np.empty((d, d))
        unpack(release.packed, d, gram)
        self._newest = SMALL * gram + self._ridge * np.eye(d)
        return float(eigh(self._newest, self._kept, eigvals_only=True)[-1]) > self._enough

    def keep(self, theta: FloatArray) -> None:
        """A new fit. Where noise has taken H out of the positive matrices, the last bonus stays."""
        self.theta = theta
        if np.linalg.eigvalsh(self._newest)[0] > 0.0:
            self._kept, self.inverse = self._newest, np.asarray(np.linalg.inv(self._newest), dtype=np.float64)

    def prices(self, frame: Frame, customers: Customers) -> FloatArray:
        """The best price of the grid for the upper bound of the log-odds."""
        parts, theta = glm_parts(customers) / frame.length, self.theta / frame.slope
        return best_on_grid(frame, parts, theta, self.inverse, width=self.width / frame.slope, kind=LOGISTIC)
