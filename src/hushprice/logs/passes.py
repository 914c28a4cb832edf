"""A pass over a log: whole numbers of every block, added up exactly, so that it does not matter where they were added.

`add` turns a block into whole numbers. Their sums are exact at any size, and addition of whole numbers can be done in
any order: a pass gives the same numbers, to the last digit, serially, in several processes and on a cluster, and when
a part of it had to be done again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.logs.rows import Log, LogRows
from hushprice.types import AnyArray

Add: TypeAlias = Callable[[LogRows], "Sequence[int] | AnyArray"]
Progress: TypeAlias = Callable[[int, int], None]  # partitions done, partitions in all


def run_pass(log: Log, add: Add, size: int, *, progress: Progress | None = None) -> list[int]:
    """The sums of add(rows), `size` whole numbers, over all blocks of the log. Sums are raw data.

    >>> from hushprice.logs.read import open_log
    """
    checks.whole(0, size=size)
    total = [0] * size
    for partition in range(log.partitions):
        total = _plus(total, sums_of(log, add, size, partition))
        if progress is not None:
            progress(partition + 1, log.partitions)
    return total


def sums_of(log: Log, add: Add, size: int, partition: int) -> list[int]:
    """The sums over one partition."""
    total = [0] * size
    for rows in log.blocks(partition):
        total = _plus(total, _whole(add(rows), size))
    return total


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


def _plus(ours: list[int], others: list[int]) -> list[int]:
    return [a + b for a, b in zip(ours, others, strict=True)]
