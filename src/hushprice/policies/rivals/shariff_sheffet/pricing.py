"""The side that prices: LinUCB on a released Gram matrix, over a grid of prices."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from hushprice.numerics.linear import unpack
from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rival_parts.optimism import DEMAND, REVENUE, best_on_grid
from hushprice.releases import CovarianceRelease
from hushprice.types import FloatArray

SUBGAUSSIAN = 0.5  # a variable in [0, 1] (Hoeffding)


class Ellipsoid:
    """theta = V^-1 u and the width beta; V is the released matrix plus 2 `spread` I, once."""

    def __init__(
        self, dimension: int, horizon: int, spread: float, drift: float, *, size: float, deviation: float = SUBGAUSSIAN
    ) -> None:
        self._deviation = deviation
        self._spread, self._size, self._alpha = spread, size, 1.0 / (2.0 * horizon)
        self._gamma = drift / math.sqrt(spread)
        self.theta: FloatArray = np.zeros(dimension)
        self.inverse: FloatArray = np.eye(dimension) / (2.0 * spread)
        self.width = 0.0
        self._widen(np.eye(dimension) * 2.0 * spread)

    def accept(self, release: CovarianceRelease) -> None:
        """Take up a release, of rows [psi; y]/sqrt(2). Where noise was beyond its bound, the last belief stays."""
        d = self.theta.size
        gram = np.empty((d + 1, d + 1))
        unpack(release.packed, d + 1, gram)
        v = 2.0 * gram[:d, :d] + 2.0 * self._spread * np.eye(d)
        if np.linalg.eigvalsh(v)[0] < self._spread:  # rho_min: holds but for one trial in 2n (the source's alpha)
            return
        self.inverse = np.asarray(np.linalg.inv(v), dtype=np.float64)
        self.theta = self.inverse @ (2.0 * gram[:d, d])
        self._widen(v)

    def _widen(self, v: FloatArray) -> None:
        """beta = sigma sqrt(2 ln(2/alpha) + ln det V - d ln rho_min) + S sqrt(rho_max) + gamma."""
        d, rho = len(v), self._spread
        grown = float(np.linalg.slogdet(v)[1]) - d * math.log(rho)
        root = math.sqrt(2.0 * math.log(2.0 / self._alpha) + max(grown, 0.0))
        self.width = self._deviation * root + self._size * math.sqrt(3.0 * rho) + self._gamma


class Arms(Protocol):
    """How customers and prices become arms, and what an arm earns."""

    dimension: int
    size: float  # S

    def __init__(self, frame: Frame) -> None: ...
    def choose(self, customers: Customers, belief: Ellipsoid) -> FloatArray: ...
    def rows(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> FloatArray: ...


class LinearDemand:
    """Demand is linear in psi = [1; x; -s]/sqrt(k + 2), s the price's share of its range: argmax of p min(1, UCB)."""

    def __init__(self, frame: Frame) -> None:
        self._frame, self.dimension = frame, frame.contexts + 2
        self.size = math.sqrt(self.dimension)  # the coefficients of [1; x; -s] have length at most 1

    def _parts(self, customers: Customers) -> FloatArray:
        frame = self._frame
        parts = np.zeros((2, self.dimension, customers.size))
        parts[0, 0], parts[0, 1:-1] = 1.0, customers.x
        parts[0, -1] = frame.lowest / (frame.highest - frame.lowest)
        parts[1, -1] = -1.0 / (frame.highest - frame.lowest)
        return parts / math.sqrt(self.dimension)

    def choose(self, customers: Customers, belief: Ellipsoid) -> FloatArray:
        parts = self._parts(customers)
        return best_on_grid(self._frame, parts, belief.theta, belief.inverse, width=belief.width, kind=DEMAND)

    def rows(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> FloatArray:
        return _unit_rows(self._parts(customers), prices, demands)


class LinearRevenue:
    """Revenue, as a share of the largest, is linear in psi = [1; x; s; s x; s^2]/sqrt(2k + 3): argmax of the UCB."""

    def __init__(self, frame: Frame) -> None:
        self._frame, self.dimension = frame, 2 * frame.contexts + 3
        self.size = math.sqrt(self.dimension)

    def _parts(self, customers: Customers) -> FloatArray:
        frame, k = self._frame, self._frame.contexts
        first, scale = -frame.lowest, 1.0 / (frame.highest - frame.lowest)  # s = (p + first) scale
        one = np.concatenate([np.ones((1, customers.size)), customers.x])
        parts = np.zeros((3, self.dimension, customers.size))
        parts[0, : k + 1] = one
        parts[0, k + 1 : -1], parts[1, k + 1 : -1] = first * scale * one, scale * one
        parts[0, -1], parts[1, -1], parts[2, -1] = (first * scale) ** 2, 2.0 * first * scale**2, scale**2
        return parts / math.sqrt(self.dimension)

    def choose(self, customers: Customers, belief: Ellipsoid) -> FloatArray:
        parts = self._parts(customers)
        return best_on_grid(self._frame, parts, belief.theta, belief.inverse, width=belief.width, kind=REVENUE)

    def rows(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> FloatArray:
        most = self._frame.margin + self._frame.highest
        return _unit_rows(self._parts(customers), prices, (self._frame.margin + prices) * demands / most)


def _unit_rows(parts: FloatArray, prices: FloatArray, outcome: FloatArray) -> FloatArray:
    """[psi; y]/sqrt(2), (n, d + 1): of length at most 1 where ||psi|| <= 1 and y, held to it, lies in [0, 1]."""
    psi = sum(part * prices**power for power, part in enumerate(parts))
    return np.column_stack([np.transpose(psi), np.clip(outcome, 0.0, 1.0)]) / math.sqrt(2.0)
