"""Products from TOML files: a table [product] with the fields of `Product`, and nothing else."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from hushprice import toml_file
from hushprice.demand.schema import Schema
from hushprice.product import Product

FIELDS = tuple(field.name for field in dataclasses.fields(Product))
REQUIRED = tuple(field.name for field in dataclasses.fields(Product) if field.default is dataclasses.MISSING)
BESIDE = ("product", "customers", "world", "fit", "log")  # one file may hold a product, its world and its log


def load_product(path: str | Path) -> Product:
    """The product a TOML file describes (docs/guide/worlds.md)."""
    path = Path(path)
    with toml_file.named("product file", path):
        raw = toml_file.read(path)
        toml_file.check_keys("it", raw, ("product",), BESIDE)
        return product_of(toml_file.table("[product]", raw["product"]))


def product_of(table: dict[str, Any]) -> Product:
    """The product of a table's fields; a schema is declared as the service takes it."""
    toml_file.check_keys("[product]", table, REQUIRED, FIELDS)
    if "schema" in table:
        table = {**table, "schema": Schema.from_dict(table["schema"])}
    return Product(**table)
