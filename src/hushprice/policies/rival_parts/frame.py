"""Where a rival prices: what is public about a market or a product, in one form for both.

Log-odds of a purchase are taken to be level - response p + slope phi'theta, phi = u + p v, and a sale earns margin + p.
In the paper's markets level, response and margin are 0 and prices lie in [0, 1]; for a product, p is the relative price
z, and level and response are what the shop declares, so that theta = 0 is the shop's own belief.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hushprice import checks
from hushprice.demand import family
from hushprice.demand.features import FeatureMap
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput
from hushprice.price_search.logistic import best_relative_price
from hushprice.types import FloatArray

PRICES = 51  # of a grid, for rivals that choose among prices


class Customers(NamedTuple):
    """Some customers, one column each: contexts (k, n), and the two parts of their features, (d, n)."""

    x: FloatArray
    u: FloatArray
    v: FloatArray

    @property
    def size(self) -> int:
        """How many they are."""
        return self.u.shape[1]

    def features(self, prices: FloatArray | float) -> FloatArray:
        """phi at these prices, (n, d)."""
        return np.asarray((self.u + prices * self.v).T)


@dataclass(frozen=True, kw_only=True)
class Frame:
    """What every rival is told before the first customer."""

    horizon: int
    contexts: int  # k
    dimension: int  # d
    lowest: float
    highest: float
    slope: float
    length: float  # ||phi|| is at most this
    doubts: tuple[float, ...]  # how far each entry of theta may be from 0: a prior's deviations
    margin: float = 0.0
    level: float = 0.0
    response: float = 0.0
    today: float | None = None  # the price charged so far, where there is one

    def __post_init__(self) -> None:
        checks.whole(1, horizon=self.horizon, dimension=self.dimension)
        checks.whole(0, contexts=self.contexts)
        checks.positive(slope=self.slope, length=self.length)

    @property
    def size(self) -> float:
        """S: what ||theta|| is taken to be at most."""
        return min(math.sqrt(sum(each * each for each in self.doubts)), 1.0 if self.today is None else math.inf)

    @property
    def start(self) -> float:
        """A price to begin with: today's, or the middle."""
        return 0.5 * (self.lowest + self.highest) if self.today is None else self.today

    @functools.cached_property
    def grid(self) -> FloatArray:
        """Evenly spaced prices, the ends among them."""
        return np.linspace(self.lowest, self.highest, PRICES)

    def share(self, prices: FloatArray | float) -> FloatArray:
        """A price as a share of the way from the lowest to the highest."""
        return np.asarray((prices - self.lowest) / (self.highest - self.lowest))

    def offset(self, prices: FloatArray | float) -> FloatArray:
        """The part of the log-odds that is declared and not learned."""
        return np.asarray(self.level - self.response * np.asarray(prices))

    def best_prices(self, customers: Customers, theta: FloatArray) -> FloatArray:
        """What earns most if theta is the truth; theta is one vector, or one a customer (n, d)."""
        own = np.broadcast_to(theta, (customers.size, self.dimension))
        level = self.level + self.slope * np.einsum("ij,ji->i", own, customers.u)
        response = self.response - self.slope * np.einsum("ij,ji->i", own, customers.v)
        return best_relative_price(level, response, margin=self.margin, lowest=self.lowest, highest=self.highest)


def market_frame(demand: Demand, features: FeatureMap, horizon: int, name: str) -> Frame:
    """The frame of a market with logistic demand; rivals are told the link, so another family is refused."""
    if demand.family != family.LOGISTIC:
        raise InvalidInput(f"policy {name!r} is for logistic demand, got {demand.name!r}")
    return Frame(
        horizon=horizon,
        contexts=features.contexts,
        dimension=features.dimension,
        lowest=0.0,
        highest=1.0,
        slope=float(demand.slope),
        length=1.0,
        doubts=(1.0,) * features.dimension,
    )
