"""Compiling before the first customer comes: a quote that waits for a compiler would be very late."""

from __future__ import annotations

from hushprice.service.shared.product import Product, quoter_of, reader_of, tariff_of

_PRODUCT = Product(name="precompile", currency="EUR", ceiling=10.0, contexts=1, unit_cost=1.0)


def precompile() -> None:
    """Find one price, by the way every quote takes."""
    quoter = quoter_of(_PRODUCT)
    quoter.ready = True
    context = reader_of(_PRODUCT).read(None, [0.5]).context
    tariff_of(_PRODUCT).charge(quoter.price_of_checked(context, 0.5))
