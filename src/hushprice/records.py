"""Records of past customers, and the bounds every one of them is held to.

Sensitivity, and so the noise, rests on ||phi|| <= 1 and lowest <= y <= B_Y. Both are enforced here on every record,
whatever the model, the feature map or the caller promised. How often that was needed is itself raw data: it is for the
operator.
"""

from __future__ import annotations

import math

import numpy as np

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.numerics.jit import inlined
from hushprice.types import FloatArray

_ROUNDING = 1e-12  # norms past 1 by no more than this are scaled back but not counted


@inlined
def hold_to_unit_ball(phi: FloatArray, start: int, count: int) -> int:
    """Scale columns start .. start + count - 1 of phi (d, records) into the unit ball; returns how many lay outside."""
    outside = 0
    for i in range(start, start + count):
        norm2 = 0.0
        for j in range(phi.shape[0]):
            norm2 += phi[j, i] * phi[j, i]
        if norm2 > 1.0:
            factor = 1.0 / math.sqrt(norm2)
            for j in range(phi.shape[0]):
                phi[j, i] *= factor
            if norm2 > 1.0 + _ROUNDING:
                outside += 1
    return outside


class Records:
    """An append-only table of (phi, y), one column a record, grown by doubling."""

    def __init__(self, dimension: int, bound: float, lowest: float | None = None) -> None:
        checks.whole(1, dimension=dimension)
        checks.positive(bound=bound)
        self.bound = bound
        self.lowest = -bound if lowest is None else lowest
        checks.within(-bound, bound, lowest=self.lowest)
        self.count = 0
        self.clipped_features = 0
        self.clipped_demands = 0
        self._phi = np.zeros((dimension, 64))
        self._demand = np.zeros(64)

    def append(self, phi: FloatArray, demand: float) -> FloatArray:
        """Store one record; returns its features as stored. NaN is refused before anything changes."""
        dimension, capacity = self._phi.shape
        if phi.shape != (dimension,):
            raise InvalidInput(f"phi must have {dimension} entries, got shape {phi.shape}")
        if not (np.all(np.isfinite(phi)) and math.isfinite(demand)):
            raise InvalidInput("a record must be finite")  # says no more: its values are sensitive
        if self.count == capacity:
            self._phi = np.concatenate([self._phi, np.zeros_like(self._phi)], axis=1)
            self._demand = np.concatenate([self._demand, np.zeros_like(self._demand)])
        column = self._phi[:, self.count]
        column[:] = phi
        self.clipped_features += hold_to_unit_ball(self._phi, self.count, 1)
        held = min(max(demand, self.lowest), self.bound)
        self.clipped_demands += int(held != demand)
        self._demand[self.count] = held
        self.count += 1
        return column.copy()

    def restore(self, phi: FloatArray, demand: FloatArray) -> None:
        """Take over records saved earlier, bit for bit; what could not have been stored here is refused."""
        dimension, count = self._phi.shape[0], demand.size
        if phi.shape != (dimension, count) or demand.ndim != 1:
            raise InvalidInput(f"saved records must have {dimension} features each")
        held = np.all((self.lowest <= demand) & (demand <= self.bound))  # NaN is not held
        small = np.all(np.abs(phi) <= 1.0 + _ROUNDING) and held
        if not (small and np.all(np.sum(phi * phi, axis=0) <= 1.0 + _ROUNDING)):
            raise InvalidInput("saved records must be finite and within the bounds every record is held to")
        self._phi = np.zeros((dimension, max(64, count)))
        self._demand = np.zeros(max(64, count))
        self._phi[:, :count] = phi
        self._demand[:count] = demand
        self.count = count

    @property
    def phi(self) -> FloatArray:
        """(d, capacity); only the first `count` columns mean anything."""
        return self._phi

    @property
    def demand(self) -> FloatArray:
        """(capacity,); only the first `count` entries mean anything."""
        return self._demand

    def __repr__(self) -> str:
        return "Records(<sensitive>)"
