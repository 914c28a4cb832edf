"""Partitions in processes of this machine. A process that is lost loses nothing but time: its parts are read again."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from hushprice import checks
from hushprice.errors import HushpriceError
from hushprice.logs.passes import Add, Part, part_of
from hushprice.logs.rows import Log

LOSSES = 20  # times that a process may be lost before a pass gives up,
IDLE = 3  # and in a row without a part done: then none can be started
_AHEAD = 2  # parts handed out for each process

_work: tuple[Log, Add, int] | None = None  # of this worker


@dataclass
class ProcessParts:
    """A pool of processes, each of which gets the log once."""

    workers: int | None = None

    def __post_init__(self) -> None:
        if self.workers is not None:
            checks.whole(1, workers=self.workers)

    def run(self, log: Log, add: Add, size: int, partitions: Sequence[int]) -> Iterator[Part]:
        missing, losses, idle = list(partitions), 0, 0
        while missing:
            left = len(missing)
            try:
                for part in self._pooled(log, add, size, missing):
                    missing.remove(part.partition)
                    yield part
            except BrokenProcessPool:  # whoever was lost, and the others with it
                losses += 1
                idle = idle + 1 if len(missing) == left else 0
                if losses > LOSSES or idle >= IDLE:
                    raise HushpriceError(
                        f"{len(missing)} parts of the log could not be read: their process died"
                    ) from None

    def _pooled(self, log: Log, add: Add, size: int, partitions: Sequence[int]) -> Iterator[Part]:
        """Parts as they are finished. A new interpreter each: a fork of one with Polars' threads may hang."""
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            raise HushpriceError(
                "a script that reads a log in processes is itself read by each of them: "
                'call it under `if __name__ == "__main__":`'
            )
        workers = min(self.workers or os.cpu_count() or 1, len(partitions))
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(workers, context, initializer=_begin, initargs=(log, add, size))
        waiting, running = list(reversed(partitions)), set[Future[Part]]()
        try:
            while waiting or running:
                while waiting and len(running) < _AHEAD * workers:
                    running.add(pool.submit(_part, waiting.pop()))
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for each in done:
                    yield each.result()
        finally:  # Ctrl-C, too: what is running ends, what waits is dropped
            pool.shutdown(wait=True, cancel_futures=True)


def _begin(log: Log, add: Add, size: int) -> None:
    """A worker's start. Ctrl-C reaches every process of a terminal: the one that asked decides."""
    global _work
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _work = (log, add, size)


def _part(partition: int) -> Part:
    if _work is None:
        raise HushpriceError("this process was given no log")
    return part_of(*_work, partition)
