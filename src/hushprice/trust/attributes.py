"""A customer's attributes as the entries of a context, on the customer's own device.

As demand/schema.py encodes them where a level that nobody declared, and a value that is missing, have entries too. What
cannot be read counts as missing and nothing is refused: that no report comes would tell of the customer.

>>> declared({"attributes": [{"kind": "number", "name": "age", "low": 18, "high": 98}]})
(Attribute(kind='number', name='age', low=18.0, high=98.0, flag_missing=False, levels=()),)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hushprice.errors import InvalidInput

_OTHER = "other"


class Attribute(NamedTuple):
    """One that a product declares: public."""

    kind: str
    name: str
    low: float = -1.0
    high: float = 1.0
    flag_missing: bool = False
    levels: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        """Can it be encoded for every customer?"""
        if self.kind == "category":
            return len(self.levels) > 1
        return self.kind == "boolean" or (self.kind == "number" and 0.0 < self.high - self.low < math.inf)

    def encode(self, value: object) -> list[float]:
        """Entries in [-1, 1], whatever the value is."""
        if self.kind == "number":
            given, entries = _number(value), 1 + self.flag_missing
            if given is None:
                return [0.0, 1.0][:entries]
            inside = min(max(given, self.low), self.high)
            return [2.0 * ((inside - self.low) / (self.high - self.low)) - 1.0, 0.0][:entries]
        if self.kind == "boolean":
            return [1.0 if value is True else -1.0 if value is False else 0.0]
        level = value if isinstance(value, str) and value in self.levels else _OTHER
        return [float(level == each) for each in self.levels[1:]]


def declared(schema: Mapping[str, Any]) -> tuple[Attribute, ...]:
    """What a product declares, as its belief says it; refused for every customer alike."""
    try:
        found = tuple(_attribute(**each) for each in schema["attributes"])
        if all(each.sound for each in found):
            return found
    except (TypeError, ValueError, KeyError):
        pass
    raise InvalidInput("schema must be of numbers with bounds, categories with levels, and booleans")


def encode(attributes: Sequence[Attribute], customer: Mapping[str, object]) -> list[float]:
    """A customer's context."""
    return [entry for each in attributes for entry in each.encode(customer.get(each.name))]


def _attribute(
    *, kind: str, name: str, low: float = -1.0, high: float = 1.0, flag_missing: bool = False, levels: Any = ()
) -> Attribute:
    return Attribute(str(kind), str(name), float(low), float(high), bool(flag_missing), tuple(map(str, levels)))


def _number(value: object) -> float | None:
    """A finite number; None where there is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        given = float(value)
    except OverflowError:
        return None
    return given if math.isfinite(given) else None
