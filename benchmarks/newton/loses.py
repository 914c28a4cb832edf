"""Where learning does not pay: few customers, little budget, many attributes."""

from __future__ import annotations

import math

import numpy as np
from newton.common import TEST, Row, cell, markdown, mean_and_error, random_market, shown

from hushprice.demand.families import Logistic

HORIZONS = (10**3, 10**4, 10**5)
EPSILONS = (0.02, 0.1, 1.0)
ATTRIBUTES = (1, 4, 9, 19)
TRIALS = 4
REFERENCE = 0.5


def measure() -> list[Row]:
    """One row a horizon and a number of attributes; the slope is 4 sqrt(d / 2), so that prices in the middle matter."""
    rows = []
    for contexts in ATTRIBUTES:
        demand = Logistic(slope=4.0 * math.sqrt((contexts + 1) / 2))
        markets = [random_market(seed, features="main", contexts=contexts, demand=demand) for seed in TEST]
        for horizon in HORIZONS:
            row: Row = {"contexts": contexts, "horizon": horizon, "ours": {}}
            for name, price in (("fixed", None), ("stay", REFERENCE)):
                runs = [cell("fixed", 0.0, horizon, TRIALS, market=each, price=price) for each in markets]
                row[name] = [float(run.regret.mean()) for run in runs]
            for eps in EPSILONS:
                runs = [cell("noisy-newton", eps, horizon, TRIALS, market=each) for each in markets]
                row["ours"][f"{eps:g}"] = [float(run.regret.mean()) for run in runs]
            rows.append(row)
            print(line(row), flush=True)
    return rows


def verdict(row: Row, eps: float) -> str:
    """Mean regret, and whom it loses to beyond two standard errors of the paired difference."""
    ours = np.array(row["ours"][f"{eps:g}"])
    lost = []
    for name, words in (("stay", "staying"), ("fixed", "one price")):
        difference, error = mean_and_error(ours - np.array(row[name]))
        if difference > 2 * error:
            lost.append(words)
    return shown(*mean_and_error(ours)) + (f", loses to {' and '.join(lost)}" if lost else "")


def line(row: Row) -> list[str]:
    """A row as the table shows it."""
    return [
        str(row["contexts"]),
        f"{row['horizon']:,}",
        shown(*mean_and_error(row["stay"])),
        shown(*mean_and_error(row["fixed"])),
        *(verdict(row, eps) for eps in EPSILONS),
    ]


def table(rows: list[Row]) -> str:
    """The Markdown table."""
    heads = ["k", "T", f"staying at {REFERENCE}", "best one price", *(f"noisy-newton, eps = {eps:g}" for eps in EPSILONS)]
    return markdown(heads, map(line, rows), 2)


def misses(rows: list[Row]) -> list[str]:
    """No target: this section is a map."""
    return []
