"""Sentences about rows, computed from them."""

from __future__ import annotations

from collections.abc import Sequence

from hushprice.research.experiments.experiment import BEST_FIXED, PRIVATE, RANDOM, Contender
from hushprice.research.experiments.rows import FAR, ReproducedEntry


def matched(rows: Sequence[ReproducedEntry], contender: Contender, which: str) -> list[str]:
    """How many of a contender's numbers are within FAR standard errors of the paper's."""
    compared = [row for row in rows if row.entry.contender == contender and row.matches is not None]
    if not compared:
        return []
    close = sum(row.matches is True for row in compared)
    cells = f"{len(compared)} cells {which}".rstrip()
    return [
        f"{contender.name}: {close} of {cells} within {FAR:g} standard errors of the paper's number, or its rounding."
    ]


def beats_the_best_fixed_price(rows: Sequence[ReproducedEntry]) -> list[str]:
    """How often each private policy, and the paper's own numbers, lose less than the best single price."""
    fixed = {_place(row): row.mean for row in rows if row.entry.contender == BEST_FIXED}
    lines = []
    for contender in PRIVATE:
        own = [row for row in rows if row.entry.contender == contender and _place(row) in fixed]
        if own:
            wins = sum(row.mean < fixed[_place(row)] for row in own)
            lines.append(f"{contender.name}: loses less than the best fixed price in {wins} of {len(own)} cells.")
    compared = [row for row in rows if row.entry.contender == PRIVATE[0] and row.entry.paper is not None]
    if compared:
        wins = sum(row.entry.paper.value < fixed[_place(row)] for row in compared if row.entry.paper is not None)
        lines.append(f"The paper's printed numbers: below our best fixed price in {wins} of {len(compared)} cells.")
    return lines


def beats_random(rows: Sequence[ReproducedEntry]) -> list[str]:
    """How often each private policy loses less than uniformly random prices."""
    random = {_place(row): row.mean for row in rows if row.entry.contender == RANDOM}
    lines = []
    for contender in PRIVATE:
        own = [row for row in rows if row.entry.contender == contender and _place(row) in random]
        if own:
            wins = sum(row.mean < random[_place(row)] for row in own)
            lines.append(f"{contender.name}: loses less than random prices in {wins} of {len(own)} cells.")
    return lines


def _place(row: ReproducedEntry) -> tuple[int, int]:
    return row.entry.setting.horizon, row.entry.setting.dimension
