"""Gaussian and Poisson demand: does it run, and what does noise cost there?"""

from __future__ import annotations

import numpy as np

from hushprice.demand.families import Gaussian, Poisson
from hushprice.demand.protocol import Demand
from newton.common import TEST, Row, cell, interval, markdown, mean_and_error, random_market, shown

EPS, HORIZON, TRIALS = 1.0, 3 * 10**5, 2
SEEDS = TEST[:12]
DEMANDS: dict[str, Demand] = {"gaussian": Gaussian(noise=0.5), "poisson": Poisson(slope=2.0)}
SHAPES = (
    *(("intercept", contexts) for contexts in (0, 2, 8, 18)),
    *(("interactions", contexts) for contexts in (1, 4, 9)),
)
MIDDLE = (4, 8)  # numbers of attributes that the table leaves out: between others, and nothing new


def measure() -> list[Row]:
    """One row a family and a map."""
    rows = []
    for family, demand in DEMANDS.items():
        for features, contexts in SHAPES:
            row: Row = {"family": family, "map": features, "contexts": contexts, "ours": [], "quiet": [], "fixed": []}
            for seed in SEEDS:
                market = random_market(seed, features=features, contexts=contexts, demand=demand)
                row["dimension"] = market.dimension
                for name, noise in (("ours", True), ("quiet", False)):
                    run = cell("noisy-newton", EPS, HORIZON, TRIALS, market=market, noise=noise)
                    row[name].append(float(run.regret.mean()))
                row["fixed"].append(float(cell("fixed", 0.0, 10**5, 1, market=market).regret.mean()))
            rows.append(row)
            print(line(row), flush=True)
    return rows


def line(row: Row) -> list[str]:
    """A row as the table shows it."""
    ours, quiet = np.array(row["ours"]), np.array(row["quiet"])
    low, high = interval(lambda picked: float(ours[picked].mean() / quiet[picked].mean()), ours.size)
    return [
        row["family"],
        f"{row['map']}, k = {row['contexts']}",
        shown(*mean_and_error(ours)),
        f"{ours.mean() / quiet.mean():.2f} ({low:.2f}, {high:.2f})",
        shown(*mean_and_error(row["fixed"])),
    ]


def table(rows: list[Row]) -> str:
    """The Markdown table of Gaussian demand, without middle numbers of attributes; of Poisson the text says enough."""
    heads = ["map", "noisy-newton", "ratio", "best fixed price"]
    lines = [line(row)[1:] for row in rows if row["family"] == "gaussian" and row["contexts"] not in MIDDLE]
    return markdown(heads, lines)


def misses(rows: list[Row]) -> list[str]:
    """No target."""
    return []
