"""A shop whose product has policy cautious: quotes priced by the last release, straight into a store."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from tests.service.learning_runs import WINDOW, Shop

from hushprice.service.quoting.priced_product import PricedProduct
from hushprice.service.shared.product import Product
from hushprice.service.shared.quote_ids import uniform_of
from hushprice.service.store.values import NewOutcome, NewQuote

_HOLDOUT = 0.1


def cautious_spec(**changes: Any) -> bytes:
    """With so little noise that records decide what is released."""
    given: dict[str, Any] = {
        "name": "tea",
        "currency": "EUR",
        "floor": 8.0,
        "ceiling": 12.0,
        "reference_price": 10.0,
        "conversion": 0.4,
        "risk": 0.1,
        "contexts": 2,
        "horizon": 1000,
        "epsilon": 300.0,
        "delta": 1e-6,
        "holdout": _HOLDOUT,
        "quote_seconds": WINDOW,
        "outcome_seconds": WINDOW,
    }
    return msgspec.json.encode(Product(**given | changes))


def priced(shop: Shop, product: str = "tea") -> PricedProduct:
    """The product as a process prices it that looks at the store now."""
    (stored,) = shop.store.products([product])
    return PricedProduct(stored, shop.store.latest_release(product)).open()


def serve(shop: Shop, count: int, seed: int = 0, **more: Any) -> list[NewQuote]:
    """Customers who come at once, and what they buy; the same of a seed."""
    chance, now = np.random.default_rng((seed, shop.store.products(["tea"])[0].slots)), priced(shop)
    quotes, outcomes = [], []
    for _ in range(count):
        context, number = chance.uniform(-1.0, 1.0, 2).astype("<f8").tobytes(), chance.bytes(16)
        apart = bool(chance.random() < _HOLDOUT)
        charged = now.reference if apart else now.price(context, uniform_of(number))
        given: dict[str, Any] = {
            "id": number.hex(),
            "product": "tea",
            "key": "web",
            "context": context,
            "price": charged.share,
            "charged": charged.charged,
            "expires": shop.time + WINDOW,
            "version": now.version,
            "holdout": apart,
            "window": WINDOW,
            "cap": None,
        }
        quotes.append(NewQuote(**given | more))
        if chance.random() < 0.9:  # the others say nothing
            outcomes.append(NewOutcome(number.hex(), "web", float(chance.uniform(6.0, 14.0) > float(charged.charged))))
    shop.store.write(quotes, outcomes)
    return quotes


def learn(shop: Shop, **more: Any) -> None:
    """Everything that is due once all deadlines have passed."""
    shop.wait(WINDOW + 1.0)
    learning = shop.learning(**more)
    while learning.turn():
        pass
    shop.store.drop_lease(learning.holder)
