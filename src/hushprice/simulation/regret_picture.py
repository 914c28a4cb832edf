"""Regret over time as a picture: a pure function of results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hushprice.simulation.drawing import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION, finish_axes, new_figure
from hushprice.simulation.result import SimulationResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = (BLUE, VERMILION, GREEN, PURPLE, SKY, ORANGE, "#000000")


def regret_picture(results: Sequence[SimulationResult], title: str) -> Figure:
    """Average regret so far against customers served, one line a policy, one-standard-error bands."""
    figure = new_figure(9.0, 5.2)
    axes = figure.add_subplot()
    for index, result in enumerate(sorted(results, key=lambda each: -(each.average_regret.mean or 0.0))):
        periods = result.checkpoints
        runs = result.cumulative_regret / periods
        centre = runs.mean(axis=0)
        error = runs.std(axis=0, ddof=1) / np.sqrt(result.trials) if result.trials > 1 else np.zeros(periods.size)
        colour = _COLOURS[index % len(_COLOURS)]
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
