"""Who comes to a simulated shop: customers of a file, or whoever the product declares possible."""

from __future__ import annotations

import csv
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hushprice import checks, extras
from hushprice.demand.schema import Boolean, Category, Number, Schema
from hushprice.errors import InvalidInput, first_line
from hushprice.product import Product
from hushprice.types import AnyArray, FloatArray

_TRUE, _FALSE = ("true", "yes", "1"), ("false", "no", "0")


@dataclass(frozen=True, eq=False)
class FiledCustomers:
    """Rows drawn with replacement."""

    rows: FloatArray  # (rows, k) contexts

    def __call__(self, start: int, count: int, rng: np.random.Generator) -> FloatArray:
        return np.asarray(self.rows[rng.integers(0, len(self.rows), count)])


@dataclass(frozen=True)
class DeclaredCustomers:
    """Every attribute uniform over its bounds or levels, and independent of the others."""

    schema: Schema

    def __call__(self, start: int, count: int, rng: np.random.Generator) -> FloatArray:
        columns: dict[str, AnyArray] = {}
        for each in self.schema.attributes:
            if isinstance(each, Number):
                columns[each.name] = rng.uniform(each.low, each.high, count)
            elif isinstance(each, Category):
                columns[each.name] = np.array(each.levels)[rng.integers(0, len(each.levels), count)]
            else:
                columns[each.name] = rng.random(count) < 0.5
        return self.schema.encode_columns(columns, count)


def read_columns(path: Path) -> dict[str, AnyArray]:
    """The columns of a .parquet file, or of a comma-separated one with a header line, in which every cell is text."""
    try:
        if path.suffix == ".parquet":
            return _read_parquet(path)
        with path.open(encoding="utf-8-sig", newline="") as file:
            header, *lines = [line for line in csv.reader(file) if line] or [[]]
    except (OSError, UnicodeDecodeError, csv.Error, ValueError) as problem:
        why = getattr(problem, "strerror", None) or first_line(problem)  # the first is without the path
        raise InvalidInput(f"customers {str(path)!r} cannot be read: {why}") from None
    for number, line in enumerate(lines, start=1):
        if len(line) != len(header):
            raise InvalidInput(f"customers {path.name!r} row {number} must have {len(header)} cells, got {len(line)}")
    if not lines:
        raise InvalidInput(f"customers {path.name!r} must have a header line and rows, got no rows")
    if len(set(header)) < len(header):
        raise InvalidInput(
            f"customers {path.name!r} must have distinct columns, got {max(header, key=header.count)!r} twice"
        )
    return {name: np.array(cells, dtype=object) for name, cells in zip(header, zip(*lines, strict=True), strict=True)}


def _read_parquet(path: Path) -> dict[str, AnyArray]:
    extras.require("polars")
    import polars

    try:
        frame = polars.read_parquet(path.read_bytes())
    except polars.exceptions.PolarsError as problem:
        raise ValueError(problem) from None
    if frame.height == 0:
        raise ValueError("it has no rows")
    return {each.name: each.to_numpy() for each in frame}


def contexts_of(product: Product, columns: dict[str, AnyArray], besides: Collection[str] = ()) -> FloatArray:
    """The rows' contexts: by attribute name where the product has a schema, else all columns but `besides` in order."""
    count = len(next(iter(columns.values())))
    if product.schema is not None:
        _check_columns(columns, [each.name for each in product.schema.attributes])
        typed = {each.name: _typed(each, columns[each.name]) for each in product.schema.attributes}
        return product.schema.encode_columns(typed, count)
    names = [name for name in columns if name not in besides]
    if len(names) != product.contexts:
        raise InvalidInput(
            f"customers must have {product.contexts} columns, as contexts says, got {checks.shown(names)}"
        )
    rows = np.column_stack([numbers(columns, name) for name in names]) if names else np.empty((count, 0))
    if not (np.abs(rows) <= 1.0).all():  # NaN fails
        row, column = np.argwhere(~(np.abs(rows) <= 1.0))[0]
        got = float(rows[row, column])
        raise InvalidInput(f"customers row {row + 1}, column {names[column]!r} must lie in [-1, 1], got {got!r}")
    return rows


def numbers(columns: dict[str, AnyArray], name: str) -> FloatArray:
    """A column of finite numbers, whatever it was read from."""
    _check_columns(columns, [name])
    column = columns[name]
    values = _numbers(name, column) if column.dtype.kind == "O" else column.astype(np.float64)
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise InvalidInput(f"customers row {row + 1}, column {name!r} must be a finite number, got {column[row]!r}")
    return values


def sold(product: Product, columns: dict[str, AnyArray], name: str) -> FloatArray:
    """A column of purchases, as 1 and 0; where one may buy several, of quantities, as shares of `most`."""
    if product.most == 1.0:
        return truths(columns, name)
    values = numbers(columns, name)
    if not ((values >= 0.0) & (values <= product.most)).all():
        row = int(np.flatnonzero(~((values >= 0.0) & (values <= product.most)))[0])
        raise InvalidInput(
            f"customers row {row + 1}, column {name!r} must lie in [0, {product.most:g}], got {values[row]:g}"
        )
    return values / product.most


def truths(columns: dict[str, AnyArray], name: str) -> FloatArray:
    """A column of yes and no, as 1 and 0."""
    _check_columns(columns, [name])
    column = columns[name]
    found = column if column.dtype.kind != "O" else _truths(name, column)
    values = np.array([np.nan if each is None else float(each) for each in found])
    if not ((values == 0.0) | (values == 1.0)).all():
        row = int(np.flatnonzero(~((values == 0.0) | (values == 1.0)))[0])
        raise InvalidInput(f"customers row {row + 1}, column {name!r} must be 1 or 0, got {column[row]!r}")
    return values


def _check_columns(columns: dict[str, AnyArray], wanted: Sequence[str]) -> None:
    for name in wanted:
        if name not in columns:
            raise InvalidInput(f"customers must have a column {name!r}, got {checks.shown(list(columns))}")


def _typed(attribute: Number | Category | Boolean, column: AnyArray) -> AnyArray:
    """A column of text as the attribute's type, an empty cell as None; of another type as it is."""
    if column.dtype.kind != "O":
        return column
    if isinstance(attribute, Number):
        return _numbers(attribute.name, column)
    if isinstance(attribute, Boolean):
        return _truths(attribute.name, column)
    return np.array([None if cell == "" else cell for cell in column], dtype=object)


def _numbers(name: str, column: AnyArray) -> FloatArray:
    values = np.empty(len(column))
    for row, cell in enumerate(column):
        try:
            values[row] = np.nan if cell is None or cell == "" else float(cell)
        except (TypeError, ValueError):
            raise InvalidInput(f"customers row {row + 1}, column {name!r} must be a number, got {cell!r}") from None
    return values


def _truths(name: str, column: AnyArray) -> AnyArray:
    values = np.empty(len(column), dtype=object)
    for row, cell in enumerate(column):
        word = cell.strip().lower() if isinstance(cell, str) else cell
        if word in (None, ""):
            values[row] = None
        elif isinstance(word, bool) or word in _TRUE or word in _FALSE:
            values[row] = word is True or word in _TRUE
        else:
            raise InvalidInput(f"customers row {row + 1}, column {name!r} must be true or false, got {cell!r}")
    return values
