"""How much a row says about a policy's price: its weight.

- `exact`: a few prices. Who was charged the policy's price counts 1 / probability.
- `kernel`: prices with a density. Who was charged one nearby counts K / density.
- `near`: prices known by probability that differ from customer to customer. Who was charged one within the bandwidth
  counts 1 / probability; how many such prices there were is not known, so sums make sense only divided by weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from hushprice.logs.propensities import Propensities
from hushprice.logs.rows import LogRows
from hushprice.logs.smoothing import kernel_weights
from hushprice.types import BoolArray, FloatArray

Way = Literal["exact", "kernel", "near"]
SAME = 1e-7  # relative prices no further apart are one


@dataclass(frozen=True, kw_only=True, eq=False)
class Weighting:
    """The way, and what it needs."""

    way: Way
    propensities: Propensities
    ends: tuple[float, float]  # lowest and highest relative price charged
    choices: tuple[float, ...] = ()
    bandwidth: float = 0.0
    positive: bool = False  # no weight below 0, at the ends of the range either

    def weights(self, rows: LogRows, wanted: FloatArray) -> FloatArray:
        """Of every row, for the relative price that a policy wants of it."""
        likely = self.propensities.of(rows)
        if self.way == "kernel":
            near = kernel_weights(rows.prices, wanted, self.bandwidth, self.ends, positive=self.positive)
        else:
            reach = SAME if self.way == "exact" else self.bandwidth
            near = (np.abs(rows.prices - wanted) <= reach).astype(np.float64)
        return np.asarray(near / likely)

    def never(self, wanted: FloatArray) -> BoolArray:
        """Is the wanted price one that nobody was charged?"""
        if self.way == "exact":
            return ~(np.abs(wanted[:, None] - np.array(self.choices)).min(axis=1) <= SAME)
        return np.asarray((wanted < self.ends[0] - SAME) | (wanted > self.ends[1] + SAME))
