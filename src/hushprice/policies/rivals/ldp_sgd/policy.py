"""The policy: pure epsilon towards everybody, the shop included, but for the price itself."""

from __future__ import annotations

import functools

import numpy as np

from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rival_parts.private.arithmetic import Source
from hushprice.policies.rival_parts.private.coins import keep_of
from hushprice.policies.rival_parts.private.directions import PLAIN, coins_of, radius_of, send
from hushprice.policies.rival_parts.rival_policy import Asked, RivalPolicy, guarded
from hushprice.policies.rival_parts.walk import Walk
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import DirectionReports
from hushprice.types import FloatArray

READS: dict[str, tuple[str, ...]] = {"ldp-sgd": ()}
_GROWTH = 500  # theta is published again when customers have grown by a share of 1/500: less than one step's length


class LocalWalk:
    """Both sides in one trial. Devices see the last published theta, price by it, and send one direction each."""

    def __init__(self, frame: Frame, rng: np.random.Generator, source: Source | None = None, *, keep: float) -> None:
        self._frame, self._rng, self._source, self._keep = frame, rng, source or rng, keep
        self.walk = Walk(frame, radius_of(frame.dimension, keep))
        self._sent: list[FloatArray] = []
        self._count, self.due = 0, 1

    def prices(self, customers: Customers) -> FloatArray:
        return self.walk.prices(customers)

    def learn(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
        d, count = self._frame.dimension, len(demands)
        psi = np.ascontiguousarray(customers.features(prices) / self._frame.length)
        coins = coins_of(self._rng, self._source, count, d, self._keep)
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
    keep = keep_of(asked.claimed.epsilon)
    event = DirectionReports(dimension=frame.dimension, keep=keep) if asked.drawn else None
    begin = functools.partial(LocalWalk, keep=keep if asked.drawn else PLAIN)
    return guarded(asked, frame, begin, event, claimed=EpsilonDelta(asked.claimed.epsilon, 0.0), reported=True)
