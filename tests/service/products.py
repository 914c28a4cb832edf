"""Products that several test files share."""

from __future__ import annotations

from typing import Any

from hushprice.service.shared.product import Product

SCHEMA: dict[str, Any] = {
    "attributes": [
        {"kind": "number", "name": "age", "low": 18, "high": 98},
        {"kind": "category", "name": "region", "levels": ["south", "north", "west"]},
        {"kind": "boolean", "name": "member"},
    ]
}
CUSTOMER = {"age": 78, "region": "north", "member": False}


def make_product(**changes: Any) -> Product:
    """A shirt for up to 40 euros, with numeric contexts unless a schema is given."""
    given: dict[str, Any] = {"name": "shirt", "currency": "EUR", "ceiling": 40.0, "horizon": 100_000}
    if "conversion" not in changes:
        given["features"] = "intercept"
    if "schema" not in changes and "contexts" not in changes:
        given["contexts"] = 2
    return Product(**given | changes)
