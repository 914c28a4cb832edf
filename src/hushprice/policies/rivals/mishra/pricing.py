"""UCB on noisy sums, widened for the trees' noise; Thompson sampling on the same sums."""

from __future__ import annotations

import math

import numpy as np

from hushprice.policies.rival_parts.frame import Frame
from hushprice.types import FloatArray

ARMS = 10
IN_TURN = 10  # the share of customers, as one of so many, that `mishra-thompson` spends on all arms in turn


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
    """Thompson sampling: (margin + p) Beta(1 + s, 1 + pulls - s), s the noisy sum held to [0, pulls].

    Before that arms are pulled in turn, while noise may hide by how much the best is ahead of the next, and is larger
    than what sales themselves leave to chance; for a tenth of the customers at most. `deviation` is that of a sum's
    noise, and `reach` its bound.
    """

    def __init__(self, frame: Frame, rng: np.random.Generator, *, reach: float, deviation: float) -> None:
        super().__init__(frame, reach)
        self._rng, self._deviation = rng, deviation
        self._longest, self._in_turn = frame.horizon // IN_TURN, True

    def choose(self) -> int:
        self._in_turn = self._in_turn and not self._settled()
        if self._in_turn:
            return int(np.argmin(self.pulls))
        sold = np.clip(self._sums, 0.0, self.pulls)
        return int(np.argmax(self._worth * self._rng.beta(1.0 + sold, 1.0 + self.pulls - sold)))

    def _settled(self) -> bool:
        """Once every arm was pulled: are the customers for this spent, is noise the smaller part, or the gap plain?"""
        fewest = float(self.pulls.min())
        if fewest == 0.0:
            return False
        seen = self._worth * np.clip(self._sums / self.pulls, 0.0, 1.0)
        second, best = np.sort(seen)[-2:]
        plain = best - second > 2.0 * self._worth.max() * self._reach / fewest
        return bool(self.pulls.sum() >= self._longest or self._deviation < 0.5 * math.sqrt(fewest) or plain)
