"""What all pictures share (an empty figure, colours, axes without a box around them), and the one of regret."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hushprice import extras

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hushprice.simulation.result import SimulationResult

# Okabe and Ito's palette: colour-blind readers can tell them from each other.
BLUE, VERMILION, GREEN, PURPLE, SKY, ORANGE = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00"
_LINES = (BLUE, VERMILION, GREEN, PURPLE, SKY, ORANGE, "#000000")


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of that many inches, to be drawn on without a screen."""
    extras.require("matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def finish_axes(axes: Any, *, grid: bool = True) -> None:
    """Take the frame away above and on the right, and draw a light grid unless told otherwise."""
    if grid:
        axes.grid(visible=True, which="major", alpha=0.3)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def regret_picture(results: Sequence[SimulationResult], title: str) -> Figure:
    """Average regret so far against customers served, one line a policy, one-standard-error bands."""
    figure = new_figure(9.0, 5.2)
    axes = figure.add_subplot()
    for index, result in enumerate(sorted(results, key=lambda each: -(each.average_regret.mean or 0.0))):
        periods = result.checkpoints
        runs = result.cumulative_regret / periods
        centre = runs.mean(axis=0)
        error = runs.std(axis=0, ddof=1) / np.sqrt(result.trials) if result.trials > 1 else np.zeros(periods.size)
        colour = _LINES[index % len(_LINES)]
        style = "-" if result.claimed is not None and result.calibration is not None else "--"
        axes.plot(periods, 1e4 * centre, color=colour, linestyle=style, linewidth=2.0, label=result.label)
        axes.fill_between(periods, 1e4 * (centre - error), 1e4 * (centre + error), color=colour, alpha=0.2, linewidth=0)
    if any(np.any(result.cumulative_regret > 0) for result in results):
        axes.set_yscale("log")
    axes.set_xlabel("customers served")
    axes.set_ylabel("average regret so far (x 1e-4); lower is better")
    axes.set_title(title, loc="left")
    finish_axes(axes)
    note = "dashed: not private,\nor learns nothing"
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, title=note)
    return figure
