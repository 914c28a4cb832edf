"""Where learning does not pay: few customers, little budget, many attributes."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from hushprice.demand.families import Logistic
from hushprice.simulation.market import Market, paper_market
from newton.common import TEST, Row, cell, markdown, mean_and_error, random_market, shown

HORIZONS = (10**3, 10**4, 10**5)
EPSILONS = (0.02, 0.1, 1.0)
ATTRIBUTES = (1, 4, 9, 19)
SHOWN = {"paper": (1, 4), "random": (1, 19)}  # attributes in the table
TRIALS = 4
REFERENCE = 0.5
LARGEST_PAPER = 9  # attributes of the paper's instance beyond which its theta* has no last entry left


def markets_of(kind: str, contexts: int) -> list[Market]:
    """Twenty-four of them. Random ones react to price enough (theta_p >= 0.6, a large slope) that 1 is seldom best."""
    if kind == "paper":
        return [paper_market(contexts + 1)] * len(TEST)
    demand = Logistic(slope=4.0 * math.sqrt((contexts + 1) / 2))
    return [random_market(seed, features="main", contexts=contexts, demand=demand, least=0.6) for seed in TEST]


def measure() -> list[Row]:
    """One row a kind of market, a number of attributes and a horizon."""
    rows = []
    for kind, contexts in itertools.product(("paper", "random"), ATTRIBUTES):
        if kind == "paper" and contexts > LARGEST_PAPER:
            continue
        markets = markets_of(kind, contexts)
        for horizon in HORIZONS:
            row: Row = {"kind": kind, "contexts": contexts, "horizon": horizon, "ours": {}}
            for name, price in (("fixed", None), ("stay", REFERENCE)):
                row[name] = regrets("fixed", 0.0, horizon, markets, price=price)
            for eps in EPSILONS:
                row["ours"][f"{eps:g}"] = regrets("noisy-newton", eps, horizon, markets)
            rows.append(row)
            print(line(row), flush=True)
    return rows


def regrets(policy: str, eps: float, horizon: int, markets: list[Market], **setting: Any) -> list[float]:
    """Mean regret on each market; every market has customers of its own."""
    runs = [cell(policy, eps, horizon, TRIALS, market=each, seed=at, **setting) for at, each in enumerate(markets)]
    return [float(run.regret.mean()) for run in runs]


def verdict(row: Row, eps: float) -> str:
    """Mean regret; s: loses to staying, p: to one price, by more than two errors of the paired difference."""
    ours = np.array(row["ours"][f"{eps:g}"])
    lost = []
    for name, letter in (("stay", "s"), ("fixed", "p")):
        difference, error = mean_and_error(ours - np.array(row[name]))
        if difference > 2 * error:
            lost.append(letter)
    return shown(*mean_and_error(ours)) + (f" [{', '.join(lost)}]" if lost else "")


def line(row: Row) -> list[str]:
    """A row as the table shows it."""
    return [
        row["kind"],
        str(row["contexts"]),
        f"{row['horizon']:,}",
        shown(*mean_and_error(row["stay"])).partition(" ")[0],
        shown(*mean_and_error(row["fixed"])).partition(" ")[0],
        *(verdict(row, eps) for eps in EPSILONS),
    ]


def table(rows: list[Row]) -> str:
    """The Markdown table, without numbers of attributes that say nothing new."""
    heads = ["theta*", "k", "T", f"staying at {REFERENCE}", "best one price"]
    heads += [f"eps = {eps:g}" for eps in EPSILONS]
    return markdown(heads, (line(row) for row in rows if row["contexts"] in SHOWN[row["kind"]]), 3)


def misses(rows: list[Row]) -> list[str]:
    """No target: this section is a map."""
    return []
