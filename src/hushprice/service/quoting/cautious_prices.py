"""What policy cautious charges: public numbers made once a release, and one pass over them for each quote."""

from __future__ import annotations

import struct

from hushprice.policies.cautious.policy import CautiousPolicy
from hushprice.policies.cautious.pricing.customer_prices import of_coin
from hushprice.policies.cautious.pricing.quoter import CautiousQuoter
from hushprice.service.shared.device_state import till_of
from hushprice.service.shared.product import Product
from hushprice.service.shared.tariff import Charged, Tariff


class CautiousPrices:
    """Of one product, by its last release and its rules."""

    __slots__ = ("_both", "_charged", "_holdout", "_last", "_read", "_side", "_tariff", "still")

    def __init__(self, product: Product, policy: CautiousPolicy, quoter: CautiousQuoter, tariff: Tariff) -> None:
        self._read = struct.Struct(f"<{quoter.model.contexts}d").unpack
        self._both = quoter.customer_prices.both
        self._tariff, self._charged = tariff, till_of(product, policy, tariff).charged
        # Nothing has moved prices: the coin's two are around today's, or in whole cents half a cent off.
        self.still = not (quoter.rule.move or quoter.rule.offset)
        self._holdout, self._side = product.holdout, 0.5 * (1.0 - product.holdout)
        self._last: tuple[tuple[float, float] | None, int, int] = (None, 0, 0)

    def charged(self, relative: float) -> Charged:
        """What is charged where the policy asks for this relative price."""
        return self._tariff.as_charged(self._charged(relative))

    def price(self, context: bytes, coin: float) -> Charged:
        """A customer's price; a coin of 0 leaves it in the middle."""
        both = self._both(self._read(context))
        return self.charged(0.0 if self.still and coin == 0.0 else of_coin(both, coin))

    def offer(self, context: bytes, uniform: float, *, holdout: bool) -> tuple[Charged, float]:
        """A customer's price, and how likely it was: see `PricedProduct.offer`."""
        both = self._both(self._read(context))
        known, low, high = self._last
        if both is not known:  # where all customers have the same two prices, they are the same object
            low, high = self._charged(both[1]), self._charged(both[0])
            self._last = (both, low, high)
        reference = self._tariff.reference_units
        price = reference if holdout else high if uniform > 0.5 else low
        likely = self._side * ((price == low) + (price == high))
        return self._tariff.as_charged(price), self._holdout + likely if price == reference else likely
