"""Named customer attributes in, the numeric context x in [-1, 1]^k of the feature maps out.

Bounds and levels are declared, never learned: nothing here takes a data set. A bound read off the data (a minimum, the
regions seen so far) depends on single customers and shapes every later price, so it is itself a release, and one that
no ledger has paid for. Declare what is public knowledge; a number outside its bounds is clipped.

>>> region = Category(name="region", levels=("south", "north", "west"))
>>> schema = Schema(attributes=(Number(name="age", low=18, high=98), region, Boolean(name="member")))
>>> schema.names
('age', 'region=north', 'region=west', 'member')
>>> schema.encode({"age": 78, "region": "north", "member": False}).context.tolist()
[0.5, 1.0, 0.0, -1.0]
>>> schema.encode({"age": 130, "region": "south", "member": True}).clipped
('age',)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from hushprice import checks
from hushprice.demand.attributes import (
    OTHER,
    REFUSE,
    Attribute,
    Boolean,
    Category,
    Number,
    check_names,
    is_missing,
    items,
)
from hushprice.errors import InvalidInput
from hushprice.types import FloatArray

__all__ = ["OTHER", "REFUSE", "Attribute", "Boolean", "Category", "Encoded", "Number", "Schema", "outside"]


class Encoded(NamedTuple):
    """One customer's context and the names of the numbers clipped. Both are raw data: they stay with the operator."""

    context: FloatArray
    clipped: tuple[str, ...]  # publishing how often, or moving a bound because of it, is a release

    def __repr__(self) -> str:
        return "Encoded(<sensitive>)"


@dataclass(frozen=True, kw_only=True, slots=True)
class Schema:
    """The declared attributes, in the order of the context's entries.

    `unknown` says what becomes of a level that is not declared and of a value that is missing: "refuse", or "other", by
    which they are a customer like any other (`attributes.py` says with which entries). None leaves it to whoever takes
    the schema: a `Product` takes it as "other", a pricer of the paper's model, and whatever was stored, as "refuse".
    """

    attributes: tuple[Attribute, ...]
    unknown: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", items("attributes", self.attributes, at_least=1))
        for index, each in enumerate(self.attributes):
            if not isinstance(each, Attribute):
                raise InvalidInput(
                    f"attributes[{index}] must be a Number, Category or Boolean, got {checks.shown(each)}"
                )
        check_names("attribute names", *[each.name for each in self.attributes])
        check_names("entry names", *self.names)  # a Number may be called "region=north"
        if self.unknown is not None:
            checks.one_of((REFUSE, OTHER), unknown=self.unknown)

    @property
    def names(self) -> tuple[str, ...]:
        """What each entry of the context stands for."""
        return tuple(entry for each in self.attributes for entry in each.entries)

    @property
    def dimension(self) -> int:
        """The k of [-1, 1]^k."""
        return len(self.names)

    def encode(self, attributes: Mapping[str, object]) -> Encoded:
        """One customer's context. Numbers out of bounds are clipped and named; anything else amiss is refused."""
        may_lack = [each.name for each in self.attributes if self.may_lack(each)]
        values = _fields("attributes", attributes, [each.name for each in self.attributes], optional=may_lack)
        context: list[float] = []
        clipped: list[str] = []
        for each in self.attributes:
            value = values.get(each.name)
            context += each.encode(value, self.unknown or REFUSE)
            if outside(each, value):
                clipped.append(each.name)
        return Encoded(np.array(context), tuple(clipped))

    def encode_columns(self, columns: Mapping[str, Any], count: int) -> FloatArray:
        """The contexts of `count` customers, (count, k), from one column a name; a value may be missing, no column."""
        names = [each.name for each in self.attributes]
        values = _fields("columns", columns, names)
        for name in names:
            if len(values[name]) != count:
                raise InvalidInput(f"column {name!r} must have {count} rows, got {len(values[name])}")
        unknown = self.unknown or REFUSE
        parts = [each.encode_column(np.asarray(values[each.name]), unknown) for each in self.attributes]
        return np.concatenate(parts, axis=1)

    def may_lack(self, attribute: Attribute) -> bool:
        """May a customer come without this attribute?"""
        return self.unknown == OTHER or (isinstance(attribute, Number) and attribute.flag_missing)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types, for a config or a saved pricer; what is as ever is left out."""
        listed = [{"kind": each.kind, **asdict(each)} for each in self.attributes]
        for each in listed:
            if not each.get("flag_missing", True):
                del each["flag_missing"]
        plain = [{k: list(v) if isinstance(v, tuple) else v for k, v in one.items()} for one in listed]
        return {"attributes": plain} if self.unknown is None else {"attributes": plain, "unknown": self.unknown}

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Schema:
        """The schema that `to_dict` wrote; an unknown key is refused, because it may be a misspelt bound."""
        fields = _fields("schema", data, ["attributes", "unknown"], optional=["unknown"])
        listed = items("attributes", fields["attributes"], at_least=1)
        attributes = tuple(_attribute(f"attributes[{index}]", each) for index, each in enumerate(listed))
        return cls(attributes=attributes, unknown=fields.get("unknown"))


def outside(attribute: Attribute, value: Any) -> bool:
    """Was this value, which could be encoded, clipped?"""
    if not isinstance(attribute, Number) or is_missing(value):
        return False
    return not attribute.low <= float(value) <= attribute.high


def _attribute(label: str, data: Any) -> Attribute:
    kind = data.get("kind") if isinstance(data, Mapping) else None
    for each, keys, optional in (
        (Number, ["name", "low", "high", "flag_missing"], ["flag_missing"]),
        (Category, ["name", "levels"], []),
        (Boolean, ["name"], []),
    ):
        if kind == each.kind:
            fields = _fields(label, data, ["kind", *keys], optional=optional)
            return each(**{key: value for key, value in fields.items() if key != "kind"})
    raise InvalidInput(f"{label} must have the kind number, category or boolean, got {checks.shown(kind)}")


def _fields(label: str, data: Any, declared: list[str], optional: list[str] | None = None) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise InvalidInput(f"{label} must be a mapping of names to values, got a {type(data).__name__}")
    for name in (*data, *declared):
        if name not in declared:  # its value is not shown: nobody declared what it may hold
            raise InvalidInput(f"{label} has the unknown field {checks.shown(name)}")
        if name not in data and name not in (optional or ()):
            raise InvalidInput(f"{label} lacks the field {name!r}")
    return data
