"""A log as everything behind its reader sees it: blocks of rows in the product's own numbers.

A row is sensitive, as a record is. Whatever reads one adds noise and charges a ledger before anything leaves, or says
that its answer is exact and for the operator alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from hushprice.types import FloatArray, IntArray


class LogRows(NamedTuple):
    """A block of rows, held to the product's bounds."""

    contexts: FloatArray  # (count, k), every entry in [-1, 1]
    prices: FloatArray  # relative, in [-1, 1]: (price - today's) / reach
    demands: FloatArray  # quantity / most, in [0, 1]
    customers: IntArray | None  # a 64-bit digest of the customer's key; None: every row is a customer of its own
    propensities: FloatArray | None  # density, or probability, of the price that was charged, as the log kept it
    first: int  # number of the first row in the whole log, from 0

    def __repr__(self) -> str:
        return "LogRows(<sensitive>)"


class Log(Protocol):
    """A log that can be read more than once, in constant memory. Partitions never depend on a row's content."""

    @property
    def partitions(self) -> int:
        """How many parts there are; reading them one after the other is reading the log."""
        ...

    def blocks(self, partition: int) -> Iterator[LogRows]:
        """The rows of one part, block by block, in the same order every time."""
        ...
