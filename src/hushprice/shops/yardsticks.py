"""The dullest rival: staying at today's price. Others are policies of the catalog (shops/rival_strategy.py)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hushprice.product import Product
from hushprice.shops.strategy import Strategy
from hushprice.types import FloatArray


class Staying:
    """Today's price for everybody, for good."""

    due = 2**62

    def __init__(self, product: Product, horizon: int, noise: bool, rng: np.random.Generator) -> None:
        self._price = product.reference_price

    def prices(self, contexts: FloatArray) -> FloatArray:
        return np.full(len(contexts), self._price)

    def learn(self, contexts: FloatArray, prices: FloatArray, sales: FloatArray) -> None:
        pass


YARDSTICKS: dict[str, Callable[[Product, int, bool, np.random.Generator], Strategy]] = {"staying": Staying}
