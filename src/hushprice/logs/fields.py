"""How each field of a log is read: its entries as Polars expressions, when it is bad, when it was clipped.

Text is parsed, since CSV files and some databases hold nothing else: numbers, and yes and no in the usual words.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hushprice.demand.attributes import OTHER_LEVEL
from hushprice.demand.schema import OTHER, Attribute, Boolean, Category, Number
from hushprice.errors import InvalidInput
from hushprice.product import Product

if TYPE_CHECKING:
    import polars

YES, NO = ("true", "yes", "1"), ("false", "no", "0")  # whatever their case, as shops/customers.py reads them
_FEW = 8  # levels
_SLACK = 1e-9  # of a reach: a price at floor or ceiling is inside, whatever a float makes of it


@dataclass(frozen=True)
class Field:
    """One column as it is read."""

    column: str
    rule: str  # what a value must be
    values: tuple[polars.Expr, ...]  # entries, each a float; the customer's key as it is
    bad: polars.Expr | None  # None: never
    clipped: polars.Expr | None = None
    first: tuple[polars.Expr, ...] = ()  # columns that the others need, made before them


def price(column: str, kind: Any, product: Product) -> Field:
    """Relative to today's, in units of one reach."""
    relative = (number(column, kind) - product.reference_price) / product.reach
    return Field(
        column,
        "a finite number",
        (relative.clip(-1.0, 1.0),),
        _not(relative.is_finite()),
        relative.abs() > 1.0 + _SLACK,
    )


def outcome(column: str, kind: Any, most: float) -> Field:
    """Bought or not, or how many, as a share of the most."""
    import polars

    if kind == polars.Boolean:
        bought = polars.col(column)
        return Field(column, "true or false", (bought.cast(polars.Float64) / most,), bought.is_null())
    amount = number(column, kind, truths=True)
    known = amount.is_finite() & (amount >= 0.0)
    rule = "a quantity at or above 0"
    if most == 1.0:
        known &= (amount == 0.0) | (amount >= 1.0)
        rule = "true or false, 1 or 0"
    return Field(column, rule, (polars.min_horizontal(amount, most) / most,), _not(known), amount > most)


def propensity(column: str, kind: Any) -> Field:
    """The density, or the probability, that the price was drawn with."""
    value = number(column, kind)
    return Field(column, "a positive number", (value,), _not(value.is_finite() & (value > 0.0)))


def customer(column: str, kind: Any) -> Field:
    """A customer's key as it is; a float that is whole, which is what a table with gaps makes of one, as an integer."""
    import polars

    key = polars.col(column)
    if kind.is_float():
        whole = key.cast(polars.Int64, strict=False)
        return Field(column, "a customer's key", (whole,), _not(key == whole))
    if not (kind.is_integer() or kind in (polars.String, polars.Categorical, polars.Enum)):
        raise InvalidInput(f"column {column!r} must hold customers' keys, texts or whole numbers, got {kind}")
    text = key.cast(polars.String) if not kind.is_integer() else key
    empty = key.is_null() if kind.is_integer() else key.is_null() | (text.str.len_bytes() == 0)
    return Field(column, "a customer's key", (text,), empty)


def entry(column: str, kind: Any) -> Field:
    """An entry of a context as the table has it."""
    value = number(column, kind)
    return Field(column, "a finite number", (value.clip(-1.0, 1.0),), _not(value.is_finite()), value.abs() > 1.0)


def attribute(each: Attribute, column: str, kind: Any, unknown: str | None) -> Field:
    """An attribute's entries, those of demand/attributes.py up to a float's last digit."""
    lenient = unknown == OTHER
    if isinstance(each, Number):
        return _measured(each, column, kind, lenient)
    if isinstance(each, Category):
        return _chosen(each, column, kind, lenient)
    return _answered(each, column, kind, lenient)


def _measured(each: Number, column: str, kind: Any, lenient: bool) -> Field:
    value = number(column, kind)
    # Polars multiplies by the inverse where it is asked to divide: a last digit may differ.
    inside = ((value - each.low) * (2.0 / (each.high - each.low)) - 1.0).clip(-1.0, 1.0)
    outside = (value < each.low) | ((value > each.high) & value.is_not_nan())
    gap = value.is_null() if _empty_is_null(kind) else empty(column, kind)
    if not kind.is_integer():
        gap = gap | value.is_nan().fill_null(False)
    values = (
        (_when(value.is_finite(), inside, 0.0), _float(gap))
        if each.flag_missing
        else (_when(value.is_finite(), inside, 0.0),)
    )
    if not (lenient or each.flag_missing):
        return Field(column, "a finite number", values, _not(value.is_finite()), outside)
    bad = None
    if _empty_is_null(kind):
        bad = None if kind.is_integer() else (value.abs() == math.inf).fill_null(False)  # faster than is_infinite
    else:  # text that is no number
        bad = _not(value.is_finite()) & ~gap
    return Field(column, "a finite number or missing", values, bad, outside)


def _chosen(each: Category, column: str, kind: Any, lenient: bool) -> Field:
    import polars

    if not (kind in (polars.String, polars.Categorical, polars.Enum) or kind.is_integer()):
        raise InvalidInput(f"column {column!r} must hold levels of {each.name!r}, texts or whole numbers, got {kind}")
    first, at_level, unknown = _looked_up(each, column) if len(each.levels) > _FEW else _compared(each, column)
    shown = [_float(known) for known in at_level[1:]]
    if not lenient:
        return Field(column, f"one of {', '.join(each.levels)}", tuple(shown), unknown, first=first)
    if OTHER_LEVEL in each.levels[1:]:
        at = each.levels.index(OTHER_LEVEL)
        shown[at - 1] = _float(at_level[at] | unknown)
    return Field(column, "a level", tuple(shown), None, first=first)


def _compared(each: Category, column: str) -> tuple[tuple[polars.Expr, ...], list[polars.Expr], polars.Expr]:
    """Columns to be made first, whether a cell is at each level, and at none: with few, comparing is the fastest."""
    import polars

    text = polars.col(column).cast(polars.String)
    names = [f"\0{column}\0{at}" for at in range(len(each.levels))]  # of no column
    first = [text.eq_missing(polars.lit(level)).alias(name) for level, name in zip(each.levels, names, strict=True)]
    at_level = [polars.col(name) for name in names]
    return tuple(first), at_level, ~polars.any_horizontal(at_level)


def _looked_up(each: Category, column: str) -> tuple[tuple[polars.Expr, ...], list[polars.Expr], polars.Expr]:
    """What `_compared` returns, for many levels: a text is looked up once, and its number compared with each."""
    import polars

    levels, name = polars.Enum(list(each.levels)), f"\0{column}"  # the name of no column
    found = polars.col(column).cast(polars.String).cast(levels, strict=False).to_physical().alias(name)
    code = polars.col(name)
    return (found,), [code.eq_missing(at) for at in range(len(each.levels))], code.is_null()


def _answered(each: Boolean, column: str, kind: Any, lenient: bool) -> Field:
    import polars

    if kind == polars.Boolean:
        said = polars.col(column)
        entry = polars.when(said).then(1.0).when(said.not_()).then(-1.0).otherwise(0.0)
        return Field(column, "true or false", (entry,), None if lenient else said.is_null())
    value = number(column, kind, truths=True)
    entry = (value * 2.0 - 1.0).fill_null(0.0)
    entry = entry.fill_nan(0.0)
    missing = empty(column, kind) | value.is_nan().fill_null(False)
    known = ((value == 0.0) | (value == 1.0)).fill_null(False)
    return Field(column, "true or false", (entry,), ~known & ~missing if lenient else ~known)


def number(column: str, kind: Any, *, truths: bool = False) -> polars.Expr:
    """The column as floats: null where a cell is empty or holds no number."""
    import polars

    cell = polars.col(column)
    if kind in (polars.String, polars.Categorical, polars.Enum):
        text = cell.cast(polars.String).str.strip_chars()
        parsed = text.cast(polars.Float64, strict=False)
        if truths:
            word = text.str.to_lowercase()
            parsed = polars.when(word.is_in(YES)).then(1.0).when(word.is_in(NO)).then(0.0).otherwise(parsed)
        return parsed
    if kind.is_numeric() or (truths and kind == polars.Boolean) or kind == polars.Null:
        return cell.cast(polars.Float64)
    wanted = "numbers, or true and false" if truths else "numbers"
    raise InvalidInput(f"column {column!r} must hold {wanted}, got {kind}")


def empty(column: str, kind: Any) -> polars.Expr:
    """Is there nothing in the cell?"""
    import polars

    cell = polars.col(column)
    if not _empty_is_null(kind):
        return cell.is_null() | (cell.cast(polars.String).str.strip_chars().str.len_bytes() == 0).fill_null(True)
    return cell.is_null()


def _empty_is_null(kind: Any) -> bool:
    """Is a cell of this type empty only where it is null? Text may be blank."""
    import polars

    return kind not in (polars.String, polars.Categorical, polars.Enum)


def _not(known: polars.Expr) -> polars.Expr:
    return ~known.fill_null(False)


def _when(condition: polars.Expr, then: polars.Expr, otherwise: float) -> polars.Expr:
    import polars

    return polars.when(condition).then(then).otherwise(otherwise)


def _float(flag: polars.Expr) -> polars.Expr:
    import polars

    return polars.when(flag).then(1.0).otherwise(0.0)  # much faster than a cast
