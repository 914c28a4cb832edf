"""Tables that can be read more than once, piece by piece: data frames, CSV and Parquet files, folders of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from hushprice.errors import InvalidInput, first_line
from hushprice.logs.csv_rows import check_header, explained

if TYPE_CHECKING:
    import polars

CHUNK = 1 << 18  # rows read at a time
PART = 1 << 22  # rows of one partition, of a table that can be read from anywhere


class Chunk(NamedTuple):
    """Rows as the table has them, and the number of the first in the whole table."""

    first: int
    frame: polars.DataFrame


class Source(Protocol):
    """A table in parts. Where a part begins never depends on what a row holds."""

    @property
    def name(self) -> str: ...
    @property
    def types(self) -> dict[str, Any]:
        """Polars' type of every column; text where the table does not say."""
        ...

    @property
    def declared(self) -> bool:
        """Are types part of the table, rather than of what its cells happen to hold?"""
        ...

    @property
    def partitions(self) -> int: ...
    @property
    def rows(self) -> int:
        """How many there are in all."""
        ...

    @property
    def identity(self) -> list[Any] | None:
        """What changes when the table does, as JSON holds it; None where that cannot be told."""
        ...

    def chunks(self, partition: int, columns: Sequence[str]) -> Iterator[Chunk]: ...


@dataclass(eq=False)
class FrameSource:
    """A data frame in memory."""

    frame: polars.DataFrame
    name: str = "the log"
    declared: bool = True
    identity: None = None

    @property
    def types(self) -> dict[str, Any]:
        return dict(self.frame.schema)

    @property
    def partitions(self) -> int:
        return max(1, -(-self.frame.height // PART))

    @property
    def rows(self) -> int:
        return self.frame.height

    def chunks(self, partition: int, columns: Sequence[str]) -> Iterator[Chunk]:
        wanted = self.frame.select(columns)
        for first, count in _pieces(partition * PART, min((partition + 1) * PART, self.frame.height)):
            yield Chunk(first, wanted.slice(first, count))


@dataclass(eq=False)
class ParquetSource:
    """Parquet files, in the order of their names, each in parts of PART rows."""

    files: tuple[Path, ...]
    name: str
    declared: bool = True
    types: dict[str, Any] = field(init=False)
    _parts: list[tuple[Path, int, int, int]] = field(init=False)  # file, its rows from where to where, first in all

    def __post_init__(self) -> None:
        import polars

        self._parts, total = [], 0
        with readable(self.name):
            self.types = dict(polars.scan_parquet(self.files[0]).collect_schema())
            for file in self.files:
                rows = int(polars.scan_parquet(file).select(polars.len()).collect().item())
                for start in range(0, rows, PART):
                    self._parts.append((file, start, min(start + PART, rows), total + start))
                total += rows
        self._rows = total

    @property
    def partitions(self) -> int:
        return len(self._parts)

    @property
    def rows(self) -> int:
        return self._rows

    @property
    def identity(self) -> list[Any]:
        return stamps(self.files)

    def chunks(self, partition: int, columns: Sequence[str]) -> Iterator[Chunk]:
        import polars

        file, start, end, first = self._parts[partition]
        scan, left = polars.scan_parquet(file).select(columns).slice(start, end - start), end - start
        for frame in _batches(scan, self.name):
            yield Chunk(first + end - start - left, frame)
            left -= frame.height
        if left:
            raise InvalidInput(f"log {self.name!r} changed while it was read: {file.name!r} lost rows")


@dataclass(eq=False)
class CsvSource:
    """Comma-separated files with a header line, in the order of their names; every cell is text until it is parsed."""

    files: tuple[Path, ...]
    name: str
    declared: bool = False
    types: dict[str, Any] = field(init=False)
    _counts: dict[int, int] = field(init=False, default_factory=dict)  # rows of a file, once somebody asked

    def __post_init__(self) -> None:
        with explained(self.files[0]), readable(self.name):
            self.types = dict(self._scan(self.files[0]).collect_schema())
            for file in self.files:
                check_header(file, self.name)

    @property
    def partitions(self) -> int:
        return len(self.files)

    @property
    def rows(self) -> int:
        return sum(self._count(at) for at in range(len(self.files)))

    @property
    def identity(self) -> list[Any]:
        return stamps(self.files)

    def chunks(self, partition: int, columns: Sequence[str]) -> Iterator[Chunk]:
        first = sum(self._count(before) for before in range(partition))
        with explained(self.files[partition]):
            # All columns are parsed: asked for a few, Polars takes a row with a comma too many, one cell off.
            for frame in _batches(self._scan(self.files[partition]), self.name):
                with readable(self.name):
                    wanted = frame.select(columns)
                yield Chunk(first, wanted)
                first += frame.height

    def _count(self, at: int) -> int:
        import polars

        if at not in self._counts:
            with explained(self.files[at]), readable(self.name):
                self._counts[at] = int(self._scan(self.files[at]).select(polars.len()).collect().item())
        return self._counts[at]

    def _scan(self, file: Path) -> polars.LazyFrame:
        import polars

        return polars.scan_csv(file, infer_schema=False, try_parse_dates=False)


def stamps(files: Sequence[Path]) -> list[Any]:
    """Name, size and time of change of every file."""
    return [[str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns] for file in files]


@contextmanager
def readable(name: str) -> Iterator[None]:
    """Inside, a table that cannot be read is one line that begins with its name."""
    import polars

    try:
        yield
    except OSError as problem:
        raise InvalidInput(f"log {name!r} cannot be read: {problem.strerror or first_line(problem)}") from None
    except polars.exceptions.PolarsError as problem:
        raise InvalidInput(f"log {name!r} cannot be read: {first_line(problem)}") from None


def _batches(scan: polars.LazyFrame, name: str) -> Iterator[polars.DataFrame]:
    """The rows of a scan in their order, piece by piece."""
    batches = scan.collect_batches(chunk_size=CHUNK)
    while True:
        with readable(name):
            frame = next(batches, None)
        if frame is None:
            return
        yield frame


def _pieces(start: int, end: int) -> Iterator[tuple[int, int]]:
    for at in range(start, end, CHUNK):
        yield at, min(CHUNK, end - at)
