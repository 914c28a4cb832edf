"""Sentences about rows, computed from them."""

from __future__ import annotations

from collections.abc import Sequence

from hushprice.research.experiments.experiment import BEST_FIXED, PRIVATE, RANDOM, Contender
from hushprice.research.experiments.rows import FAR, ReproducedEntry


def match_count(rows: Sequence[ReproducedEntry], contender: Contender, which: str) -> list[str]:
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
    lines = _beats(rows, BEST_FIXED, "the best fixed price")
    fixed = _means(rows, BEST_FIXED)
    compared = [row for row in rows if row.entry.contender == PRIVATE[0] and row.entry.paper is not None]
    if compared:
        wins = sum(row.entry.paper.value < fixed[_market(row)] for row in compared if row.entry.paper is not None)
        lines.append(f"The paper's printed numbers: below our best fixed price in {wins} of {len(compared)} cells.")
    return lines


def beats_random(rows: Sequence[ReproducedEntry]) -> list[str]:
    """How often each private policy loses less than uniformly random prices."""
    return _beats(rows, RANDOM, "random prices")


def _beats(rows: Sequence[ReproducedEntry], yardstick: Contender, name: str) -> list[str]:
    mark = _means(rows, yardstick)
    lines = []
    for contender in PRIVATE:
        own = [row for row in rows if row.entry.contender == contender and _market(row) in mark]
        if own:
            wins = sum(row.mean < mark[_market(row)] for row in own)
            lines.append(f"{contender.name}: loses less than {name} in {wins} of {len(own)} cells.")
    return lines


def _means(rows: Sequence[ReproducedEntry], contender: Contender) -> dict[tuple[int, int], float]:
    return {_market(row): row.mean for row in rows if row.entry.contender == contender}


def _market(row: ReproducedEntry) -> tuple[int, int]:
    return row.entry.setting.horizon, row.entry.setting.dimension
