"""The start: other reference prices on the paper's instance, whose best price happens to be near 0.5."""

from __future__ import annotations

from newton.common import Row, markdown, mean_and_error, paper_cell, shown

PRICES = (0.3, 0.5, 0.7, 1.0)
TRIALS = {10**5: 100, 10**6: 30}


def measure() -> list[Row]:
    """One row a cell."""
    rows = []
    for horizon, trials in TRIALS.items():
        for dimension in (2, 3):
            for eps in (0.1, 1.0):
                row: Row = {"horizon": horizon, "dimension": dimension, "eps": eps, "ours": [], "start": []}
                for price in PRICES:
                    run = paper_cell("noisy-newton", eps, horizon, trials, dimension, reference_price=price)
                    row["ours"].append(mean_and_error(run.regret))
                    row["start"].append(mean_and_error(run.start)[0])
                rows.append(row)
                print(line(row), flush=True)
    return rows


def line(row: Row) -> list[str]:
    """A row as the table shows it."""
    return [f"{row['horizon']:,}", str(row["dimension"]), f"{row['eps']:g}", *(shown(*each) for each in row["ours"])]


def table(rows: list[Row]) -> str:
    """The Markdown table, of the shorter horizon: the longer one says the same."""
    short = [line(row)[1:] for row in rows if row["horizon"] == min(TRIALS)]
    return markdown(["d", "eps", *(f"reference {price:g}" for price in PRICES)], short, 2)


def misses(rows: list[Row]) -> list[str]:
    """No target."""
    return []
