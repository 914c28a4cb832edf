"""What a simulated shop asks of whoever sets its prices."""

from __future__ import annotations

from typing import Protocol

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
