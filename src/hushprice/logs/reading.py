"""Reading a log again and again: every pass sees the same rows, and says how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hushprice.logs.rows import Log, LogRows

Progress = Callable[[str, int], None]  # what is read for, and how many rows of the log so far


def silent(task: str, rows: int) -> None:
    """Progress that nobody watches."""


@dataclass(frozen=True)
class Reader:
    """A log, and who watches its passes."""

    log: Log
    progress: Progress = silent

    def rows(self, task: str) -> Iterator[LogRows]:
        """All blocks of all parts that hold a row."""
        read = 0
        for part in range(self.log.partitions):
            for rows in self.log.blocks(part):
                if len(rows.prices) > 0:
                    yield rows
                    read += len(rows.prices)
                    self.progress(task, read)
