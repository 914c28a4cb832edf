"""Worlds from TOML files: one of the package's worlds by name, or demand fitted to a shop's own past.

customers = "customers.csv"   # or .parquet, "mixed", "uniform"; who comes

[world]                       # how they respond: `kind` and the fields of that world (worlds.py), worlds nested
kind = "jump"
at = 20000
before = { kind = "logit", elasticity = 1.2 }
after = { kind = "logit", elasticity = 2.5 }

[fit]                         # or, instead of [world]: columns of the file to fit a logit to
price = "price"
outcome = "bought"
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hushprice import checks, toml_file
from hushprice.errors import InvalidInput
from hushprice.product import Product
from hushprice.product_file import BESIDE
from hushprice.shops import worlds
from hushprice.shops.customers import DeclaredCustomers, FiledCustomers, contexts_of, numbers, read_columns, sold
from hushprice.shops.fitted import fit_demand
from hushprice.shops.world import World

KINDS: dict[str, type[Any]] = {
    "logit": worlds.Logit,
    "probit": worlds.Probit,
    "log-normal": worlds.LogNormal,
    "latent-classes": worlds.LatentClasses,
    "jump": worlds.Jump,
    "drift": worlds.Drift,
    "season": worlds.Season,
    "competitors": worlds.Competitors,
}
UNIFORM, MIXED = "uniform", "mixed"
_MIXED_ENTRIES = 9


def load_world(path: str | Path, product: Product) -> World:
    """The world a TOML file describes (docs/guide/worlds.md), for a product; paths inside are relative to the file."""
    path = Path(path)
    with toml_file.named("world file", path):
        raw = toml_file.read(path)
        toml_file.check_keys("it", raw, (), BESIDE)
        if ("world" in raw) == ("fit" in raw):
            raise InvalidInput(f"it must have a table [world] or [fit], got {'both' if 'fit' in raw else 'neither'}")
        customers = _named_customers(raw)
        if "fit" in raw:
            return _fitted(toml_file.table("[fit]", raw["fit"]), product, path.parent / customers)
        return _Builder(product, _crowd(customers, product, path.parent)).world("world", raw["world"])


def load_customers(path: str | Path, product: Product) -> worlds.Crowd:
    """Who comes to a product, by the key `customers` of its file; without one, whoever it declares possible."""
    path = Path(path)
    with toml_file.named("product file", path):
        return _crowd(_named_customers(toml_file.read(path)), product, path.parent)


def _named_customers(raw: dict[str, Any]) -> str:
    customers = raw.get("customers", UNIFORM)
    if not isinstance(customers, str):
        raise InvalidInput(f"customers must be {MIXED!r}, {UNIFORM!r} or a file, got {checks.shown(customers)}")
    return customers


def _crowd(customers: str, product: Product, folder: Path) -> worlds.Crowd:
    if customers == MIXED:
        if product.schema is not None or product.contexts != _MIXED_ENTRIES:
            raise InvalidInput(f"customers {MIXED!r} is for products with contexts = {_MIXED_ENTRIES} and no schema")
        return worlds.mixed
    if customers == UNIFORM:
        return worlds.uniform(product.contexts) if product.schema is None else DeclaredCustomers(product.schema)
    return FiledCustomers(contexts_of(product, read_columns(folder / customers)))


def _fitted(table: dict[str, Any], product: Product, customers: Path) -> World:
    toml_file.check_keys("[fit]", table, ("price", "outcome"), ("price", "outcome"))
    if customers.name in (UNIFORM, MIXED):
        raise InvalidInput(f"customers must be a file where demand is fitted, got {customers.name!r}")
    columns = read_columns(customers)
    contexts = contexts_of(product, columns, besides=(table["price"], table["outcome"]))
    prices, sales = numbers(columns, table["price"]), sold(product, columns, table["outcome"])
    return fit_demand(product, contexts, prices, sales)


@dataclass(frozen=True)
class _Builder:
    """Worlds of tables, all with the same customers."""

    product: Product
    crowd: worlds.Crowd

    def world(self, label: str, given: object) -> World:
        table = toml_file.table(f"[{label}]", given)
        checks.one_of(tuple(KINDS), **{f"{label}.kind": table.get("kind")})  # type: ignore[arg-type]
        kind = KINDS[table["kind"]]
        fields = {field.name: field.default for field in dataclasses.fields(kind)}
        taken = {name: value for name, value in self._taken.items() if name in fields}
        if "shift" in fields and isinstance(table.get("kinds"), list):  # kinds that no attribute tells apart
            taken["shift"] = np.zeros((self.product.contexts, len(table["kinds"])))
        needed = [name for name, default in fields.items() if default is dataclasses.MISSING and name not in taken]
        allowed = ("kind", *(name for name in fields if name != "crowd"))
        toml_file.check_keys(f"[{label}]", table, ("kind", *needed), allowed)
        given_values = {name: self._value(f"{label}.{name}", name, table[name]) for name in table if name != "kind"}
        try:
            world: World = kind(**{**taken, **given_values})
        except InvalidInput as problem:
            raise InvalidInput(f"[{label}] {problem}") from None
        return world

    @property
    def _taken(self) -> dict[str, Any]:
        """What a world has where its table says nothing."""
        return {
            "reference_price": self.product.reference_price,
            "conversion": self.product.share,
            "attributes": (0.0,) * self.product.contexts,
            "crowd": self.crowd,
        }

    def _value(self, label: str, name: str, given: Any) -> Any:
        if name in ("before", "after", "world"):
            return self.world(label, given)
        if name == "kinds":
            if not isinstance(given, list) or len(given) < 2:
                raise InvalidInput(f"{label} must be a list of at least 2 worlds, got {checks.shown(given)}")
            return tuple(self.world(f"{label}[{at}]", each) for at, each in enumerate(given))
        if name in ("attributes", "interactions"):
            return tuple(checks.vector(self.product.contexts, **{label: self._entries(label, given, 0.0)}).tolist())
        if name == "shift":
            rows = self._entries(label, given, None)
            width = max((len(row) for row in rows if isinstance(row, list)), default=0)
            vectors = [np.zeros(width) if row is None else checks.vector(width, **{label: row}) for row in rows]
            return np.array(vectors).reshape(self.product.contexts, width)
        return given

    def _entries(self, label: str, given: Any, left_out: Any) -> list[Any]:
        """A value for every entry of a context: all in a list, or some in a table, by name."""
        if isinstance(given, dict):
            names = () if self.product.schema is None else self.product.schema.names
            toml_file.check_keys(label, given, (), names)
            return [given.get(name, left_out) for name in names]
        if not isinstance(given, list) or len(given) != self.product.contexts:
            raise InvalidInput(
                f"{label} must have {self.product.contexts} entries, as the product has, got {checks.shown(given)}"
            )
        return given
