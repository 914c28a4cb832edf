"""The side that reads records: what each price sold, released once."""

from __future__ import annotations

import numpy as np

from hushprice.errors import BudgetExhausted, InvalidInput
from hushprice.policies.rival_parts.private.arithmetic import Source, arithmetic_of
from hushprice.privacy.events import Event, LaplaceSums, NotPrivate
from hushprice.releases import ScoreRelease
from hushprice.types import FloatArray, IntArray


class SalesReleaser:
    """Sums of sales by price. A record moves one of them by at most 1, since sales are held to [0, 1]."""

    def __init__(self, levels: int, event: LaplaceSums | None, source: Source) -> None:
        self._event, self._arithmetic, self._released = event, arithmetic_of(event, source), False
        self.sold = np.zeros(levels, dtype=self._arithmetic.kind)  # sensitive
        self._records = 0

    def absorb(self, level: IntArray, sales: FloatArray) -> None:
        """Take these records; NaN is refused before anything changes."""
        if not np.isfinite(sales).all():
            raise InvalidInput("a record must be finite")  # says no more: its values are sensitive
        np.add.at(self.sold, level, self._arithmetic.exact(np.clip(sales, 0.0, 1.0)))
        self._records += len(sales)

    def release(self) -> ScoreRelease:
        """What each price sold, with noise. Once."""
        if self._released:
            raise BudgetExhausted("what the tried prices sold was released already")
        self._released = True
        scale = 0.0 if self._event is None else self._event.scale
        event: Event = self._event or NotPrivate()
        drawn = self._arithmetic.laplace(self.sold.size, scale)
        sums = [self._arithmetic.publish(sold, noise, scale) for sold, noise in zip(self.sold, drawn, strict=True)]
        return ScoreRelease(np.array(sums), self._records, event)

    def __repr__(self) -> str:
        return "SalesReleaser(<sensitive>)"
