"""Counting down to the next refit, which rivals that refit now and then share."""

from __future__ import annotations

from hushprice.policies.rival_parts.frame import Customers
from hushprice.types import FloatArray

GROWTH = 20  # a refit when customers have grown by a twentieth: a batch that long costs a few per cent of regret


class Stretched:
    """Takes records as they come, and calls `refit` where a stretch ends. `count` is how many came so far."""

    def __init__(self, first: int = 1) -> None:
        self.count, self.due = 0, first

    def learn(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
        """Take these records; refit where they end a stretch."""
        self.take(customers, prices, demands)
        self.count += len(demands)
        self.due -= len(demands)
        if self.due <= 0:
            self.refit()
            self.due = self.stretch()

    def stretch(self) -> int:
        """How long the next stretch is."""
        return max(1, self.count // GROWTH)

    def take(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
        """Keep what is needed of these records."""
        raise NotImplementedError

    def refit(self) -> None:
        """Make a new belief of what was kept."""
        raise NotImplementedError
