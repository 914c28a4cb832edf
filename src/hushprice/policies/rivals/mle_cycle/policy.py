"""One price for everybody. Cycle c tries two prices and then keeps the best price of the fit for c customers."""

from __future__ import annotations

import numpy as np

from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rival_parts.logistic_fit import Rows, fit
from hushprice.policies.rival_parts.rival_policy import Asked, RivalPolicy, unprotected
from hushprice.price_search.logistic import best_relative_price
from hushprice.types import FloatArray

READS: dict[str, tuple[str, ...]] = {"mle-cycle": ()}
TRIED = (0.25, 0.75)  # shares of the range of prices; the source allows any two that differ
RIDGE = 1e-2  # keeps the fit finite after the first cycles


class MleCycle:
    """Log-odds are z_0 - z_1 s, s the price's share of its range; the fit sees the tried prices alone."""

    def __init__(self, frame: Frame, rng: np.random.Generator, *, tried: tuple[float, float] = TRIED) -> None:
        self._frame, self._tried = frame, tried
        self._wide = frame.highest - frame.lowest
        self._cycle, self._at = 1, 0  # customers of this cycle so far
        self._rows, self.z = Rows(2), np.zeros(2)
        self._kept = frame.start

    @property
    def due(self) -> int:
        return 2 - self._at if self._at < 2 else 2 + self._cycle - self._at

    def prices(self, customers: Customers) -> FloatArray:
        if self._at >= 2:
            return np.full(customers.size, self._kept)
        shares = np.array(self._tried)[self._at : self._at + customers.size]
        return self._frame.lowest + self._wide * shares

    def learn(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
        if self._at < 2:
            shares = self._frame.share(prices)
            self._rows.add(np.column_stack([np.ones_like(shares), -shares]), np.zeros_like(shares), demands)
        self._at += len(demands)
        if self._at == 2:
            self._fit()
        if self._at == 2 + self._cycle:
            self._cycle, self._at = self._cycle + 1, 0

    def _fit(self) -> None:
        self.z = fit(self._rows, 1.0, self.z, ridge=RIDGE, steps=6)
        margin = (self._frame.margin + self._frame.lowest) / self._wide  # in units of the range
        best = best_relative_price(self.z[:1], self.z[1:], margin=margin, lowest=0.0, highest=1.0)
        self._kept = self._frame.lowest + self._wide * float(best[0])


def rival(asked: Asked, frame: Frame) -> RivalPolicy:
    """The policy for a frame."""
    return unprotected(asked, frame, MleCycle)
