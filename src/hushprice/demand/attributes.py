"""Kinds of customer attributes, and how a value of each becomes entries in [-1, 1].

Where `unknown` is OTHER, a level nobody declared and a value that is missing (absent, None, NaN) have entries too:

>>> Number(name="age", low=18, high=98, flag_missing=True).encode(None)
[0.0, 1.0]
>>> Category(name="region", levels=("south", "north", "other")).encode("mars", OTHER)
[0.0, 1.0]

A value of the wrong type is refused all the same: it is more likely a mixed-up field than a customer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.types import FloatArray

REFUSE, OTHER = "refuse", "other"  # what is done about unknown levels and missing values
OTHER_LEVEL = "other"


@dataclass(frozen=True, kw_only=True, slots=True)
class Number:
    """A number with public bounds; [low, high] goes to [-1, 1] along a straight line, and a missing one to 0.

    `flag_missing` says that it may be missing, and adds an entry that is 1 where it is.
    """

    kind: ClassVar[str] = "number"
    name: str
    low: float
    high: float
    flag_missing: bool = False

    def __post_init__(self) -> None:
        check_names("attribute names", self.name)
        for bound in ("low", "high"):
            value = getattr(self, bound)
            checks.finite(**{f"{bound} of {self.name!r}": value})
            object.__setattr__(self, bound, float(value))
        if not 0 < self.high - self.low < math.inf:  # an infinite width would send every value to -1
            raise InvalidInput(
                f"low of {self.name!r} must be below high, a finite width apart, got [{self.low}, {self.high}]"
            )
        if not isinstance(self.flag_missing, bool):
            raise InvalidInput(
                f"flag_missing of {self.name!r} must be true or false, got {checks.shown(self.flag_missing)}"
            )

    @property
    def entries(self) -> tuple[str, ...]:
        """What each entry stands for."""
        return (self.name, f"{self.name}=missing") if self.flag_missing else (self.name,)

    def encode(self, value: object, unknown: str = REFUSE) -> list[float]:
        """The clipped value on [-1, 1]; both ends are exact."""
        if is_missing(value) and (self.flag_missing or unknown == OTHER):
            return [0.0, 1.0][: len(self.entries)]
        checks.finite(**{repr(self.name): value})  # type: ignore[arg-type]
        inside = min(max(float(value), self.low), self.high)  # type: ignore[arg-type]
        return [2.0 * ((inside - self.low) / (self.high - self.low)) - 1.0, 0.0][: len(self.entries)]

    def encode_column(self, values: Any, unknown: str = REFUSE) -> FloatArray:
        """Many values at once, (count, entries)."""
        if values.dtype.kind == "O":
            return _one_by_one(self, values, unknown)
        if values.dtype.kind not in "iuf":
            raise InvalidInput(f"column {self.name!r} must hold finite numbers")
        missing = np.isnan(values)
        if np.isinf(values).any() or (missing.any() and not (self.flag_missing or unknown == OTHER)):
            raise InvalidInput(f"column {self.name!r} must hold finite numbers")
        inside = np.clip(values.astype(np.float64), self.low, self.high)
        entry = np.where(missing, 0.0, 2.0 * ((inside - self.low) / (self.high - self.low)) - 1.0)
        return np.column_stack([entry, missing][: len(self.entries)]).astype(np.float64)


@dataclass(frozen=True, kw_only=True, slots=True)
class Category:
    """One of a public list of levels, as a 0/1 entry for every level but the first.

    The first level is the base: it encodes as zeros, and a feature map with an intercept then carries it. An entry for
    it too would repeat the intercept, and the demand parameter would not be identified.
    An unknown level, where that has a price, is the level "other" if it is declared, and otherwise the base.
    """

    kind: ClassVar[str] = "category"
    name: str
    levels: tuple[str, ...]

    def __post_init__(self) -> None:
        check_names("attribute names", self.name)
        object.__setattr__(self, "levels", items(f"levels of {self.name!r}", self.levels, at_least=2))
        check_names(f"levels of {self.name!r}", *self.levels)

    @property
    def entries(self) -> tuple[str, ...]:
        """What each entry stands for."""
        return tuple(f"{self.name}={level}" for level in self.levels[1:])

    def encode(self, value: object, unknown: str = REFUSE) -> list[float]:
        """The indicators of the levels after the base."""
        if unknown == OTHER and (is_missing(value) or (isinstance(value, str) and value not in self.levels)):
            value = self._other
        if not (isinstance(value, str) and value in self.levels):
            raise InvalidInput(f"{self.name!r} must be one of {checks.shown(self.levels)}, got {checks.shown(value)}")
        return [float(value == level) for level in self.levels[1:]]

    def encode_column(self, values: Any, unknown: str = REFUSE) -> FloatArray:
        """Many values at once, (count, levels - 1)."""
        if values.dtype.kind == "O":
            return _one_by_one(self, values, unknown)
        if unknown == OTHER:
            different, which = np.unique(values, return_inverse=True)
            return _one_by_one(self, different, unknown)[which]
        refused = ~np.isin(values, self.levels)
        if refused.any():
            levels = checks.shown(self.levels)
            raise InvalidInput(f"column {self.name!r} must be one of {levels}, got {checks.shown(values[refused][0])}")
        return (values.reshape(-1, 1) == np.array(self.levels[1:], dtype=values.dtype)).astype(np.float64)

    @property
    def _other(self) -> str:
        return OTHER_LEVEL if OTHER_LEVEL in self.levels else self.levels[0]


@dataclass(frozen=True, kw_only=True, slots=True)
class Boolean:
    """A yes or no: True is +1, False is -1, and a missing answer 0."""

    kind: ClassVar[str] = "boolean"
    name: str

    def __post_init__(self) -> None:
        check_names("attribute names", self.name)

    @property
    def entries(self) -> tuple[str, ...]:
        """What each entry stands for."""
        return (self.name,)

    def encode(self, value: object, unknown: str = REFUSE) -> list[float]:
        """+1 or -1; 0 and 1 are refused, because a number here is as likely a mixed-up field as a flag."""
        if unknown == OTHER and is_missing(value):
            return [0.0]
        if not isinstance(value, (bool, np.bool_)):
            raise InvalidInput(f"{self.name!r} must be True or False, got {checks.shown(value)}")
        return [1.0 if value else -1.0]

    def encode_column(self, values: Any, unknown: str = REFUSE) -> FloatArray:
        """Many values at once, (count, 1)."""
        if values.dtype.kind == "O":
            return _one_by_one(self, values, unknown)
        if values.dtype.kind != "b":
            raise InvalidInput(f"column {self.name!r} must hold True and False, got {checks.shown(values[:1])}")
        return np.where(values, 1.0, -1.0).reshape(-1, 1)


Attribute: TypeAlias = Number | Category | Boolean


def _one_by_one(attribute: Attribute, values: Any, unknown: str) -> FloatArray:
    """A column of mixed values, such as texts and None."""
    rows = [attribute.encode(value, unknown) for value in values]
    return np.array(rows, dtype=np.float64).reshape(-1, len(attribute.entries))


def is_missing(value: object) -> bool:
    """None, or a number that is none (NaN), which is how tables say the same."""
    return value is None or (isinstance(value, (float, np.floating)) and math.isnan(value))


def items(label: str, value: Any, at_least: int) -> tuple[Any, ...]:
    """A list of at least so many, as a tuple."""
    if not isinstance(value, (list, tuple)) or len(value) < at_least:  # not any iterable: a str is one too
        raise InvalidInput(f"{label} must be a list of at least {at_least}, got {checks.shown(value)}")
    return tuple(value)


def check_names(label: str, *names: str) -> None:
    """Refuse names that are empty, no strings, or not distinct."""
    for name in names:
        if type(name) is not str or not name:  # not a subclass: a str Enum formats as something else
            raise InvalidInput(f"{label} must be non-empty strings, got {checks.shown(name)}")
    if len(set(names)) < len(names):
        raise InvalidInput(f"{label} must be distinct, got {max(names, key=names.count)!r} twice")
