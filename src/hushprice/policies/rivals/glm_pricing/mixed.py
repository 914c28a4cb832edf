"""Public and private customers: a fit of public records, then directions that private devices send."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rival_parts.logistic_fit import Rows, fit
from hushprice.policies.rival_parts.private.directions import coins_of, radius_of, send
from hushprice.policies.rivals.glm_pricing.commit import ThenCommit, explored
from hushprice.policies.rivals.glm_pricing.pricing import MixedBelief
from hushprice.types import FloatArray

EVERY = 10  # every tenth customer has agreed that the shop keeps the record; which ones, the slot says alone
RIDGE = 1.0  # of the public fit: its records are few, and a coefficient is taken to be within 1 of 0 or so
PRIVATE_ONES = "contexts and outcomes of nine customers in ten"


class MixedCommit(ThenCommit):
    """Both sides in one trial. A private device waits until the public fit is out, then sends one direction."""

    def __init__(self, frame: Frame, rng: np.random.Generator, *, keep: float, epsilon: float) -> None:
        super().__init__(frame, rng, explored(frame, epsilon, 1.0 / EVERY))
        self._keep = keep
        self.belief = MixedBelief(frame, radius_of(frame.dimension, keep))
        self.public, self._private = Rows(frame.dimension), Rows(frame.dimension)  # sensitive: the second, on devices

    def greedy(self, customers: Customers) -> FloatArray:
        return self.belief.prices(customers)

    def take(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
        features, offset = customers.features(prices), self.frame.offset(prices)
        agreed = (self.count - len(demands) + np.arange(len(demands))) % EVERY == 0
        for rows, these in ((self.public, agreed), (self._private, ~agreed)):
            rows.add(features[these], offset[these], demands[these])
        if self.count >= self.first:
            self.belief.begin(*self._public_fit(), self.public.count)
            self._hear()

    def _public_fit(self) -> tuple[FloatArray, FloatArray]:
        """theta of log-odds = offset + theta'psi, psi = phi / length, and the mean curvature there, ridge and all."""
        frame, rows = self.frame, self.public
        unit = frame.slope * frame.length
        theta = unit * fit(rows, frame.slope, np.zeros(frame.dimension), ridge=RIDGE)
        psi = rows.phi / frame.length
        chance = expit(rows.offset + psi @ theta)
        curvature = (psi * (chance * (1.0 - chance))[:, None]).T @ psi + RIDGE / unit**2 * np.eye(theta.size)
        return theta, curvature / rows.count

    def _hear(self) -> None:
        """Every private device in turn sees the newest theta, and sends one direction."""
        rows, d = self._private, self.frame.dimension
        psi, sent = np.ascontiguousarray(rows.phi / self.frame.length), np.empty((1, d))
        coins = coins_of(self.rng, self.rng, rows.count, d, self._keep)
        for i in range(rows.count):
            one = slice(i, i + 1)
            send(self.belief.theta, psi[one], rows.offset[one], rows.bought[one], coins[one], self._keep, sent)
            self.belief.accept(sent[0])
