"""Periods a second of noisy-newton and of the paper's method, one core, in CPU time, in turn."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

from newton.common import Row, markdown, paper_cell

DIMENSIONS = (2, 3, 5, 10)
HORIZON, REPEATS = 10**6, 5
DELTA = 2e-12


def rate(policy: str, dimension: int, seed: int, **setting: str) -> float:
    """Million periods a CPU second of one trial. What is set up once and kept is done before, outside the clock."""
    paper_cell(policy, 1.0, HORIZON // 100, 1, dimension, delta=DELTA, workers=1, **setting)
    started = time.process_time()
    paper_cell(policy, 1.0, HORIZON, 1, dimension, delta=DELTA, workers=1, seed=seed, **setting)
    return HORIZON / (time.process_time() - started) / 1e6


def measure() -> Iterator[Row]:
    """One row a dimension; both policies in turn."""
    for dimension in DIMENSIONS:
        row: Row = {"dimension": dimension, "ours": [], "paper": []}
        for seed in range(REPEATS):
            row["ours"].append(rate("noisy-newton", dimension, seed))
            row["paper"].append(rate("paper", dimension, seed, calibration="tight"))
        print(line(row), flush=True)
        yield row


def line(row: Row) -> list[str]:
    """A row as the table shows it."""
    ratios = [one / other for one, other in zip(row["ours"], row["paper"], strict=True)]
    return [
        str(row["dimension"]),
        *(f"{statistics.median(row[name]):.2f}" for name in ("ours", "paper")),
        f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})",
    ]


def table(rows: list[Row]) -> str:
    """The Markdown table."""
    heads = ["d", "noisy-newton, million a CPU second", "paper tight, million a CPU second", "ratio (of five)"]
    return markdown(heads, map(line, rows), 1)


def misses(rows: list[Row]) -> list[str]:
    """No target."""
    return []
