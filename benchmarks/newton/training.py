"""How constants of noisy-newton were chosen: on demand vectors that no other table shows, by a rule written first.

`TRUST` takes the candidate with the least regret. Then, one at a time, each other constant takes its best candidate, if
that is better beyond chance over all cells and worse beyond chance in none. At last, if several changed, they
are run together.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

if __name__ == "__main__":  # run as a program: find the package this file is part of
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np

from newton import rules
from newton.common import Row, cell, interval, markdown
from newton.instances import market_of

SEEDS = tuple(range(1001, 1065))
TRIALS = 2
CELLS = ((10**5, 0.1), (10**5, 0.2), (10**5, 1.0), (10**5, 5.0), (10**6, 1.0))
MARKETS = (*rules.MARKETS, ("interactions", 1, "uniform", False))
CANDIDATES: dict[str, tuple[float, ...]] = {  # what was there before comes first
    "TRUST": (0.4, 0.0, 0.1, 0.2, 0.3, 0.6),
    "SHORTEST": (4, 2, 8),
    "PROBE": (0.25, 0.5),
    "NEAR": (0.25, 0.5),
    "KNOWN": (0.9, 0.99),  # at 1 the reference price would never be quoted
    "CURVATURE_SHARE": (0.25, 0.35, 0.5),
    "BONUS": (0.1, 0.2),
}
Regrets = list[list[float]]


def regrets() -> Regrets:
    """A list a cell and a market: the mean regret of each theta."""

    def of(seed: int, horizon: int, eps: float, instance: tuple[str, int, str, bool]) -> float:
        market = market_of(seed, *instance)
        run = cell("noisy-newton", eps, horizon, TRIALS, market=market, seed=seed, workers=1)
        return float(run.regret.mean())

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [
            list(pool.map(lambda seed, which=(horizon, eps, instance): of(seed, *which), SEEDS))
            for horizon, eps in CELLS
            for instance in MARKETS
        ]


def found_with(constants: dict[str, float]) -> Regrets:
    """The same with these constants."""
    return rules.under(constants, regrets, __file__)


def measure() -> Iterator[Row]:
    """One row a candidate, against what was held before it."""
    first = {name: values[0] for name, values in CANDIDATES.items()}
    original = base = found_with(first)
    held, taken = dict(first), {}
    for name, (before, *values) in CANDIDATES.items():
        found = {before: base, **{value: found_with({**held, name: value}) for value in values}}
        rows = [row_of(name, before, value, base, found[value]) for value in values]
        best = chosen(rows, before, freely=name == "TRUST")
        if best != before:
            taken[name] = best
        if name == "TRUST":  # the rest is compared with the new one
            held[name], base = best, found[best]
        for row in rows:
            yield row | {"taken": row["value"] == best}
    if len(taken) > 1:
        yield row_of("all that is taken", 0, 0, original, found_with({**first, **taken})) | {"taken": True}


def chosen(rows: list[Row], before: float, *, freely: bool) -> float:
    """The value a constant takes by the rule."""
    allowed = [row for row in rows if freely or (row["all"][2] < 1.0 and all(low <= 1.0 for _, low, _ in row["cells"]))]
    best = min(allowed, key=lambda row: row["all"][0], default=None)
    return before if best is None or best["all"][0] >= 1.0 else best["value"]


def row_of(name: str, before: float, value: float, base: Regrets, other: Regrets) -> Row:
    """How regret changes, over all cells and in each."""
    shape = (len(CELLS), len(MARKETS), len(SEEDS))
    old, new = np.reshape(base, shape), np.reshape(other, shape)

    def change(cells: slice) -> list[float]:
        def ratio(picked: np.ndarray) -> float:
            means = new[cells][..., picked].mean(axis=-1) / old[cells][..., picked].mean(axis=-1)
            return float(np.exp(np.log(means).mean()))

        return [ratio(np.arange(len(SEEDS))), *interval(ratio, len(SEEDS))]

    row: Row = {"name": name, "before": before, "value": value, "all": change(slice(None))}
    row["cells"] = [change(slice(number, number + 1)) for number in range(len(CELLS))]
    row["markets"] = np.exp(np.log(new.mean(axis=-1) / old.mean(axis=-1)).mean(axis=0)).tolist()
    print(line(row | {"taken": False}), np.round(row["markets"], 2), flush=True)
    return row


def percent(cell: list[float]) -> str:
    """In percent; bold where the interval says that it is not chance."""
    at, low, high = cell
    return f"**{100 * (at - 1):+.1f}**" if low > 1.0 or high < 1.0 else f"{100 * (at - 1):+.1f}"


def line(row: Row) -> list[str]:
    """A row as the table shows it."""
    alone = row["name"] in CANDIDATES
    at, low, high = (100 * (each - 1) for each in row["all"])
    return [
        f"`{row['name']}`" if alone else row["name"],
        f"{row['before']:g}" if alone else "",
        f"{row['value']:g}" if alone else "",
        f"{at:+.1f} ({low:+.1f}, {high:+.1f})",
        percent(max(row["cells"])),
        "yes" if row["taken"] else "no",
    ]


def table(rows: list[Row]) -> str:
    """The Markdown table."""
    return markdown(["constant", "was", "candidate", "all cells, %", "worst cell, %", "taken"], map(line, rows))


def misses(rows: list[Row]) -> list[str]:
    """Nothing is aimed at here."""
    return []


if __name__ == "__main__":
    sys.stdout.write(json.dumps(regrets()))
