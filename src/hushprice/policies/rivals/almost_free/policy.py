"""How much noise a budget buys, and the policy made of it: a release an epoch, each record in one."""

from __future__ import annotations

import functools

import numpy as np

from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rival_parts.logistic_fit import Rows
from hushprice.policies.rival_parts.private.arithmetic import Source
from hushprice.policies.rival_parts.private.sums import NoisySums
from hushprice.policies.rival_parts.rival_policy import Asked, RivalPolicy, guarded
from hushprice.policies.rivals.almost_free.pricing import WeightedBelief
from hushprice.policies.rivals.almost_free.private import epoch_sum
from hushprice.privacy import gaussian, sensitivity
from hushprice.privacy.events import GaussianSums
from hushprice.types import FloatArray

READS: dict[str, tuple[str, ...]] = {"almost-free": ()}
FIRST = 0.005  # of the customers are in the first epoch, at random prices; then each is twice as long
_MARGIN = 1e-8  # of epsilon, left over so that another machine's last digits never make a sound policy pass its claim


class Epochs:
    """Both sides in one trial."""

    def __init__(
        self, frame: Frame, rng: np.random.Generator, source: Source | None = None, *, event: GaussianSums | None
    ) -> None:
        self._frame, self._rng, self._source, self._event = frame, rng, source or rng, event
        self.belief = WeightedBelief(frame, 0.0 if event is None else event.noise)
        self._epoch, self._rows = 0, Rows(frame.dimension)  # sensitive: the rows
        self._length = max(10 * frame.dimension, int(FIRST * frame.horizon))

    @property
    def due(self) -> int:
        return self._length - self._rows.count

    def prices(self, customers: Customers) -> FloatArray:
        if self._epoch == 0:
            return self._rng.uniform(self._frame.lowest, self._frame.highest, customers.size)
        return self.belief.prices(customers)

    def learn(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
        rows, belief = self._rows, self.belief
        rows.add_customers(self._frame, customers, prices, np.clip(demands, 0.0, 1.0))
        if rows.count < self._length:
            return
        total = epoch_sum(rows, self._frame.length, belief.theta, belief.u, NoisySums(self._event, self._source))
        belief.accept(total, rows.count)
        self._epoch, self._length, self._rows = self._epoch + 1, 2 * self._length, Rows(self._frame.dimension)


def rival(asked: Asked, frame: Frame) -> RivalPolicy:
    """The policy for a frame."""
    event = None
    if asked.drawn:
        mu = gaussian.mu_of(asked.buys.epsilon * (1.0 - _MARGIN), asked.claimed.delta)
        noise = sensitivity.of_gradients(1.0, 2.0, asked.adjacency)[0] / mu * (1.0 + _MARGIN)
        entries = frame.dimension * (frame.dimension + 1)
        event = GaussianSums(rounds=1, noise=noise, entries=entries, live=asked.live)
    begin = functools.partial(Epochs, event=event)
    return guarded(asked, frame, begin, event, claimed=asked.claimed)
