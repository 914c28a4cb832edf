"""At most so many rows of every customer, all of them side by side: what protection of people, not of rows, rests on.

Rows are spilled to a private temporary folder, into files by customer, so that memory does not grow with the log. A
customer's first rows are kept, in the log's order, whatever they hold. So two logs that differ in one customer's rows
differ, once bounded, in at most `most` rows (docs/proofs/log_schema.md, section 1).
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.logs.encoding import BLOCK
from hushprice.logs.rows import Log, LogRows
from hushprice.types import BoolArray, FloatArray, IntArray

PER_FILE = 1 << 20  # rows, about
MOST_FILES = 512  # what a process may have open
_NOBODY = -1  # no process has this number
_UNKNOWN = 64  # files, where a log does not say how many rows it has


def bounded(log: Log, *, most: int, folder: str | Path | None = None) -> Log:
    """The log with at most `most` rows a customer; itself where it has no customers, and each row is somebody else.

    A partition holds whole customers, and so does a block: their rows are neighbours. `folder` is where to spill, by
    default the system's temporary one; it is private to this user, and removed when the log is no longer needed.
    """
    checks.whole(1, most=most)
    checks.within(1, BLOCK, most=most)
    for partition in range(log.partitions):
        for rows in log.blocks(partition):
            return log if rows.customers is None else BoundedLog(log, most, folder)
    return log


class BoundedLog:
    """A log by customer, read once and kept in files until `close`, or until nobody holds it."""

    def __init__(self, log: Log, most: int, folder: str | Path | None) -> None:
        self.log, self.most = log, most
        rows = getattr(log, "rows", _UNKNOWN * PER_FILE)
        self.partitions: int = min(MOST_FILES, max(1, -(-rows // PER_FILE)))
        self._folder = tempfile.mkdtemp(prefix="hushprice-log-", dir=folder)  # readable by its owner alone
        self._remove = weakref.finalize(self, _removed, self._folder, os.getpid())
        self._contexts = 0
        self._chances = False
        self.left_out: dict[int, int] = {}  # rows beyond the bound, by partition: raw data, for the operator alone
        try:
            self._spill()
            for partition in range(self.partitions):
                self._bound(partition)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Remove the files."""
        self._remove()

    @property
    def identity(self) -> list[Any] | None:
        """As of the log it was made of."""
        inner = getattr(self.log, "identity", None)
        return None if inner is None else [inner, "bounded", self.most]

    def blocks(self, partition: int) -> Iterator[LogRows]:
        table = np.fromfile(self._file(partition)).reshape(-1, self._width)
        customers = _whole(table, -2)
        start = 0
        while start < len(table):
            end = min(start + BLOCK, len(table))
            if end < len(table):  # not in the middle of a customer, who has at most BLOCK rows
                end = int(np.searchsorted(customers, customers[end], side="left"))
            part = table[start:end]
            yield LogRows(
                contexts=np.asfortranarray(part[:, : self._contexts]),
                prices=part[:, self._contexts].copy(),
                demands=part[:, self._contexts + 1].copy(),
                customers=customers[start:end],
                propensities=part[:, self._contexts + 2].copy() if self._chances else None,
                first=int(_whole(part, -1)[0]),
            )
            start = end

    def _spill(self) -> None:
        """One pass: every row into the file of its customer."""
        files = [open(self._file(number), "wb") for number in range(self.partitions)]  # noqa: SIM115
        try:
            for partition in range(self.log.partitions):
                for rows in self.log.blocks(partition):
                    if rows.customers is None:
                        raise InvalidInput("every part of the log must have customers, and one has none")
                    self._contexts, self._chances = rows.contexts.shape[1], rows.propensities is not None
                    number = (rows.customers.view(np.uint64) % np.uint64(self.partitions)).astype(np.int64)
                    order = np.argsort(number, kind="stable")
                    table, ends = (
                        _table(rows, rows.customers)[order],
                        np.cumsum(np.bincount(number, minlength=self.partitions)),
                    )
                    for file, part in zip(files, np.split(table, ends[:-1]), strict=True):
                        file.write(part.tobytes())
        finally:
            for file in files:
                file.close()

    def _bound(self, partition: int) -> None:
        """Keep a file's first rows of every customer, side by side: once, as every pass reads them."""
        taken, parts, read = Taken(self.most), [np.empty((0, self._width))], 0
        with open(self._file(partition), "rb") as file:
            while (piece := np.fromfile(file, count=BLOCK * self._width)).size:
                rows = piece.reshape(-1, self._width)
                read += len(rows)
                parts.append(rows[taken.keep(_whole(rows, -2))])
        table = np.concatenate(parts)
        table[np.argsort(_whole(table, -2), kind="stable")].tofile(self._file(partition))
        self.left_out[partition] = read - len(table)

    @property
    def _width(self) -> int:
        return self._contexts + self._chances + 4

    def _file(self, number: int) -> Path:
        return Path(self._folder) / f"{number}.rows"

    def __getstate__(self) -> dict[str, Any]:
        """For another process on this machine; whoever made the files removes them."""
        return {name: value for name, value in self.__dict__.items() if name != "_remove"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._remove = weakref.finalize(self, _removed, "", _NOBODY)


class Taken:
    """How many rows of every customer were kept so far; it never looks at anything but who the customer is."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: IntArray = np.empty(0, dtype=np.int64)  # customers, sorted
        self._counts: IntArray = np.empty(0, dtype=np.int64)

    def keep(self, customers: IntArray) -> BoolArray:
        """Which of the next rows are among their customers' first."""
        unique, inverse, counts = np.unique(customers, return_inverse=True, return_counts=True)
        at = np.searchsorted(self._known, unique)
        seen = np.append(self._known, 0)[at] == unique
        seen[at == self._known.size] = False
        before = np.where(seen, np.append(self._counts, 0)[at], 0)
        rank = np.empty(customers.size, dtype=np.int64)
        rank[np.argsort(inverse, kind="stable")] = np.arange(customers.size) - np.repeat(
            np.cumsum(counts) - counts, counts
        )
        kept: BoolArray = before[inverse] + rank < self._most
        after = np.minimum(before + counts, self._most)
        self._counts[at[seen]] = after[seen]
        self._known = np.insert(self._known, at[~seen], unique[~seen])
        self._counts = np.insert(self._counts, at[~seen], after[~seen])
        return kept


def _table(rows: LogRows, customers: IntArray) -> FloatArray:
    """A block as one table of floats; the last two columns are whole numbers in a float's place."""
    count = len(rows.prices)
    numbers = np.arange(rows.first, rows.first + count, dtype=np.int64)
    columns = [rows.contexts, rows.prices[:, None], rows.demands[:, None]]
    if rows.propensities is not None:
        columns.append(rows.propensities[:, None])
    table = np.empty((count, sum(each.shape[1] for each in columns) + 2))
    np.concatenate(columns, axis=1, out=table[:, :-2])
    whole = table.view(np.int64)
    whole[:, -2], whole[:, -1] = customers, numbers
    return table


def _whole(table: FloatArray, column: int) -> IntArray:
    """A column of whole numbers."""
    return np.ascontiguousarray(table).view(np.int64)[:, column].copy()


def _removed(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # not in a forked process
        shutil.rmtree(folder, ignore_errors=True)
