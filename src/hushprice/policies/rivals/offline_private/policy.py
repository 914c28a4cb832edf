"""A first stretch at random prices stands for the log; one private fit of it; prices stay those of the fit."""

from __future__ import annotations

import functools
import math

import numpy as np

from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rival_parts.logistic_fit import Rows
from hushprice.policies.rival_parts.private.arithmetic import Source
from hushprice.policies.rival_parts.private.sums import NoisySums
from hushprice.policies.rival_parts.rival_policy import Asked, RivalPolicy, guarded
from hushprice.policies.rival_parts.triangles import matrix_of
from hushprice.policies.rivals.offline_private.private import step_sum
from hushprice.privacy import gaussian, sensitivity
from hushprice.privacy.events import GaussianSums
from hushprice.types import FloatArray

READS: dict[str, tuple[str, ...]] = {"offline-private": ()}
SHARE = 0.1  # of the customers are in the log
STEPS = 6  # of the fit, by Newton's method; the mean of the later half is kept
_MARGIN = 1e-8  # of epsilon, left over so that another machine's last digits never make a sound policy pass its claim


class OfflinePrices:
    """Both sides in one trial."""

    def __init__(
        self, frame: Frame, rng: np.random.Generator, source: Source | None = None, *, event: GaussianSums | None
    ) -> None:
        self._frame, self._rng, self._sums = frame, rng, NoisySums(event, source or rng)
        self._noise = 0.0 if event is None else event.noise
        self._rows = Rows(frame.dimension)  # sensitive
        self._logged = max(1, int(SHARE * frame.horizon))
        self.theta: FloatArray | None = None

    @property
    def due(self) -> int:
        return self._logged - self._rows.count if self.theta is None else 2**62

    def prices(self, customers: Customers) -> FloatArray:
        frame = self._frame
        if self.theta is None:
            return self._rng.uniform(frame.lowest, frame.highest, customers.size)
        return frame.best_prices(customers, self.theta / (frame.slope * frame.length))

    def learn(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
        if self.theta is not None:
            return
        self._rows.add_customers(self._frame, customers, prices, np.clip(demands, 0.0, 1.0))
        if self._rows.count >= self._logged:
            self.theta = self._fit()

    def _fit(self) -> FloatArray:
        """Of the log. A ridge as large as the curvature's noise keeps steps short where that hides it."""
        frame, theta, kept = self._frame, np.zeros(self._frame.dimension), []
        d, ball = frame.dimension, frame.slope * frame.length * frame.size
        ridge = math.sqrt(2.0) * self._noise * (2.0 * math.sqrt(d) + 2.0) + 1e-9 * self._rows.count
        for _ in range(STEPS):
            total = step_sum(self._rows, frame.length, theta, self._sums)
            curvature = matrix_of(total[d:], d) + ridge * np.eye(d)
            theta = theta - 4.0 * np.linalg.solve(curvature, total[:d])
            theta *= min(1.0, ball / max(float(np.linalg.norm(theta)), 1e-300))
            kept.append(theta)
        return np.asarray(np.mean(kept[STEPS // 2 :], axis=0))


def rival(asked: Asked, frame: Frame) -> RivalPolicy:
    """The policy for a frame."""
    event = None
    if asked.drawn:
        mu = gaussian.mu_of(asked.buys.epsilon * (1.0 - _MARGIN), asked.claimed.delta)
        moved = sensitivity.of_gradients(1.0, 2.0, asked.adjacency)[0]
        noise = moved * math.sqrt(STEPS) / mu * (1.0 + _MARGIN)
        entries = frame.dimension + frame.dimension * (frame.dimension + 1) // 2
        event = GaussianSums(rounds=STEPS, noise=noise, entries=entries, live=asked.live)
    begin = functools.partial(OfflinePrices, event=event)
    return guarded(asked, frame, begin, event, claimed=asked.claimed)
