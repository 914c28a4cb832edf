"""What a simulated shop asks of whoever sets its prices, and the dullest of all: staying at today's price."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from hushprice.product import Product
from hushprice.types import FloatArray


class Strategy(Protocol):
    """Prices for customers as they come. Between two releases prices do not depend on each other."""

    @property
    def due(self) -> int:
        """How many more customers are priced alike before something may change; at least 1."""
        ...

    def prices(self, contexts: FloatArray) -> FloatArray:
        """Prices in currency, for at most `due` customers."""
        ...

    def learn(self, contexts: FloatArray, prices: FloatArray, sales: FloatArray) -> None:
        """What the customers last priced did: 1 for a purchase, 0 for none; a share where one may buy several."""
        ...


class Staying:
    """Today's price for everybody, for good."""

    due = 2**62

    def __init__(self, product: Product, horizon: int, noise: bool, rng: np.random.Generator) -> None:
        self._price = product.reference_price

    def prices(self, contexts: FloatArray) -> FloatArray:
        return np.full(len(contexts), self._price)

    def learn(self, contexts: FloatArray, prices: FloatArray, sales: FloatArray) -> None:
        pass
