"""Counts of a table's rows for a proposal: raw ones, held in memory, and the noisy ones that may leave it.

Raw counts come from a sample that never depends on what a row holds: every so-manieth row, or, where there is a
customer key, every so-manieth customer and at most so many rows of each. Noisy ones are charged before noise is drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from hushprice.logs import fields
from hushprice.logs.bounded import Taken
from hushprice.logs.digest import digests
from hushprice.logs.sources import Source
from hushprice.logs.table_cells import EDGES, QUANTITIES, cells_of
from hushprice.noise import NoiseSource
from hushprice.numerics import tape
from hushprice.privacy.events import RowCounts
from hushprice.privacy.ledger import Ledger
from hushprice.types import FloatArray, IntArray

if TYPE_CHECKING:
    import polars

SAMPLE = 1 << 20  # rows, about; so memory does not grow with the table, nor with the number of texts it has


@dataclass
class RawCounts:
    """Exact counts of the sample. Sensitive: nothing but `Asker` reads them."""

    numbers: dict[str, IntArray] = field(default_factory=dict)  # by column, in EDGES' cells
    outcome: IntArray = field(default_factory=lambda: np.zeros(QUANTITIES.size + 3, dtype=np.int64))
    texts: dict[str, Counter[str]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return "RawCounts(<sensitive>)"


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is to be counted: columns by how."""

    numbers: Sequence[str]
    texts: Sequence[str]
    outcome: str | None
    customer: str | None

    @property
    def columns(self) -> list[str]:
        every = [*self.numbers, *self.texts, self.outcome, self.customer]
        return list(dict.fromkeys(name for name in every if name is not None))


def stride_of(rows: int) -> int:
    """Of how many rows, or customers, one is in the sample. The number of rows of a table is public."""
    return max(1, -(-rows // SAMPLE))


def counted(source: Source, wanted: Wanted, most: int, secret: bytes) -> RawCounts:
    """The sample's exact counts, in one pass. Each row adds one to one cell of every column."""
    raw = RawCounts(numbers={name: np.zeros(EDGES.size + 3, dtype=np.int64) for name in wanted.numbers})
    raw.texts = {name: Counter() for name in wanted.texts}
    for frame in _sample(source, wanted, most, secret):
        for name in wanted.numbers:
            raw.numbers[name] += cells_of(name, frame.schema[name], frame, EDGES)
        if wanted.outcome is not None:
            kind = frame.schema[wanted.outcome]
            raw.outcome += cells_of(wanted.outcome, kind, frame, QUANTITIES, truths=True)
        for name in wanted.texts:
            _count_texts(frame[name], raw.texts[name])
    return raw


def _sample(source: Source, wanted: Wanted, most: int, secret: bytes) -> Iterator[polars.DataFrame]:
    stride, taken = stride_of(source.rows), Taken(most)
    for partition in range(source.partitions):
        for chunk in source.chunks(partition, wanted.columns):
            if wanted.customer is None:
                yield chunk.frame.gather_every(stride, offset=-chunk.first % stride)
                continue
            known = fields.customer(wanted.customer, chunk.frame.schema[wanted.customer])
            frame = (
                chunk.frame if known.bad is None else chunk.frame.filter(~known.bad)
            )  # whose row it is nobody knows: in no sample
            customers = digests(frame.select(known.values[0].alias("who"))["who"], secret)
            chosen = (customers.view(np.uint64) // np.uint64(2**32)) % np.uint64(stride) == 0
            frame = frame.filter(chosen)
            yield frame.filter(taken.keep(customers[chosen]))


def _count_texts(cells: polars.Series, counts: Counter[str]) -> None:
    import polars

    found = cells.cast(polars.String).drop_nulls().value_counts(name="rows")
    for text, rows in found.iter_rows():
        if text:
            counts[text] += rows


class Asker:
    """Noisy counts, each paid for first. What it answers may be shown to anybody."""

    def __init__(self, *, ledger: Ledger, cells: RowCounts, texts: RowCounts, source: NoiseSource) -> None:
        self.ledger = ledger
        self._cells, self._texts = cells, texts
        self._source = source
        self._asked = 0

    def cells(self, counts: IntArray) -> FloatArray:
        """The counts of public cells."""
        return self._paid(self._cells, counts)

    def texts(self, counts: Counter[str]) -> dict[str, float]:
        """The texts whose noisy counts pass the threshold, most frequent first; no other text is ever shown."""
        names = sorted(counts)
        noisy = self._paid(self._texts, np.array([counts[name] for name in names], dtype=np.int64))
        passed = {name: float(each) for name, each in zip(names, noisy, strict=True) if each > self._threshold}
        return dict(sorted(passed.items(), key=lambda pair: -pair[1]))

    @property
    def _threshold(self) -> float:
        return self._texts.threshold if self._texts.threshold is not None else np.inf

    def _paid(self, event: RowCounts, counts: IntArray) -> FloatArray:
        self.ledger = self.ledger.spend(event)  # before noise is drawn: a refusal means that nothing happened
        self._asked += 1
        return self._source.add(counts.astype(np.float64), event.noise, tape.OUTPUT_NOISE, self._asked)
