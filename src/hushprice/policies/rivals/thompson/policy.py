"""A normal posterior over theta, a draw of it for every customer."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rival_parts.logistic_fit import Rows
from hushprice.policies.rival_parts.rival_policy import Asked, RivalPolicy, unprotected
from hushprice.policies.rival_parts.stretches import GROWTH, Stretched
from hushprice.types import FloatArray

READS: dict[str, tuple[str, ...]] = {"thompson": ()}
STEPS = 3  # of Newton, at each refit
LEAST = 20  # customers between two refits


class Thompson(Stretched):
    """Starts from the frame's doubts. A refit moves to the new mode and adds the new records' curvature there."""

    def __init__(self, frame: Frame, rng: np.random.Generator) -> None:
        super().__init__(LEAST)
        self._frame, self._rng = frame, rng
        self.mean = np.zeros(frame.dimension)
        self.precision = np.diag(1.0 / np.square(frame.doubts))
        self._rows = Rows(frame.dimension)

    def prices(self, customers: Customers) -> FloatArray:
        root = np.linalg.cholesky(np.linalg.inv(self.precision))
        normals = self._rng.standard_normal((customers.size, self.mean.size))
        drawn = self.mean + np.einsum("ij,kj->ik", normals, root)  # whose digits do not depend on who else is priced
        return self._frame.best_prices(customers, drawn)

    def take(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
        self._rows.add_customers(self._frame, customers, prices, demands)

    def stretch(self) -> int:
        return max(LEAST, self.count // GROWTH)

    def refit(self) -> None:
        rows, mean, precision = self._rows, self.mean.copy(), self.precision
        phi = self._frame.slope * rows.phi
        for _ in range(STEPS):
            bought = expit(rows.offset + phi @ mean)
            precision = self.precision + (phi * (bought * (1.0 - bought))[:, None]).T @ phi
            score = phi.T @ (bought - rows.bought) + self.precision @ (mean - self.mean)
            mean = mean - np.linalg.solve(precision, score)
        self.mean, self.precision, self._rows = mean, precision, Rows(mean.size)


def rival(asked: Asked, frame: Frame) -> RivalPolicy:
    """The policy for a frame."""
    return unprotected(asked, frame, Thompson)
