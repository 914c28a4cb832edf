"""Maximum likelihood for logistic demand in a frame, and the rows it needs."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.types import FloatArray

_ENOUGH = 1e-9  # a Newton step below this ends a fit
_HALVINGS = 30


class Rows:
    """phi, the declared offset and what was bought, of every customer so far."""

    def __init__(self, dimension: int) -> None:
        self._phi, self._offset, self._bought = np.empty((64, dimension)), np.empty(64), np.empty(64)
        self.count = 0

    def add(self, phi: FloatArray, offset: FloatArray, bought: FloatArray) -> None:
        """Keep these."""
        while self.count + len(phi) > len(self._bought):
            self._phi = np.concatenate([self._phi, np.empty_like(self._phi)])
            self._offset = np.concatenate([self._offset, np.empty_like(self._offset)])
            self._bought = np.concatenate([self._bought, np.empty_like(self._bought)])
        new = slice(self.count, self.count + len(phi))
        self._phi[new], self._offset[new], self._bought[new] = phi, offset, bought
        self.count += len(phi)

    def add_customers(self, frame: Frame, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
        """Keep these customers, with the features and offset of a frame."""
        self.add(customers.features(prices), frame.offset(prices), demands)

    @property
    def phi(self) -> FloatArray:
        return self._phi[: self.count]

    @property
    def offset(self) -> FloatArray:
        return self._offset[: self.count]

    @property
    def bought(self) -> FloatArray:
        return self._bought[: self.count]


def fit(rows: Rows, slope: float, start: FloatArray, *, ridge: float, steps: int = 25) -> FloatArray:
    """The theta that maximizes the likelihood less ridge/2 ||theta||^2, by Newton steps that never lose.

    The ridge keeps it finite where data are separable; it is small wherever a rival's theorem wants plain likelihood.
    """
    theta, value = start.copy(), _loss(rows, slope, start, ridge)
    for _ in range(steps):
        chance = expit(rows.offset + slope * (rows.phi @ theta))
        gradient = slope * (rows.phi.T @ (chance - rows.bought)) + ridge * theta
        weights = slope * slope * chance * (1.0 - chance)
        hessian = (rows.phi * weights[:, None]).T @ rows.phi + ridge * np.eye(theta.size)
        move, share = np.linalg.solve(hessian, gradient), 1.0
        for _ in range(_HALVINGS):
            tried = theta - share * move
            lost = _loss(rows, slope, tried, ridge)
            if lost <= value:
                theta, value = tried, lost
                break
            share *= 0.5
        if share * float(np.linalg.norm(move)) < _ENOUGH * (1.0 + float(np.linalg.norm(theta))):
            break
    return theta


def _loss(rows: Rows, slope: float, theta: FloatArray, ridge: float) -> float:
    z = rows.offset + slope * (rows.phi @ theta)
    return float(np.sum(np.logaddexp(0.0, z) - rows.bought * z) + 0.5 * ridge * theta @ theta)
