"""The policy: pure epsilon towards everybody, the shop included, but for the price itself."""

from __future__ import annotations

import functools
import math

import numpy as np

from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rival_parts.private.directions import radius_of, send
from hushprice.policies.rival_parts.rival_policy import Asked, RivalPolicy, guarded
from hushprice.policies.rival_parts.walk import Walk
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import DirectionReports
from hushprice.types import FloatArray

READS: dict[str, tuple[str, ...]] = {"ldp-sgd": ()}
_GROWTH = 500  # theta is published again when customers have grown by a share of 1/500: less than one step's length
_MARGIN = 1e-9  # of epsilon: above what loss.py adds for rounding
_PLAIN = 1.0 - 1e-12  # `keep` without noise: the direction still stands for the gradient


class LocalWalk:
    """Both sides in one trial. Devices see the last published theta, price by it, and send one direction each."""

    def __init__(self, frame: Frame, rng: np.random.Generator, *, keep: float) -> None:
        self._frame, self._rng, self._keep = frame, rng, keep
        self.walk = Walk(frame, radius_of(frame.dimension, keep))
        self._sent: list[FloatArray] = []
        self._count, self.due = 0, 1

    def prices(self, customers: Customers) -> FloatArray:
        return self.walk.prices(customers)

    def learn(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
        d, count = self._frame.dimension, len(demands)
        psi = np.ascontiguousarray(customers.features(prices) / self._frame.length)
        coins = np.column_stack([self._rng.standard_normal((count, d)), self._rng.random((count, 2))])
        sent = np.empty((count, d))
        send(self.walk.theta, psi, self._frame.offset(prices), demands, coins, self._keep, sent)
        self._sent.append(sent)
        self._count += count
        self.due -= count
        if self.due == 0:
            self.walk.accept(np.concatenate(self._sent))
            self._sent, self.due = [], max(1, self._count // _GROWTH)


def rival(asked: Asked, frame: Frame) -> RivalPolicy:
    """The policy for a frame."""
    keep = 1.0 / (1.0 + math.exp(-min(asked.claimed.epsilon * (1.0 - _MARGIN), 27.0)))
    event = DirectionReports(dimension=frame.dimension, keep=keep) if asked.drawn else None
    begin = functools.partial(LocalWalk, keep=keep if asked.drawn else _PLAIN)
    return guarded(asked, frame, begin, event, claimed=EpsilonDelta(asked.claimed.epsilon, 0.0))
