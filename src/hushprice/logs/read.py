"""Logs from tables: data frames, CSV and Parquet files, folders of them, tables of databases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hushprice import checks, extras
from hushprice.errors import InvalidInput
from hushprice.logs.columns import Columns, LogColumns, columns_in, columns_of
from hushprice.logs.digest import check_key, new_key
from hushprice.logs.encoding import Encoder, ReadCounts
from hushprice.logs.rows import LogRows
from hushprice.logs.sources import CsvSource, FrameSource, ParquetSource, Source
from hushprice.product import Product
from hushprice.product_file import load_product

if TYPE_CHECKING:
    import polars

REFUSE, SKIP = "refuse", "skip"  # what is done about bad rows
_CSV, _PARQUET = (".csv", ".txt"), (".parquet", ".pq")


@dataclass(eq=False)
class TableLog:
    """A table read for a product; it may be read again, and sent to another process."""

    source: Source
    product: Product
    columns: LogColumns
    on_bad: str
    secret: bytes = field(repr=False)
    read: dict[int, ReadCounts] = field(default_factory=dict, repr=False)  # by partition

    def __post_init__(self) -> None:
        self._encoder(self.source.types)  # refuses columns of a type that cannot be read

    @property
    def partitions(self) -> int:
        return self.source.partitions

    @property
    def rows(self) -> int:
        """Rows of the table, good or bad. Neighbours that differ in one row have the same number."""
        return self.source.rows

    def blocks(self, partition: int) -> Iterator[LogRows]:
        encoder, types, counted = self._encoder(self.source.types), self.source.types, [ReadCounts()]
        for chunk in self.source.chunks(partition, self.columns.read):
            if dict(chunk.frame.schema) != types:  # a file, or a database's cells, may hold another type
                types = dict(chunk.frame.schema)
                encoder = self._encoder(types)
            yield from encoder.blocks(chunk, counted)
        self.read[partition] = sum(counted[1:], counted[0])

    @property
    def counts(self) -> ReadCounts:
        """What was clipped and skipped in the partitions read so far: raw data, for the operator alone."""
        return sum(self.read.values(), ReadCounts())

    @property
    def identity(self) -> list[Any] | None:
        """What changes when another log, or the same one in other numbers, is read; None where that cannot be told."""
        table = self.source.identity
        how = [asdict(self.columns), self.on_bad, repr(self.product), self.secret.hex()]
        return None if table is None else [table, *how]

    def _encoder(self, types: Mapping[str, Any]) -> Encoder:
        return Encoder(self.product, self.columns, types, secret=self.secret, skip=self.on_bad == SKIP)


def open_log(
    table: object,
    *,
    product: Product | str | Path,
    columns: Columns | Mapping[str, Any] | None = None,
    on_bad: str = REFUSE,
    key: bytes | None = None,
) -> TableLog:
    """A log that is read in blocks of a product's numbers, as often as one likes and in constant memory.

    `table` is a Polars, pandas or Arrow table, a .csv or .parquet file, a folder of either,
    "sqlite:///file.db?table=visits" or "postgresql://host/shop?table=visits". Which column is which is said by
    `columns`, else by the product file's table [log], else by the usual names (logs/columns.py). A bad row is refused,
    or skipped and counted where on_bad="skip". `key` makes customers' digests the same in another process.

    >>> import polars
    >>> product = Product(floor=20, ceiling=30, reference_price=25, conversion=0.1)
    >>> log = open_log(polars.DataFrame({"price": [25.0, 40.0], "bought": [True, False]}), product=product)
    >>> [(block.prices.tolist(), block.demands.tolist()) for block in log.blocks(0)]
    [([0.0, 1.0], [1.0, 0.0])]
    >>> log.counts.clipped["price"]
    1
    """
    checks.one_of((REFUSE, SKIP), on_bad=on_bad)
    described = product if isinstance(product, Product) else load_product(product)
    if columns is None:
        columns = Columns() if isinstance(product, Product) else columns_of(product)
    elif not isinstance(columns, Columns):
        columns = columns_in(dict(columns))
    source = source_of(table)
    named = columns.of_table(list(source.types), described)
    secret = new_key() if key is None else check_key(key)
    return TableLog(source=source, product=described, columns=named, on_bad=on_bad, secret=secret)


def source_of(table: object) -> Source:
    """Whatever a table can be given as, to be read piece by piece."""
    extras.require("polars")
    if isinstance(table, (str, Path)):
        return _named_source(str(table))
    return FrameSource(_frame_of(table))


def _named_source(name: str) -> Source:
    if "://" in name:
        from hushprice.logs.databases import database_source

        return database_source(name)
    path = Path(name)
    if path.is_dir():
        files = sorted(each for each in path.rglob("*") if each.suffix.lower() in (*_CSV, *_PARQUET))
        kinds = {each.suffix.lower() in _PARQUET for each in files}
        if len(kinds) != 1:
            held = "both" if kinds else "neither"
            raise InvalidInput(f"log {name!r} must be a folder of .parquet or of .csv files, got {held}")
    elif path.is_file():
        files = [path]
    else:
        raise InvalidInput(f"log {name!r} must be a file, a folder or an address, and is none")
    suffix = files[0].suffix.lower()
    if suffix not in (*_CSV, *_PARQUET):
        raise InvalidInput(f"log must end in .csv or .parquet, got {name!r}")
    return ParquetSource(tuple(files), name) if suffix in _PARQUET else CsvSource(tuple(files), name)


def _frame_of(table: Any) -> polars.DataFrame:
    import polars

    if isinstance(table, polars.LazyFrame):
        table = table.collect()
    if isinstance(table, polars.DataFrame):
        return table
    try:
        if type(table).__module__.partition(".")[0] == "pandas":
            return polars.from_pandas(table)
        if hasattr(table, "__arrow_c_stream__"):
            return polars.DataFrame(table)
    except (ImportError, TypeError, ValueError, polars.exceptions.PolarsError) as problem:
        raise InvalidInput(f"log cannot be read as a table: {problem}") from None
    raise InvalidInput(f"log must be a table, a file or an address, got {checks.shown(type(table).__name__)}")
