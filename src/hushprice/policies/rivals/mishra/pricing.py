"""UCB on noisy sums, widened for the trees' noise; Thompson sampling on the same sums."""

from __future__ import annotations

import math

import numpy as np

from hushprice.policies.rival_parts.frame import Frame
from hushprice.types import FloatArray

ARMS = 10


class TreeArms:
    """Evenly spaced prices up to the highest; the index is (margin + p) min(1, mean + both bonuses)."""

    def __init__(self, frame: Frame, reach: float) -> None:
        wide = frame.highest - frame.lowest
        self.levels: FloatArray = frame.lowest + wide * np.arange(1, ARMS + 1) / ARMS
        self._worth, self._reach = frame.margin + self.levels, reach
        self.pulls, self._sums = np.zeros(ARMS), np.zeros(ARMS)

    def accept(self, arm: int, pulls: int, total: float) -> None:
        """An arm was pulled so often in all, and its noisy sum is this."""
        self.pulls[arm], self._sums[arm] = pulls, total

    def choose(self) -> int:
        """Each arm once, then the largest index. `reach` bounds the noise of a sum."""
        if not self.pulls.all():
            return int(np.argmin(self.pulls))
        bonus = np.sqrt(2.0 * math.log(self.pulls.sum()) / self.pulls) + self._reach / self.pulls
        return int(np.argmax(self._worth * np.clip(self._sums / self.pulls + bonus, 0.0, 1.0)))


class BetaArms(TreeArms):
    """Thompson sampling: (margin + p) Beta(1 + s, 1 + pulls - s), s the noisy sum held to [0, pulls]."""

    def __init__(self, frame: Frame, rng: np.random.Generator) -> None:
        super().__init__(frame, 0.0)
        self._rng = rng

    def choose(self) -> int:
        sold = np.clip(self._sums, 0.0, self.pulls)
        return int(np.argmax(self._worth * self._rng.beta(1.0 + sold, 1.0 + self.pulls - sold)))
