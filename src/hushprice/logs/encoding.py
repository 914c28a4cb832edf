"""From a table's columns to a product's numbers, a chunk at a time, with what was amiss counted field by field.

Numbers outside declared bounds are clipped. A row is bad where a field holds what no customer can have: no finite
price, an unknown outcome, a value of the wrong type, or none where one is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.logs import fields
from hushprice.logs.columns import LogColumns
from hushprice.logs.digest import digests
from hushprice.logs.rows import LogRows
from hushprice.logs.sources import Chunk
from hushprice.product import Product

if TYPE_CHECKING:
    import polars

BLOCK = 1 << 16  # rows of a block at most: what mechanisms/exact_sums.py adds in 64 bits


@dataclass(frozen=True, kw_only=True)
class ReadCounts:
    """What reading found. These are raw data: they stay with the operator."""

    rows: int = 0
    clipped: Mapping[str, int] = field(default_factory=dict)  # values outside declared bounds, by column
    skipped: Mapping[str, int] = field(default_factory=dict)  # bad rows, by the first column that is bad

    def __add__(self, other: ReadCounts) -> ReadCounts:
        return ReadCounts(
            rows=self.rows + other.rows,
            clipped=_added(self.clipped, other.clipped),
            skipped=_added(self.skipped, other.skipped),
        )

    def lines(self) -> list[str]:
        """For the operator alone, and labelled so."""
        found = [f"{self.rows:,} rows read"]
        for what, counts in (("clipped", self.clipped), ("skipped", self.skipped)):
            found += [f"{count:,} {what} for {name!r}" for name, count in counts.items() if count]
        return [f"exact, for the operator alone: {line}" for line in found]


class Encoder:
    """The rows of one table's chunks in a product's numbers."""

    def __init__(
        self, product: Product, columns: LogColumns, types: Mapping[str, Any], *, secret: bytes, skip: bool = False
    ) -> None:
        self._secret, self._skip = secret, skip
        self._customers, self._chances = columns.customer is not None, columns.propensity is not None
        described = _described(product, columns, types)
        self._fields = [
            *described,
            fields.price(columns.price, types[columns.price], product),
            fields.outcome(columns.outcome, types[columns.outcome], product.most),
        ]
        if columns.customer is not None:
            self._fields.append(fields.customer(columns.customer, types[columns.customer]))
        if columns.propensity is not None:
            self._fields.append(fields.propensity(columns.propensity, types[columns.propensity]))
        self._entries = [f"v{at}" for at in range(sum(len(each.values) for each in described))]
        self._z, self._y, *self._others = (f"v{len(self._entries) + at}" for at in range(4))
        self._doubted = [each for each in self._fields if each.bad is not None]
        self._bad = [f"bad{at}" for at in range(len(self._doubted))]
        self._first = [first for each in self._fields for first in each.first]
        self._expressions = self._named()

    def _named(self) -> list[polars.Expr]:
        values = [value for each in self._fields for value in each.values]
        named = [value.alias(f"v{at}") for at, value in enumerate(values)]
        named += [
            each.bad.alias(name) for each, name in zip(self._doubted, self._bad, strict=True) if each.bad is not None
        ]
        return named + [
            each.clipped.fill_null(False).alias(f"clipped{at}")
            for at, each in enumerate(self._fields)
            if each.clipped is not None
        ]

    def blocks(self, chunk: Chunk, counted: list[ReadCounts]) -> Iterator[LogRows]:
        """The chunk's good rows in blocks; what was amiss in a block is appended to `counted` first."""
        for start in range(0, chunk.frame.height, BLOCK):  # columns of so many stay in a processor's own memory
            rows = self._block(Chunk(chunk.first + start, chunk.frame.slice(start, BLOCK)), counted)
            if len(rows.prices):
                yield rows

    def _block(self, chunk: Chunk, counted: list[ReadCounts]) -> LogRows:
        import polars

        encoded = chunk.frame.with_columns(self._first).select(self._expressions)
        if encoded.height != chunk.frame.height:  # expressions of literals alone give one row
            raise InvalidInput("the log's columns could not be read row by row")
        skipped: dict[str, int] = {}
        if encoded.select(polars.any_horizontal(self._bad).any()).item():
            flags = np.asarray(encoded.select(self._bad).to_numpy())
            bad = np.asarray(flags.any(axis=1))
            first = flags[bad].argmax(axis=1)
            if not self._skip:
                self._refuse(chunk, int(np.flatnonzero(bad)[0]), self._doubted[int(first[0])])
            for at, count in zip(*np.unique(first, return_counts=True), strict=True):
                skipped[self._doubted[at].column] = int(count)
            encoded = encoded.filter(~bad)
        counted.append(ReadCounts(rows=chunk.frame.height, clipped=self._clipped(encoded), skipped=skipped))
        return self._rows(encoded, chunk.first)

    def _clipped(self, encoded: polars.DataFrame) -> dict[str, int]:
        return {
            each.column: int(encoded[f"clipped{at}"].sum())
            for at, each in enumerate(self._fields)
            if each.clipped is not None
        }

    def _rows(self, encoded: polars.DataFrame, first: int) -> LogRows:
        others = [encoded[name] for name in self._others[: self._customers + self._chances]]
        return LogRows(
            contexts=encoded.select(self._entries).to_numpy(order="fortran")
            if self._entries
            else np.empty((encoded.height, 0)),
            prices=encoded[self._z].to_numpy(),
            demands=encoded[self._y].to_numpy(),
            customers=digests(others[0], self._secret) if self._customers else None,
            propensities=others[-1].to_numpy() if self._chances else None,
            first=first,
        )

    def _refuse(self, chunk: Chunk, row: int, each: fields.Field) -> NoReturn:
        got = checks.shown(chunk.frame[row, each.column])
        raise InvalidInput(f"row {chunk.first + row + 1} of the log: {each.column!r} must be {each.rule}, got {got}")


def _described(product: Product, columns: LogColumns, types: Mapping[str, Any]) -> list[fields.Field]:
    if product.schema is None:
        return [fields.entry(column, types[column]) for column in columns.described]
    return [
        fields.attribute(each, column, types[column], product.schema.unknown)
        for each, column in zip(product.schema.attributes, columns.described, strict=True)
    ]


def _added(ours: Mapping[str, int], others: Mapping[str, int]) -> dict[str, int]:
    return {name: ours.get(name, 0) + others.get(name, 0) for name in (*ours, *others)}
