"""Draw regret against epsilon (README) from what benchmarks/noisy_newton.py measured. Nothing here draws at random.

Run: python docs/draw_noisy_newton.py [FILE]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "images" / "regret_epsilon.svg"
RESULTS = ROOT / "benchmarks" / "newton" / "results.json"
SETTINGS = {"font.family": "sans-serif", "font.size": 10, "svg.fonttype": "none", "svg.hashsalt": "hushprice"}
EPSILONS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
STYLES = {  # colour, line, marker
    "paper@published": ("#b3402a", "-", "s"),
    "paper@tight": ("#c98b2b", "-", "^"),
    "noisy-newton": ("#22608f", "-", "o"),
    "best fixed price": ("#37474f", "--", ""),
    "nonprivate": ("#37474f", ":", ""),
}


def picture(rows: list[dict[str, Any]]) -> Figure:
    """Mean regret with a band of two standard errors, both axes logarithmic."""
    figure = Figure(figsize=(7.2, 4.0), facecolor="white", layout="constrained")
    axes = figure.subplots()
    found = {row["name"]: np.array(row["points"]) for row in rows}
    for name, (colour, style, marker) in STYLES.items():
        mean, error = found[name].T
        axes.fill_between(EPSILONS, mean - 2 * error, mean + 2 * error, color=colour, alpha=0.2, linewidth=0)
        axes.plot(EPSILONS, mean, style, color=colour, marker=marker, markersize=4, label=name)
    axes.set(xscale="log", yscale="log", ylim=(0.07, 500), ylabel="average regret x 1e4")  # room for the legend
    axes.set_xlabel("eps of each releaser in the paper's tables (the total is twice this)")
    axes.set_xticks(EPSILONS, [f"{eps:g}" for eps in EPSILONS])
    axes.set_yticks([0.1, 0.3, 1, 3, 10, 30, 100, 300], ["0.1", "0.3", "1", "3", "10", "30", "100", "300"])
    axes.tick_params(which="minor", length=0, labelbottom=False, labelleft=False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower left")
    return figure


def draw(target: Path) -> None:
    """Write the picture as an SVG file."""
    rows = json.loads(RESULTS.read_text())["curve"]["rows"]
    with mpl.rc_context(SETTINGS):
        picture(rows).savefig(target, metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET)
