"""Tables of databases: "sqlite:///file.db?table=visits" and "postgresql://host/shop?table=visits".

`order=column` says in which order rows are read; without it SQLite's rows come by their number and PostgreSQL's as they
lie, the same way each time while nobody changes them. A name with dots is a table in a schema.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from hushprice import checks, extras
from hushprice.errors import InvalidInput, first_line
from hushprice.logs.sources import Chunk, Source, stamps

if TYPE_CHECKING:
    import polars

_AT_A_TIME = 1 << 16  # rows fetched
_SQLITE, _POSTGRES = "sqlite", ("postgresql", "postgres")


def database_source(address: str) -> Source:
    """The table that an address names."""
    parts = urlsplit(address)
    asked = dict(parse_qsl(parts.query, keep_blank_values=True))
    table, order = asked.pop("table", ""), asked.pop("order", "")
    if parts.scheme not in (_SQLITE, *_POSTGRES):
        raise InvalidInput(f"log must begin with sqlite:// or postgresql://, got {checks.shown(parts.scheme + '://')}")
    if not table:
        raise InvalidInput(f"log {parts.scheme}:// must name its table, as in ?table=visits, and names none")
    if parts.scheme == _SQLITE:
        if asked:
            raise InvalidInput(f"log sqlite:// may say its table and order, and also says {', '.join(asked)}")
        return SqliteSource(Path(unquote(parts.path[1:])), table, order)
    extras.require("psycopg")
    return PostgresSource(urlunsplit(parts._replace(query=urlencode(asked))), table, order)


@dataclass(eq=False)
class SqliteSource:
    """A table of an SQLite file, as one part. What a cell holds is not bound to its column's type."""

    file: Path
    table: str
    order: str = ""
    declared: bool = False
    types: dict[str, Any] = field(init=False)
    partitions: int = 1

    def __post_init__(self) -> None:
        if not self.file.is_file():
            raise InvalidInput(f"log {str(self.file)!r} must be an SQLite file, and is none")
        with self._reader() as reader:
            columns = reader.execute("SELECT name, type FROM pragma_table_info(?)", (self.table,)).fetchall()
            if not columns:
                raise InvalidInput(f"log {self.name!r} has no table {self.table!r}")
            self.types = {name: _kind_of(declared) for name, declared in columns}
        if self.order and self.order not in self.types:  # SQLite would take the name for a text, and order by that
            raise InvalidInput(f"log {self.name!r} has no column {self.order!r} to be ordered by")

    @property
    def name(self) -> str:
        return str(self.file)

    @property
    def rows(self) -> int:
        with self._reader() as reader:
            return int(reader.execute(f"SELECT count(*) FROM {_quoted(self.table)}").fetchone()[0])

    @property
    def identity(self) -> list[Any]:
        return [stamps([self.file]), self.table, self.order]

    def chunks(self, partition: int, columns: Sequence[str]) -> Iterator[Chunk]:
        listed = ", ".join(_quoted(each) for each in columns)
        ordered = f" ORDER BY {_quoted(self.order)}, rowid" if self.order else ""
        with self._reader() as reader:
            cursor = reader.execute(f"SELECT {listed} FROM {_quoted(self.table)}{ordered}")
            first = 0
            while rows := cursor.fetchmany(_AT_A_TIME):
                yield Chunk(first, _framed(rows, columns, self.types))
                first += len(rows)

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        """A connection that cannot write."""
        try:
            with closing(sqlite3.connect(f"{self.file.resolve().as_uri()}?mode=ro", uri=True)) as reader:
                yield reader
        except sqlite3.Error as problem:
            raise InvalidInput(f"log {self.name!r} cannot be read: {first_line(problem)}") from None


@dataclass(eq=False)
class PostgresSource:
    """A table, or a view, of a PostgreSQL database, as one part, in a transaction that cannot write."""

    address: str = field(repr=False)  # it may hold a password
    table: str
    order: str = ""
    declared: bool = True
    types: dict[str, Any] = field(init=False)
    partitions: int = 1
    identity: None = None  # nothing says that a table is as it was

    def __post_init__(self) -> None:
        with self._reader() as reader:
            found = reader.execute(f"SELECT * FROM {_dotted(self.table)} LIMIT 0").description
            names = [each.name for each in found]
            oids = [each.type_code for each in found]
            self.types = {
                name: _kind_of(reader.adapters.types[oid].name) for name, oid in zip(names, oids, strict=True)
            }

    @property
    def name(self) -> str:
        return self.table

    @property
    def rows(self) -> int:
        with self._reader() as reader:
            return int(reader.execute(f"SELECT count(*) FROM {_dotted(self.table)}").fetchone()[0])

    def chunks(self, partition: int, columns: Sequence[str]) -> Iterator[Chunk]:
        listed = ", ".join(_quoted(each) for each in columns)
        ordered = f" ORDER BY {_quoted(self.order)}" if self.order else ""
        with self._reader() as reader, reader.cursor(name="log") as cursor:
            cursor.execute(f"SELECT {listed} FROM {_dotted(self.table)}{ordered}")
            first = 0
            while rows := cursor.fetchmany(_AT_A_TIME):
                yield Chunk(first, _framed(rows, columns, self.types))
                first += len(rows)

    @contextmanager
    def _reader(self) -> Iterator[Any]:
        import psycopg

        try:
            with psycopg.connect(self.address) as reader:
                reader.read_only = True
                reader.execute("SET synchronize_seqscans = off")  # else a reader joins another's scan in the middle
                yield reader
        except psycopg.Error as problem:
            raise InvalidInput(f"log table {self.table!r} cannot be read: {first_line(problem)}") from None


def _kind_of(declared: str) -> Any:
    """Polars' type for a column's declared one; text where that says little, to be parsed cell by cell."""
    import polars

    word = declared.lower()
    if "bool" in word:
        return polars.Boolean
    if "int" in word and "interval" not in word and "point" not in word:
        return polars.Int64
    if any(part in word for part in ("real", "doub", "float", "numeric", "decimal")):
        return polars.Float64
    if any(part in word for part in ("date", "time")):
        return polars.Datetime
    return polars.String


def _framed(rows: list[tuple[Any, ...]], columns: Sequence[str], types: dict[str, Any]) -> polars.DataFrame:
    """Rows as columns of the declared types; a column with a cell of another type as text, which is parsed later."""
    import polars

    series = []
    for name, cells in zip(columns, zip(*rows, strict=True), strict=True):
        series.append(_column(name, list(cells), types[name]))
    return polars.DataFrame(series)


def _column(name: str, cells: list[Any], kind: Any) -> polars.Series:
    import polars

    if kind == polars.Datetime:
        return polars.Series(name, [None if cell is None else str(cell) for cell in cells], dtype=polars.String)
    if kind == polars.Float64:
        cells = [float(cell) if isinstance(cell, (int, Decimal)) else cell for cell in cells]
    try:
        return polars.Series(name, cells, dtype=kind, strict=True)
    except (TypeError, OverflowError, polars.exceptions.PolarsError):
        return polars.Series(name, [None if cell is None else str(cell) for cell in cells], dtype=polars.String)


def _quoted(name: str) -> str:
    if "\0" in name:
        raise InvalidInput(f"log's names must not hold a zero byte, got {checks.shown(name)}")
    return '"' + name.replace('"', '""') + '"'


def _dotted(name: str) -> str:
    return ".".join(_quoted(each) for each in name.split("."))
