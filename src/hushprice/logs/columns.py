"""Which column of a table is which: by default names, by a product file's table [log], or as told.

[log]                                # every key may be left out
price = "shown_price"                # else "price"
outcome = "ordered"                  # else "bought"; "quantity" where a visitor may buy several
customer = "customer_id"             # else "customer", where there is one: rows of one person
time = "visited"                     # else "time", where there is one: not read, and no attribute
propensity = "chance"                # else "propensity", where there is one
attributes = { age = "AGE" }         # else by the attribute's own name
contexts = ["x1", "x2"]              # of a product without a schema; else all that is left, in the table's order

The empty text says that there is no such column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from hushprice import checks, toml_file
from hushprice.errors import InvalidInput
from hushprice.product import Product

USUAL = {"price": "price", "customer": "customer", "time": "time", "propensity": "propensity"}
BOUGHT, QUANTITY = "bought", "quantity"
_NEEDED = ("price", "outcome")


@dataclass(frozen=True, kw_only=True, slots=True)
class Columns:
    """The names of a log's columns; None stands for the usual name, the empty text for no column."""

    price: str | None = None
    outcome: str | None = None
    customer: str | None = None
    time: str | None = None
    propensity: str | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)  # column by attribute name, where the two differ
    contexts: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for each in ("price", "outcome", "customer", "time", "propensity"):
            value = getattr(self, each)
            if value is not None and not isinstance(value, str):
                raise InvalidInput(f"log.{each} must be a column's name, got {checks.shown(value)}")
        if not isinstance(self.attributes, Mapping):
            raise InvalidInput(f"log.attributes must be a table of names, got {checks.shown(self.attributes)}")
        for name, column in self.attributes.items():
            if not isinstance(column, str) or not column:
                raise InvalidInput(f"log.attributes.{name} must be a column's name, got {checks.shown(column)}")
        if self.contexts is not None:
            if isinstance(self.contexts, str) or not all(isinstance(each, str) for each in self.contexts):
                raise InvalidInput(f"log.contexts must be a list of names, got {checks.shown(self.contexts)}")
            object.__setattr__(self, "contexts", tuple(self.contexts))

    def of_table(self, names: Sequence[str], product: Product) -> LogColumns:
        """The columns of a table with these names; one that is needed, or was named, and is not there is refused."""
        roles = {role: self._column(role, names, product) for role in (*USUAL, "outcome")}
        taken = {name for name in roles.values() if name is not None}
        if product.schema is None:
            described = self._contexts(names, product.contexts, taken)
        else:
            wanted = [each.name for each in product.schema.attributes]
            for name in self.attributes:
                if name not in wanted:
                    raise InvalidInput(f"log.attributes names {name!r}, which the product does not have")
            described = tuple(_there(self.attributes.get(name, name), f"attribute {name!r}", names) for name in wanted)
        return LogColumns(
            price=roles["price"] or "",
            outcome=roles["outcome"] or "",
            described=described,
            customer=roles["customer"],
            propensity=roles["propensity"],
        )

    def _column(self, role: str, names: Sequence[str], product: Product) -> str | None:
        given = getattr(self, role)
        if given == "" and role not in _NEEDED:
            return None
        if given is None:
            usual = USUAL.get(role, QUANTITY if product.most > 1.0 else BOUGHT)
            return _there(usual, role, names) if role in _NEEDED else usual if usual in names else None
        return _there(given, role, names)

    def _contexts(self, names: Sequence[str], entries: int, taken: set[str]) -> tuple[str, ...]:
        listed = self.contexts
        if listed is None:
            listed = tuple(name for name in names if name not in taken) if entries else ()
        if len(listed) != entries:
            raise InvalidInput(
                f"log.contexts must name {entries} columns, as the product's contexts says, got {checks.shown(listed)}"
            )
        return tuple(_there(name, "contexts", names) for name in listed)


@dataclass(frozen=True, kw_only=True, slots=True)
class LogColumns:
    """The columns of one table; `described` has one for every attribute, or for every entry of a context."""

    price: str
    outcome: str
    described: tuple[str, ...]
    customer: str | None
    propensity: str | None

    @property
    def read(self) -> tuple[str, ...]:
        """All that is read, each once."""
        every = (self.price, self.outcome, *self.described, self.customer, self.propensity)
        return tuple(dict.fromkeys(name for name in every if name is not None))


def columns_of(path: str | Path) -> Columns:
    """What a product file's table [log] says; the usual names where it has none."""
    path = Path(path)
    with toml_file.named("product file", path):
        return columns_in(toml_file.read(path).get("log", {}))


def columns_in(given: object) -> Columns:
    """The columns that a table [log], or a mapping with its keys, names."""
    table: dict[str, Any] = toml_file.table("[log]", given)
    toml_file.check_keys("[log]", table, (), [each.name for each in fields(Columns)])
    return Columns(**table)


def _there(name: str, role: str, names: Sequence[str]) -> str:
    if name not in names:
        raise InvalidInput(f"the log must have a column {name!r} for its {role}, got {checks.shown(list(names))}")
    return name
