"""How much noise a budget buys, as published and tight, and the policy made of it."""

from __future__ import annotations

import functools
import math
from dataclasses import replace

import numpy as np

from hushprice import checks
from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rival_parts.private.arithmetic import Source
from hushprice.policies.rival_parts.private.laplace_tree import LaplaceTree
from hushprice.policies.rival_parts.rival_policy import Asked, RivalPolicy, guarded
from hushprice.policies.rivals.mishra.pricing import ARMS, BetaArms, TreeArms
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import LaplaceSums
from hushprice.types import FloatArray

READS: dict[str, tuple[str, ...]] = {"mishra-ucb": ("calibration",), "mishra-thompson": ("calibration",)}
CALIBRATIONS = ("published", "tight")
_GROWTH = 100  # an arm is chosen again when customers have grown by a hundredth
_MARGIN = 1e-9  # of the scale: above what loss.py adds for rounding


def levels_of(horizon: int) -> int:
    """Of a tree that holds all customers."""
    return max(1, int(horizon).bit_length())


def published(epsilon: float, horizon: int) -> tuple[LaplaceSums, float]:
    """epsilon/k a tree, and the source's bonus k ln(T)^2 ln(kT)/epsilon: it counts a record once for every arm."""
    levels = levels_of(horizon)
    event = LaplaceSums(levels=levels, scale=(1.0 + _MARGIN) * ARMS * levels / epsilon)
    return event, ARMS * math.log(horizon + 1.0) ** 2 * math.log(ARMS * horizon) / epsilon


def tight(epsilon: float, horizon: int) -> tuple[LaplaceSums, float]:
    """epsilon a tree, since a record is in one tree alone, and a bound on a sum of Laplace numbers.

    The sum of n of scale b passes b sqrt(8 ln(2/beta)) max(sqrt(n), sqrt(ln(2/beta))) with probability beta at most
    (Chan, Shi and Song 2011); beta = 1/T^2.
    """
    levels = levels_of(horizon)
    scale = (1.0 + _MARGIN) * levels / epsilon
    rare = math.log(2.0 * horizon**2)
    return LaplaceSums(levels=levels, scale=scale), scale * math.sqrt(8.0 * rare * max(levels, rare))


def deviation_of(event: LaplaceSums | None) -> float:
    """Of a sum's noise, at most; 0 without any."""
    return 0.0 if event is None else event.scale * math.sqrt(2.0 * event.levels)


class PrivateArms:
    """Both sides in one trial; everybody of a stretch gets the same price."""

    def __init__(
        self,
        frame: Frame,
        rng: np.random.Generator,
        source: Source | None = None,
        *,
        event: LaplaceSums | None,
        reach: float,
        drawn: bool,
    ) -> None:
        self._trees = [LaplaceTree(event, levels_of(frame.horizon), source or rng) for _ in range(ARMS)]
        self.arms = (
            BetaArms(frame, rng, reach=reach, deviation=deviation_of(event)) if drawn else TreeArms(frame, reach)
        )
        self._pulls = [0] * ARMS
        self._count, self._arm, self.due = 0, self.arms.choose(), 1

    def prices(self, customers: Customers) -> FloatArray:
        return np.full(customers.size, self.arms.levels[self._arm])

    def learn(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
        arm = self._arm
        self._trees[arm].absorb(demands)
        self._pulls[arm] += len(demands)
        self._count += len(demands)
        self.due -= len(demands)
        if self.due == 0:
            self.arms.accept(arm, self._pulls[arm], self._trees[arm].release())
            self._arm, self.due = self.arms.choose(), max(1, self._count // _GROWTH)


def rival(asked: Asked, frame: Frame) -> RivalPolicy:
    """The policy for a frame. Contexts are never read."""
    checks.one_of(CALIBRATIONS, calibration=asked.calibration)
    if asked.calibration == "published":
        event, reach = published(asked.claimed.epsilon, frame.horizon)
    else:
        event, reach = tight(asked.buys.epsilon, frame.horizon)
    given, far = (replace(event, live=asked.live), reach) if asked.drawn else (None, 0.0)
    begin = functools.partial(PrivateArms, event=given, reach=far, drawn=asked.name == "mishra-thompson")
    pure = EpsilonDelta(asked.claimed.epsilon, 0.0)
    return guarded(asked, frame, begin, given, claimed=pure, calibration=asked.calibration)
