"""Products from TOML files: a table [product] with the fields of `Product`, and nothing else."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from hushprice import checks, toml_file
from hushprice.demand.schema import Schema
from hushprice.errors import InvalidInput
from hushprice.prior import Prior, read_prior
from hushprice.product import Product

FIELDS = tuple(field.name for field in dataclasses.fields(Product))
REQUIRED = tuple(field.name for field in dataclasses.fields(Product) if field.default is dataclasses.MISSING)
_KINDS = {str: "a path", bool: "true or false"}
BESIDE = ("product", "customers", "world", "fit", "log")  # one file may hold a product, its world and its log


def load_product(path: str | Path) -> Product:
    """The product a TOML file describes (docs/guide/worlds.md)."""
    if not isinstance(path, (str, Path)):
        raise InvalidInput(f"product must be a Product or the path of its file, got {checks.shown(path)}")
    path = Path(path)
    with toml_file.named("product file", path):
        raw = toml_file.read(path)
        toml_file.check_keys("it", raw, ("product",), BESIDE)
        return product_of(toml_file.table("[product]", raw["product"]), path.parent)


def product_of(table: dict[str, Any], folder: Path = Path()) -> Product:
    """The product of a table's fields; a schema is declared as the service takes it. Files are looked for in folder."""
    toml_file.check_keys("[product]", table, REQUIRED, FIELDS)
    if "schema" in table:
        table = {**table, "schema": Schema.from_dict(table["schema"])}
    if "prior" in table:
        table = {**table, "prior": _prior(table["prior"], folder)}
    return Product(**table)


def _prior(given: object, folder: Path) -> Prior:
    """A fit's file, beside the product's unless its path is absolute; or a table that says more of it."""
    if isinstance(given, str):
        return read_prior(folder / given)
    if not isinstance(given, dict):
        raise InvalidInput(f"prior must be the path of a fit's file, or a table, got {checks.shown(given)}")
    table = given
    toml_file.check_keys("[product.prior]", table, ("fit",), ("fit", "same_people"))
    for name, kind in (("fit", str), ("same_people", bool)):
        if not isinstance(table.get(name, kind()), kind):
            raise InvalidInput(f"[product.prior] {name} must be {_KINDS[kind]}, got {table[name]!r}")
    return read_prior(folder / table["fit"], same_people=table.get("same_people", True))
