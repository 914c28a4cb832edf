"""Compiling before the first customer comes: a quote that waits for a compiler would be very late."""

from __future__ import annotations

import msgspec

from hushprice.policies.newton.pricing.quoter import NewtonQuoter
from hushprice.service.shared.product import Product, quoter_of, reader_of, tariff_of

_PRODUCT = Product(name="precompile", currency="EUR", ceiling=10.0, contexts=1, unit_cost=1.0)
_CAUTIOUS = msgspec.structs.replace(_PRODUCT, conversion=0.1, floor=4.0, reference_price=6.0, policy="cautious")


def precompile() -> None:
    """Find one price of each policy, by the way every quote takes."""
    context = reader_of(_PRODUCT).read(None, [0.5]).context
    for product in (_PRODUCT, _CAUTIOUS):
        quoter = quoter_of(product)
        if isinstance(quoter, NewtonQuoter):
            quoter.ready = True
            tariff_of(product).charge(quoter.price_of_checked(context, 0.5))
        else:
            quoter.relative_price(context, 1.0)
