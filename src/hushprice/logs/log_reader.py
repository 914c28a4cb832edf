"""Reading a log again and again: every pass sees the same rows, and says how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hushprice.logs.rows import Log, LogRows

Progress = Callable[[int, int], None]  # rows read so far in this pass, and rows in all


def silent(rows: int, whole: int) -> None:
    """Progress that nobody watches."""


@dataclass(frozen=True)
class LogReader:
    """A log, and who watches its passes."""

    log: Log
    progress: Progress = silent

    def rows(self) -> Iterator[LogRows]:
        """All blocks of all parts that hold a row."""
        read, whole = 0, int(getattr(self.log, "rows", 0))
        for part in range(self.log.partitions):
            for rows in self.log.blocks(part):
                if len(rows.prices) > 0:
                    yield rows
                    read += len(rows.prices)
                    self.progress(read, max(read, whole))
