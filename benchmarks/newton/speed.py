"""Periods a second of noisy-newton and of the paper's method, one core, timed in turn."""

from __future__ import annotations

import statistics

from newton.common import Row, markdown, paper_cell

DIMENSIONS = (2, 3, 5, 10)
HORIZON, REPEATS = 10**6, 5


def measure() -> list[Row]:
    """One row a dimension. A slow spell of the machine meets both."""
    rows = []
    for dimension in DIMENSIONS:
        ours, paper = [], []
        for seed in range(REPEATS):
            one = paper_cell("noisy-newton", 1.0, HORIZON, 1, dimension, workers=1, seed=seed)
            other = paper_cell("paper", 1.0, HORIZON, 1, dimension, workers=1, seed=seed, calibration="tight")
            ours.append(HORIZON / one.seconds / 1e6)
            paper.append(HORIZON / other.seconds / 1e6)
        rows.append({"dimension": dimension, "ours": ours, "paper": paper})
        print(line(rows[-1]), flush=True)
    return rows


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
    heads = ["d", "noisy-newton, million a second", "paper tight, million a second", "ratio (of five)"]
    return markdown(heads, map(line, rows), 1)


def misses(rows: list[Row]) -> list[str]:
    """No target."""
    return []
