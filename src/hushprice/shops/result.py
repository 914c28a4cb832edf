"""What trials in a simulated shop found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hushprice.types import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True, eq=False)
class ShopResult:
    """Earnings are expected ones, so they hold no luck of single purchases; rows are trials.

    Staying is what today's price would have earned from the very same customers.
    """

    policy: str
    horizon: int
    seed: int
    checkpoints: IntArray  # customers so far
    earnings: FloatArray  # (trials, checkpoints), cumulative
    staying: FloatArray  # the same at today's price
    prices: FloatArray | None  # (trials, horizon), where they were kept

    @property
    def gain(self) -> float:
        """Mean earnings over all customers as a share of staying: 1.02 is 2 % more."""
        return float(np.mean(self.earnings[:, -1] / self.staying[:, -1]))

    def worst(self, after: int = 1000) -> float:
        """The least share of staying that any trial had earned at a checkpoint at or after `after` customers."""
        counted = self.checkpoints >= min(after, self.horizon)
        return float(np.min(self.earnings[:, counted] / self.staying[:, counted]))
