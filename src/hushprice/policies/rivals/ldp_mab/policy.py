"""The policy: pure epsilon towards everybody, the shop included."""

from __future__ import annotations

import functools
import math

import numpy as np

from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rival_parts.rival_policy import Asked, RivalPolicy, guarded
from hushprice.policies.rivals.ldp_mab.pricing import ReportedArms
from hushprice.policies.rivals.ldp_mab.private import report
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import BitReports
from hushprice.types import FloatArray

READS: dict[str, tuple[str, ...]] = {"ldp-mab": ()}
_GROWTH = 100  # an arm is chosen again when customers have grown by a hundredth
_MARGIN = 1e-9  # of epsilon: above what loss.py adds for rounding


class LocalArms:
    """Both sides in one trial; everybody of a stretch gets the same price."""

    def __init__(self, frame: Frame, rng: np.random.Generator, *, event: BitReports | None) -> None:
        self._event, self._rng = event, rng
        self.arms = ReportedArms(frame, 1.0 if event is None else event.keep)
        self._count, self._arm, self.due = 0, self.arms.choose(), 1

    def prices(self, customers: Customers) -> FloatArray:
        return np.full(customers.size, self.arms.levels[self._arm])

    def learn(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
        self.arms.accept(self._arm, report(demands, self._event, self._rng))
        self._count += len(demands)
        self.due -= len(demands)
        if self.due == 0:
            self._arm, self.due = self.arms.choose(), max(1, self._count // _GROWTH)


def rival(asked: Asked, frame: Frame) -> RivalPolicy:
    """The policy for a frame. Contexts are never read."""
    epsilon = asked.claimed.epsilon * (1.0 - _MARGIN)
    event = BitReports(keep=1.0 / (1.0 + math.exp(-epsilon))) if asked.drawn else None
    begin = functools.partial(LocalArms, event=event)
    return guarded(asked, frame, begin, event, claimed=EpsilonDelta(asked.claimed.epsilon, 0.0))
