"""The side that prices: by slot number while prices are tried, then the one that earned most."""

from __future__ import annotations

import numpy as np

from hushprice.policies.rival_parts.frame import Frame
from hushprice.releases import ScoreRelease
from hushprice.types import FloatArray, IntArray

LEVELS = 5
SHARE = 0.2  # of the customers see prices that are tried


class PriceList:
    """LEVELS prices from the lowest to the highest, in turn, for a share of the customers."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._levels = np.linspace(frame.lowest, frame.highest, LEVELS)
        self.explored = max(LEVELS, int(frame.horizon * SHARE))
        self._kept = frame.start

    def levels(self, first: int, count: int) -> IntArray:
        """Which price slots first, first + 1, ... try, the first slot being 0."""
        return (first + np.arange(count)) % LEVELS

    def prices(self, first: int, count: int) -> FloatArray:
        """The prices of those slots."""
        if first >= self.explored:
            return np.full(count, self._kept)
        return np.asarray(self._levels[self.levels(first, count)])

    def accept(self, release: ScoreRelease) -> None:
        """Keep the price that earned most a customer, by the noisy sales. How many saw each price is public."""
        seen = np.bincount(self.levels(0, self.explored), minlength=LEVELS)
        earned = (self._frame.margin + self._levels) * release.score / seen
        self._kept = float(self._levels[np.argmax(earned)])
