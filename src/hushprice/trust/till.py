"""From a relative price to one that is charged, in whole units of the currency's last decimal.

Public numbers, made once for a product and its rules. The same arithmetic wherever a price is made, to the last digit:
service/shared/tariff.py charges by `Rungs`, and tests hold `Till` to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

_DIGITS = 9  # of a price as the policy asks for it, before it is charged


class Rungs(NamedTuple):
    """Which whole numbers of units can be charged: from `low` to `high`, or the rungs of a ladder in there."""

    top: int  # the ceiling
    low: int
    high: int
    one: int  # units in one of the currency
    ladder: int | None  # every price ends in so many units
    least: int  # the lowest rung
    most: int

    def nearest(self, share: float) -> int:
        """What is charged where a share of the ceiling is asked for."""
        # Products, sums and floors of floats never fall where the share rises, so neither does the price.
        price = math.floor(self.top * share + 0.5)
        price = self.low if price < self.low else self.high if price > self.high else price
        if self.ladder is None:
            return price
        nearest = price - (price - self.ladder + self.one // 2) % self.one + self.one // 2
        return self.least if nearest < self.least else self.most if nearest > self.most else nearest


@dataclass(frozen=True, kw_only=True, slots=True)
class Till:
    """A product's prices, in currency but for `rungs`."""

    reference_price: float  # where relative prices are 0
    reach: float
    step: float | None  # the policy asks for prices so far apart
    ending: float
    cheapest: float
    dearest: float
    ceiling: float
    rungs: Rungs

    def charged(self, relative: float) -> int:
        """The price charged, in units, where the policy asks for this one."""
        price = self.reference_price + self.reach * relative
        if self.step is not None:
            price = self.ending + round((price - self.ending) / self.step) * self.step
        price = round(price, _DIGITS)
        price = self.cheapest if price < self.cheapest else self.dearest if price > self.dearest else price
        return self.rungs.nearest(price / self.ceiling)

    def amount(self, units: int) -> float:
        """Units as an amount of currency."""
        return units / self.rungs.one
