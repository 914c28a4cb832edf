"""The policy: pure epsilon by Laplace noise on the sales of each price tried."""

from __future__ import annotations

import functools

import numpy as np

from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rival_parts.private.arithmetic import Source
from hushprice.policies.rival_parts.private.sales import SalesReleaser
from hushprice.policies.rival_parts.rival_policy import Asked, RivalPolicy, guarded
from hushprice.policies.rivals.one_price.pricing import LEVELS, PriceList
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import LaplaceSums
from hushprice.types import FloatArray

READS: dict[str, tuple[str, ...]] = {"one-price": ()}
_MARGIN = 1e-9  # of the scale: above what loss.py adds for rounding


class OnePrice:
    """Both sides in one trial."""

    def __init__(
        self, frame: Frame, rng: np.random.Generator, source: Source | None = None, *, event: LaplaceSums | None
    ) -> None:
        self._list, self._count = PriceList(frame), 0
        self._releaser = SalesReleaser(LEVELS, event, source or rng)

    @property
    def due(self) -> int:
        left = self._list.explored - self._count
        return left if left > 0 else 2**62

    def prices(self, customers: Customers) -> FloatArray:
        return self._list.prices(self._count, customers.size)

    def learn(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
        if self._count >= self._list.explored:
            return
        self._releaser.absorb(self._list.levels(self._count, len(demands)), demands)
        self._count += len(demands)
        if self._count >= self._list.explored:
            self._list.accept(self._releaser.release())


def rival(asked: Asked, frame: Frame) -> RivalPolicy:
    """The policy for a frame. Which price a customer gets follows from the slot alone, and contexts are never read."""
    scale = (1.0 + _MARGIN) / asked.buys.epsilon
    event = LaplaceSums(levels=1, scale=scale, live=asked.live) if asked.drawn else None
    begin = functools.partial(OnePrice, event=event)
    return guarded(asked, frame, begin, event, claimed=EpsilonDelta(asked.claimed.epsilon, 0.0))
