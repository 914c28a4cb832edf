"""Where a fit is held against a log: ten bins of believed demand, and every attribute's two halves by price.

All edges are public: they come from the fit and the product, never from rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from hushprice.logs.price_policy import PricePolicy
from hushprice.logs.rows import LogRows
from hushprice.product import Product
from hushprice.types import FloatArray, IntArray

BINS = 10
_EDGES = np.array([-2.0, -1.25, -0.75, -0.35, 0.0, 0.35, 0.75, 1.25, 2.0])  # log-odds around the usual customer's
CELLS = 4  # of an attribute: its lower and upper half, at prices up to today's and above
EVERYBODY = "everybody"  # the one segment, all in a lower half, where there are no attributes


@dataclass(frozen=True, kw_only=True)
class Bin:
    """Rows whose believed demand lies in [low, high)."""

    low: float
    high: float
    rows: float
    believed: float  # mean, a share of the largest quantity
    observed: float
    error: float  # standard, of observed - believed


@dataclass(frozen=True, kw_only=True)
class Segment:
    """How much less is bought above today's price than up to it, by one kind of customer."""

    name: str
    rows: float
    believed: float
    observed: float
    error: float


@dataclass(frozen=True, eq=False)
class Cells:
    """Which cells a row is in: a bin, and one cell an attribute."""

    policy: PricePolicy
    contexts: int

    @property
    def count(self) -> int:
        return BINS + CELLS * self.places

    @property
    def places(self) -> int:
        """Attributes, or everybody together where there are none."""
        return max(self.contexts, 1)

    @property
    def edges(self) -> FloatArray:
        """Between bins, as demand."""
        theta = self.policy.theta
        usual = self.policy.model.level + (0.0 if theta is None else theta[0])
        return np.asarray(expit(usual + _EDGES))

    def of(self, rows: LogRows) -> tuple[IntArray, FloatArray]:
        """The cells of every row, (rows, 1 + places), and its believed demand."""
        believed = self.policy.demand(rows.contexts, rows.prices)
        bins = np.searchsorted(self.edges, believed, side="right")
        halves = (rows.contexts > 0.0 if self.contexts else np.zeros((len(rows.prices), 1))).astype(np.int64)
        above = (rows.prices > 0.0).astype(np.int64)
        own = BINS + CELLS * np.arange(self.places) + 2 * halves + above[:, None]
        return np.column_stack([bins, own]).astype(np.int64), believed


def names_of(product: Product) -> list[str]:
    """What the entries of a context are called."""
    if product.contexts == 0:
        return [EVERYBODY]
    if product.schema is None:
        return [f"x{place + 1}" for place in range(product.contexts)]
    return list(product.schema.names)
