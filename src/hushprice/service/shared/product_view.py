"""A product as GET shows it: as declared, with what was set later, and every default spelt out."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from hushprice.service.shared.product import Product, delta_of, demand_of, features_of, reference_price_of
from hushprice.service.shared.tariff import PriceRules
from hushprice.service.store.decisions import largest_demand
from hushprice.service.store.values import Status, StoredProduct
from hushprice.settings import doubt_of

LARGE_EPSILON = 10.0  # odds of 22,000 to 1 between two worlds


class ProductView(Product, frozen=True, kw_only=True):
    """All of it is public but the unit cost, which is null for all but an admin: it is the shop's own business."""

    unit_cost: float | None  # type: ignore[assignment]
    reference_price: float
    delta: float
    slope: float | None  # null for policy cautious, whose log-odds are as they are
    bound: Annotated[float, Meta(description="the largest quantity that can be told")]
    rules: PriceRules
    status: Status
    quotes: int  # given
    created: float  # wall-clock, seconds since 1970
    warnings: Annotated[list[str], Meta(description="what is allowed and promises little")]


def warnings_of(product: Product) -> list[str]:
    """What an admin should think about again: a budget under which a record is hardly hidden, a doubtful `risk`."""
    found, delta = [], delta_of(product)
    if product.learns and product.epsilon > LARGE_EPSILON:
        found.append(f"epsilon {product.epsilon:g} is above {LARGE_EPSILON:g}: one record may move prices a lot")
    if product.learns and delta * product.horizon >= 1.0:
        found.append(f"delta {delta:g} is not below 1/horizon: it allows to publish a record as it is")
    doubt = doubt_of(product.trust, features_of(product).contexts)
    return [*found, doubt] if doubt else found


def product_of(stored: StoredProduct) -> Product:
    """The product as declared."""
    return msgspec.json.decode(stored.spec, type=Product)


def reference_of(product: Product, stored: StoredProduct) -> float:
    """The reference price in currency as it is now; the store has it as a share of the ceiling."""
    if stored.reference_price is None:
        return reference_price_of(product)
    return round(stored.reference_price * product.ceiling, product.decimals)


def view_of(stored: StoredProduct, *, with_cost: bool = False) -> ProductView:
    """What anybody who may read products is told about one."""
    product = product_of(stored)
    largest = largest_demand(stored.spec)
    declared = {field: getattr(product, field) for field in product.__struct_fields__}
    now = {
        "unit_cost": product.unit_cost if with_cost else None,
        "reference_price": reference_of(product, stored),
        "delta": delta_of(product),
        "slope": None if product.in_shop_words else float(demand_of(product).slope),
        "bound": largest,
        "rules": msgspec.json.decode(stored.rules, type=PriceRules),
        "status": stored.status,
        "quotes": stored.slots,
        "created": stored.created,
        "warnings": warnings_of(product),
    }
    return ProductView(**declared | now)
