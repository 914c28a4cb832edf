"""The cells of tab:non-private: noisy-newton beside the printed numbers, the paper's method, and yardsticks."""

from __future__ import annotations

from hushprice.research.experiments.paper_numbers import NON_PRIVATE, NON_PRIVATE_EPSILONS
from newton.common import Row, markdown, mean_and_error, paper_cell, shown

TRIALS = {10**5: 200, 10**6: 50}
OTHERS = 20
TARGET = {0.1: 20, 0.2: 20, 0.5: 20, 1.0: 15, 5.0: 15}  # times fewer regret than the paper's table, at the least


def measure() -> list[Row]:
    """One row a cell."""
    rows = []
    for (horizon, dimension), printed in NON_PRIVATE.items():
        plain = paper_cell("nonprivate", 0.0, horizon, OTHERS, dimension).regret
        fixed = paper_cell("fixed", 0.0, horizon, OTHERS, dimension).regret
        for eps, number in zip(NON_PRIVATE_EPSILONS, printed, strict=False):
            ours = paper_cell("noisy-newton", eps, horizon, TRIALS[horizon], dimension)
            tight = paper_cell("paper", eps, horizon, OTHERS, dimension, calibration="tight").regret
            mean, error = mean_and_error(ours.regret)
            rows.append(
                {
                    "horizon": horizon,
                    "dimension": dimension,
                    "eps": eps,
                    "ours": [mean, error],
                    "upper": mean + 1.96 * error,
                    "start": mean_and_error(ours.start)[0],
                    "releases": float(ours.estimates.mean()),
                    "printed": float(number),
                    "printed_nonprivate": float(printed[-1]),
                    "ratio": float(number) / (mean + 1.96 * error),
                    "target": TARGET[eps],
                    "tight": mean_and_error(tight),
                    "nonprivate": mean_and_error(plain),
                    "fixed": mean_and_error(fixed)[0],
                }
            )
            print(line(rows[-1]), flush=True)
    return rows


def line(row: Row) -> list[str]:
    """A row as the table shows it."""
    reached = "" if row["ratio"] >= row["target"] else f" (target {row['target']})"
    return [
        f"{row['horizon']:.0e}".replace("+0", ""),
        str(row["dimension"]),
        f"{row['eps']:g}",
        f"{row['printed']:g}",
        shown(*row["tight"]),
        shown(*row["ours"]),
        f"{row['ratio']:.0f}{reached}" if row["ratio"] >= 10 else f"{row['ratio']:.1f}{reached}",
    ]


def table(rows: list[Row]) -> str:
    """The Markdown table: a row a horizon and dimension, a column an epsilon; the paper's numbers are elsewhere."""
    lines: dict[tuple[str, str], list[str]] = {}
    for horizon, dimension, _, _, _, ours, ratio in map(line, rows):
        lines.setdefault((horizon, dimension), []).append(f"{ours} ({ratio})")
    heads = ["T", "d", *(f"eps = {eps:g}" for eps in NON_PRIVATE_EPSILONS)]
    return markdown(heads, ([*key, *cells] for key, cells in lines.items()), 2)


def misses(rows: list[Row]) -> list[str]:
    """Targets not reached, in words."""
    found = []
    for row in rows:
        name = f"T = {row['horizon']:,}, d = {row['dimension']}, eps = {row['eps']:g}"
        if row["ratio"] < row["target"]:
            found.append(f"{name}: {row['ratio']:.1f} times under the paper's number, target {row['target']}")
        if row["upper"] >= row["fixed"] and (row["horizon"], row["eps"]) != (10**5, 0.1):
            found.append(f"{name}: {row['upper']:.2f}, not under the best fixed price {row['fixed']:.2f}")
        if row["eps"] >= 0.5 and row["upper"] >= row["printed_nonprivate"]:
            found.append(f"{name}: {row['upper']:.2f}, not under the printed non-private {row['printed_nonprivate']:g}")
    return found
