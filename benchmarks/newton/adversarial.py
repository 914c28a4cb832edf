"""Customers in the worst order: how regret grows with the horizon, with the trigger and the bonus and without."""

from __future__ import annotations

import numpy as np

from hushprice.simulation.market import Market, paper_market
from newton.common import UNIT, Row, cell, interval, markdown

STREAMS = ("late", "blocks", "sorted", "corners")
DIMENSIONS = (3, 5)
HORIZONS = (10**4, 3 * 10**4, 10**5, 3 * 10**5, 10**6)
TRIALS = 24
EPS = 0.5
VARIANTS = {"both": {}, "no trigger": {"trigger": False}, "no bonus": {"bonus": False}}
SHOWN = (2, 4)  # which of the horizons the table shows
TELLING = (("no trigger", "late"), ("no trigger", "blocks"))  # what the table shows of the variants
TARGET = 0.9  # the slope's upper limit stays under this


def market_of(stream: str, dimension: int) -> Market:
    """The paper's demand, the customers in that order."""
    paper = paper_market(dimension)
    return Market(demand=paper.demand, features=paper.features, theta=paper.theta, contexts=stream)


def slope(totals: np.ndarray) -> float:
    """Of log mean cumulative regret against log T; totals is (horizons, trials)."""
    return float(np.polyfit(np.log(HORIZONS), np.log(totals.mean(axis=1)), 1)[0])


def measure() -> list[Row]:
    """One row a stream, a dimension and a variant."""
    rows = []
    for stream in STREAMS:
        for dimension in DIMENSIONS:
            market = market_of(stream, dimension)
            for variant, off in VARIANTS.items():
                runs = [cell("noisy-newton", EPS, horizon, TRIALS, market=market, **off) for horizon in HORIZONS]
                totals = np.array([run.regret * run.horizon for run in runs])
                low, high = interval(lambda picked, totals=totals: slope(totals[:, picked]), TRIALS)
                rows.append(
                    {
                        "stream": stream,
                        "dimension": dimension,
                        "variant": variant,
                        "slope": slope(totals),
                        "interval": [low, high],
                        "regret": [UNIT * float(run.regret.mean()) for run in runs],
                        "releases": float(runs[-1].estimates.mean()),
                    }
                )
                print(line(rows[-1]), flush=True)
    return rows


def line(row: Row) -> list[str]:
    """A row as the table shows it."""
    low, high = row["interval"]
    return [
        row["stream"],
        str(row["dimension"]),
        row["variant"],
        f"{row['slope']:.2f}",
        f"{low:.2f} to {high:.2f}",
        *(f"{row['regret'][at]:.2f}" for at in SHOWN),
    ]


def table(rows: list[Row]) -> str:
    """The Markdown table, without the variants that make no difference."""
    telling = [row for row in rows if row["variant"] == "both" or (row["variant"], row["stream"]) in TELLING]
    lengths = [f"T = {HORIZONS[at]:,}" for at in SHOWN]
    return markdown(["stream", "d", "on", "slope", "95 % interval", *lengths], map(line, telling), 3)


def misses(rows: list[Row]) -> list[str]:
    """Targets not reached, in words."""
    return [
        f"{row['stream']}, d = {row['dimension']}: slope up to {row['interval'][1]:.2f}, target under {TARGET}"
        for row in rows
        if row["variant"] == "both" and not row["interval"][1] < TARGET
    ]
