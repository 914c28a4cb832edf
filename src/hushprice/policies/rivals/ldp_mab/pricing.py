"""UCB on the reports' means, put right for the coin."""

from __future__ import annotations

import math

import numpy as np

from hushprice.policies.rival_parts.frame import Frame
from hushprice.types import FloatArray

ARMS = 10


class ReportedArms:
    """Evenly spaced prices up to the highest; the index is (margin + p) min(1, mean + bonus)."""

    def __init__(self, frame: Frame, keep: float) -> None:
        wide = frame.highest - frame.lowest
        self.levels = frame.lowest + wide * np.arange(1, ARMS + 1) / ARMS
        self._worth, self._keep = frame.margin + self.levels, keep
        self.pulls, self._ones = np.zeros(ARMS), np.zeros(ARMS)

    def accept(self, arm: int, reports: FloatArray) -> None:
        """Count these reports."""
        self.pulls[arm] += len(reports)
        self._ones[arm] += float(reports.sum())

    @property
    def means(self) -> FloatArray:
        """Of demand: E[report] = (1 - keep) + (2 keep - 1) y."""
        return (self._ones / np.maximum(self.pulls, 1.0) - (1.0 - self._keep)) / (2.0 * self._keep - 1.0)

    def choose(self) -> int:
        """Each arm once, then the largest index; the bonus of a report's mean is widened as the mean is."""
        if not self.pulls.all():
            return int(np.argmin(self.pulls))
        bonus = np.sqrt(2.0 * math.log(self.pulls.sum()) / self.pulls) / (2.0 * self._keep - 1.0)
        return int(np.argmax(self._worth * np.minimum(self.means + bonus, 1.0)))
