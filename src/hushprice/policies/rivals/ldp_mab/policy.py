"""The policy: pure epsilon towards everybody, the shop included."""

from __future__ import annotations

import functools

import numpy as np

from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rival_parts.private.arithmetic import Source
from hushprice.policies.rival_parts.private.coins import keep_of
from hushprice.policies.rival_parts.rival_policy import Asked, RivalPolicy, guarded
from hushprice.policies.rivals.ldp_mab.pricing import ReportedArms
from hushprice.policies.rivals.ldp_mab.private import report
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import BitReports
from hushprice.types import FloatArray

READS: dict[str, tuple[str, ...]] = {"ldp-mab": ()}
_GROWTH = 100  # an arm is chosen again when customers have grown by a hundredth


class LocalArms:
    """Both sides in one trial; everybody of a stretch gets the same price."""

    def __init__(
        self, frame: Frame, rng: np.random.Generator, source: Source | None = None, *, event: BitReports | None
    ) -> None:
        self._event, self._source = event, source or rng
        self.arms = ReportedArms(frame, 1.0 if event is None else event.keep)
        self._count, self._arm, self.due = 0, self.arms.choose(), 1

    def prices(self, customers: Customers) -> FloatArray:
        return np.full(customers.size, self.arms.levels[self._arm])

    def learn(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
        self.arms.accept(self._arm, report(demands, self._event, self._source))
        self._count += len(demands)
        self.due -= len(demands)
        if self.due == 0:
            self._arm, self.due = self.arms.choose(), max(1, self._count // _GROWTH)


def rival(asked: Asked, frame: Frame) -> RivalPolicy:
    """The policy for a frame. Contexts are never read."""
    event = BitReports(keep=keep_of(asked.claimed.epsilon)) if asked.drawn else None
    begin = functools.partial(LocalArms, event=event)
    return guarded(asked, frame, begin, event, claimed=EpsilonDelta(asked.claimed.epsilon, 0.0), reported=True)
