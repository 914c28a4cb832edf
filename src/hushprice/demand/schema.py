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

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.types import FloatArray


class Encoded(NamedTuple):
    """One customer's context and the names of the numbers clipped. Both are raw data: they stay with the operator."""

    context: FloatArray
    clipped: tuple[str, ...]  # publishing how often, or moving a bound because of it, is a release

    def __repr__(self) -> str:
        return "Encoded(<sensitive>)"


@dataclass(frozen=True, kw_only=True, slots=True)
class Number:
    """A number with public bounds; [low, high] goes to [-1, 1] along a straight line."""

    kind: ClassVar[str] = "number"
    name: str
    low: float
    high: float

    def __post_init__(self) -> None:
        _check_names("attribute names", self.name)
        for bound in ("low", "high"):
            object.__setattr__(self, bound, _number(f"{bound} of {self.name!r}", getattr(self, bound)))
        if not 0 < self.high - self.low < math.inf:  # an infinite width would send every value to -1
            raise InvalidInput(f"{self.name!r} needs low < high, a finite width apart, got [{self.low}, {self.high}]")

    def encode(self, value: object) -> list[float]:
        """The clipped value on [-1, 1]; both ends are exact."""
        inside = min(max(_number(repr(self.name), value), self.low), self.high)
        return [2.0 * ((inside - self.low) / (self.high - self.low)) - 1.0]

    def encode_column(self, values: Any) -> FloatArray:
        """Many values at once, (count, 1)."""
        if values.dtype.kind not in "iuf" or not np.isfinite(values).all():
            raise InvalidInput(f"column {self.name!r} must hold finite numbers")
        inside = np.clip(values.astype(np.float64), self.low, self.high)
        return (2.0 * ((inside - self.low) / (self.high - self.low)) - 1.0).reshape(-1, 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Category:
    """One of a public list of levels, as a 0/1 entry for every level but the first.

    The first level is the base: it encodes as zeros, and a feature map with an intercept then carries it. An entry for
    it too would repeat the intercept, and the demand parameter would not be identified.
    """

    kind: ClassVar[str] = "category"
    name: str
    levels: tuple[str, ...]

    def __post_init__(self) -> None:
        _check_names("attribute names", self.name)
        object.__setattr__(self, "levels", _items(f"levels of {self.name!r}", self.levels, at_least=2))
        _check_names(f"levels of {self.name!r}", *self.levels)

    def encode(self, value: object) -> list[float]:
        """The indicators of the levels after the base."""
        if not (isinstance(value, str) and value in self.levels):
            raise InvalidInput(f"{self.name!r} must be one of {checks.shown(self.levels)}, got {checks.shown(value)}")
        return [float(value == level) for level in self.levels[1:]]

    def encode_column(self, values: Any) -> FloatArray:
        """Many values at once, (count, levels - 1)."""
        unknown = ~np.isin(values, self.levels)
        if unknown.any():
            levels = checks.shown(self.levels)
            raise InvalidInput(f"column {self.name!r} must be one of {levels}, got {checks.shown(values[unknown][0])}")
        return (values.reshape(-1, 1) == np.array(self.levels[1:], dtype=values.dtype)).astype(np.float64)


@dataclass(frozen=True, kw_only=True, slots=True)
class Boolean:
    """A yes or no: True is +1, False is -1."""

    kind: ClassVar[str] = "boolean"
    name: str

    def __post_init__(self) -> None:
        _check_names("attribute names", self.name)

    def encode(self, value: object) -> list[float]:
        """+1 or -1; 0 and 1 are refused, because a number here is as likely a mixed-up field as a flag."""
        if not isinstance(value, (bool, np.bool_)):
            raise InvalidInput(f"{self.name!r} must be True or False, got {checks.shown(value)}")
        return [1.0 if value else -1.0]

    def encode_column(self, values: Any) -> FloatArray:
        """Many values at once, (count, 1)."""
        if values.dtype.kind != "b":
            raise InvalidInput(f"column {self.name!r} must hold True and False, got {checks.shown(values[:1])}")
        return np.where(values, 1.0, -1.0).reshape(-1, 1)


Attribute: TypeAlias = Number | Category | Boolean


@dataclass(frozen=True, kw_only=True, slots=True)
class Schema:
    """The declared attributes, in the order of the context's entries."""

    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", _items("attributes", self.attributes, at_least=1))
        for index, each in enumerate(self.attributes):
            if not isinstance(each, Attribute):
                raise InvalidInput(
                    f"attributes[{index}] must be a Number, Category or Boolean, got {checks.shown(each)}"
                )
        _check_names("attribute names", *[each.name for each in self.attributes])
        _check_names("entry names", *self.names)  # a Number may be called "region=north"

    @property
    def names(self) -> tuple[str, ...]:
        """What each entry of the context stands for."""
        listed: list[str] = []
        for each in self.attributes:
            levels = each.levels[1:] if isinstance(each, Category) else ()
            listed += [f"{each.name}={level}" for level in levels] or [each.name]
        return tuple(listed)

    @property
    def dimension(self) -> int:
        """The k of [-1, 1]^k."""
        return len(self.names)

    def encode(self, attributes: Mapping[str, object]) -> Encoded:
        """One customer's context. Numbers out of bounds are clipped and named; anything else amiss is refused."""
        values = _fields("attributes", attributes, [each.name for each in self.attributes])
        context = np.array([entry for each in self.attributes for entry in each.encode(values[each.name])])
        numbers = (each for each in self.attributes if isinstance(each, Number))
        return Encoded(context, tuple(n.name for n in numbers if not n.low <= float(values[n.name]) <= n.high))

    def encode_columns(self, columns: Mapping[str, Any], count: int) -> FloatArray:
        """The contexts of `count` customers, (count, k), from one column a name."""
        names = [each.name for each in self.attributes]
        values = _fields("columns", columns, names)
        for name in names:
            if len(values[name]) != count:
                raise InvalidInput(f"column {name!r} must have {count} rows, got {len(values[name])}")
        parts = [each.encode_column(np.asarray(values[each.name])) for each in self.attributes]
        return np.concatenate(parts, axis=1)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types, for a config or a saved pricer."""
        listed = [{"kind": each.kind, **asdict(each)} for each in self.attributes]
        return {"attributes": [{k: list(v) if isinstance(v, tuple) else v for k, v in one.items()} for one in listed]}

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Schema:
        """The schema that `to_dict` wrote; an unknown key is refused, because it may be a misspelt bound."""
        listed = _items("attributes", _fields("schema", data, ["attributes"])["attributes"], at_least=1)
        return cls(attributes=tuple(_attribute(f"attributes[{index}]", each) for index, each in enumerate(listed)))


def _attribute(label: str, data: Any) -> Attribute:
    kind = data.get("kind") if isinstance(data, Mapping) else None
    for each, keys in ((Number, ["name", "low", "high"]), (Category, ["name", "levels"]), (Boolean, ["name"])):
        if kind == each.kind:
            return each(**{key: value for key, value in _fields(label, data, ["kind", *keys]).items() if key != "kind"})
    raise InvalidInput(f"{label} must have the kind number, category or boolean, got {checks.shown(kind)}")


def _fields(label: str, data: Any, declared: list[str]) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise InvalidInput(f"{label} must be a mapping of names to values, got a {type(data).__name__}")
    for name in (*data, *declared):
        if name not in declared:  # its value is not shown: nobody declared what it may hold
            raise InvalidInput(f"{label} has the unknown field {checks.shown(name)}")
        if name not in data:
            raise InvalidInput(f"{label} lacks the field {name!r}")
    return data


def _items(label: str, value: Any, at_least: int) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)) or len(value) < at_least:  # not any iterable: a str is one too
        raise InvalidInput(f"{label} must be a list of at least {at_least}, got {checks.shown(value)}")
    return tuple(value)


def _check_names(label: str, *names: str) -> None:
    for name in names:
        if type(name) is not str or not name:  # not a subclass: a str Enum formats as something else
            raise InvalidInput(f"{label} must be non-empty strings, got {checks.shown(name)}")
    if len(set(names)) < len(names):
        raise InvalidInput(f"{label} must be distinct, got {max(names, key=names.count)!r} twice")


def _number(label: str, value: Any) -> float:
    checks.finite(**{label: value})
    return float(value)
