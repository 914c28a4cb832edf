"""Regret against epsilon on the paper's instance: the numbers of the README's picture (docs/draw_noisy_newton.py)."""

from __future__ import annotations

from newton.common import Row, markdown, mean_and_error, paper_cell, shown

HORIZON, DIMENSION = 10**5, 2
EPSILONS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
PRIVATE = {
    "paper@published": ("paper", {"calibration": "published"}, 40),
    "paper@tight": ("paper", {"calibration": "tight"}, 40),
    "noisy-newton": ("noisy-newton", {}, 100),
}
SHOWN = (0.02, 0.05, 1.0, 2.0)
YARDSTICKS = {"nonprivate": "nonprivate", "best fixed price": "fixed"}


def measure() -> list[Row]:
    """One row a policy: mean and standard error at each epsilon; a yardstick has the same everywhere."""
    rows = []
    for name, (policy, setting, trials) in PRIVATE.items():
        runs = [paper_cell(policy, eps, HORIZON, trials, DIMENSION, **setting) for eps in EPSILONS]
        rows.append({"name": name, "points": [mean_and_error(run.regret) for run in runs]})
        print(line(rows[-1]), flush=True)
    for name, policy in YARDSTICKS.items():
        point = mean_and_error(paper_cell(policy, 0.0, HORIZON, 40, DIMENSION).regret)
        rows.append({"name": name, "points": [point] * len(EPSILONS)})
    return rows


def line(row: Row) -> list[str]:
    """A row as the table shows it."""
    return [row["name"], *(shown(*point) for point in row["points"])]


def table(rows: list[Row]) -> str:
    """The Markdown table: a row for each epsilon that the section `cells` does not have, and for 1."""
    named = {name: points for name, *points in map(line, rows)}
    lines = [[f"{eps:g}", *(named[name][at] for name in PRIVATE)] for at, eps in enumerate(EPSILONS) if eps in SHOWN]
    return markdown(["eps", *PRIVATE], lines)


def misses(rows: list[Row]) -> list[str]:
    """No target."""
    return []
