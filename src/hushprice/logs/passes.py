"""A pass over a log: whole numbers of every block, added up exactly, so that it does not matter where they were added.

`add` turns a block into whole numbers. Their sums are exact at any size, and addition of whole numbers can be done in
any order: a pass gives the same numbers, to the last digit, serially, in several processes and on a cluster, and when
a part of it had to be done again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.logs.encoding import ReadCounts
from hushprice.logs.rows import Log, LogRows
from hushprice.types import AnyArray

Add: TypeAlias = Callable[[LogRows], "Sequence[int] | AnyArray"]
Progress: TypeAlias = Callable[[int, int], None]  # partitions done, partitions in all
SERIAL, PROCESSES, RAY = "serial", "processes", "ray"
EXECUTORS = (SERIAL, PROCESSES, RAY)


class Part(NamedTuple):
    """What a partition adds, and what reading it found. Both are raw data."""

    partition: int
    sums: list[int]
    counts: ReadCounts | None

    def __repr__(self) -> str:
        return "Part(<sensitive>)"


class PassExecutor(Protocol):
    """Where partitions are read."""

    def run(self, log: Log, add: Add, size: int, partitions: Sequence[int]) -> Iterator[Part]:
        """The parts, in any order, each once."""
        ...


def run_pass(
    log: Log,
    add: Add,
    size: int,
    *,
    executor: str | PassExecutor = SERIAL,
    workers: int | None = None,
    address: str | None = None,
    resume: str | Path | None = None,
    progress: Progress | None = None,
) -> list[int]:
    """The sums of add(rows), `size` whole numbers, over all blocks of the log. Sums are raw data.

    `executor` is "serial", "processes" (on this machine, `workers` of them) or "ray" (a cluster, at `address`); beyond
    the first, log and `add` are sent to other processes. Parts whose worker is lost are read again. Finished parts are
    kept in the folder `resume`, which holds raw data, so that a pass that was stopped goes on where it was.

    >>> import polars
    >>> from hushprice.logs.read import open_log
    >>> from hushprice.product import Product
    >>> product = Product(floor=20, ceiling=30, reference_price=25, conversion=0.1)
    >>> log = open_log(polars.DataFrame({"price": [24, 25, 26], "bought": [1, 0, 1]}), product=product)
    >>> run_pass(log, lambda rows: [len(rows.prices), int(rows.demands.sum())], 2)
    [3, 2]
    """
    checks.whole(0, size=size)
    kept = None if resume is None else _kept_parts(Path(resume), log, add, size)
    done: dict[int, Part] = {} if kept is None else kept.finished(range(log.partitions))
    total = [0] * size
    for part in done.values():
        total = _taken(total, part, log)
    missing = [partition for partition in range(log.partitions) if partition not in done]
    count = len(done)
    for part in _executor(executor, workers, address).run(log, add, size, missing):
        if kept is not None:
            kept.keep(part)
        total = _taken(total, part, log)
        count += 1
        if progress is not None:
            progress(count, log.partitions)
    return total


def part_of(log: Log, add: Add, size: int, partition: int) -> Part:
    """One partition's sums."""
    total = [0] * size
    for rows in log.blocks(partition):
        total = _plus(total, _whole(add(rows), size))
    return Part(partition, total, getattr(log, "read", {}).get(partition))


class SerialParts:
    """One partition after the other, here."""

    def run(self, log: Log, add: Add, size: int, partitions: Sequence[int]) -> Iterator[Part]:
        for partition in partitions:
            yield part_of(log, add, size, partition)


def _executor(executor: str | PassExecutor, workers: int | None, address: str | None) -> PassExecutor:
    if not isinstance(executor, str):
        return executor
    checks.one_of(EXECUTORS, executor=executor)
    if executor == PROCESSES:
        from hushprice.logs.process_parts import ProcessParts

        return ProcessParts(workers)
    if executor == RAY:
        from hushprice.logs.ray_parts import RayParts

        return RayParts(address)
    return SerialParts()


def _kept_parts(folder: Path, log: Log, add: Add, size: int) -> Any:
    from hushprice.logs.stored_parts import StoredParts

    return StoredParts(folder, log, add, size)


def _taken(total: list[int], part: Part, log: Log) -> list[int]:
    """The sums with one more part's; what its reader found is noted where the log keeps that."""
    read = getattr(log, "read", None)
    if part.counts is not None and read is not None:
        read[part.partition] = part.counts
    return _plus(total, part.sums)


def _whole(given: Sequence[int] | AnyArray, size: int) -> list[int]:
    """What `add` gave, refused where it is not `size` whole numbers: a float would depend on the order of addition."""
    if isinstance(given, np.ndarray):
        if given.dtype.kind not in "iuO":
            raise InvalidInput(f"add must give whole numbers, got an array of {given.dtype}")
        given = given.ravel().tolist()
    if len(given) != size:
        raise InvalidInput(f"add must give {size} whole numbers, got {len(given)}")
    for each in given:
        if isinstance(each, bool) or not isinstance(each, (int, np.integer)):
            raise InvalidInput(f"add must give whole numbers, got {checks.shown(each)}")
    return [int(each) for each in given]


def _plus(ours: list[int], others: Iterable[int]) -> list[int]:
    return [a + b for a, b in zip(ours, others, strict=True)]
