"""Pictures of rows: the paper's two panels for its figures, dots beside its numbers for its tables."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hushprice.research.experiments.experiment import BEST_FIXED, NONPRIVATE, RANDOM, YARDSTICKS, Contender, Experiment
from hushprice.research.experiments.paper_figure import PaperFigure
from hushprice.research.experiments.rows import ReproducedEntry
from hushprice.simulation.drawing import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION, finish_axes, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLES = {RANDOM: ("#000000", "--"), BEST_FIXED: ("#777777", "-."), NONPRIVATE: ("#999999", ":")}
_MARKERS = "osD^vP<>X*"
_COLOURS = (BLUE, VERMILION, GREEN, PURPLE, SKY, ORANGE)


def load() -> None:
    """Load what draws, which takes a moment: better while others work than when they are done."""
    importlib.import_module("matplotlib.backends.backend_agg")
    importlib.import_module("matplotlib.backends.backend_svg")


def two_panels(experiment: PaperFigure, rows: Sequence[ReproducedEntry], contender: Contender) -> Figure:
    """One private policy in the paper's shape: a panel for each d, a line for each series, yardsticks dashed."""
    figure, panels = _panels([row.entry.group for row in rows], height=4.4)
    for (group, axes), first in zip(panels.items(), (True, False), strict=False):
        block = [row for row in rows if row.entry.group == group]
        own = [row for row in block if row.entry.contender == contender]
        colours = _ramp(list(dict.fromkeys(row.entry.series for row in own)))
        for index, (series, colour) in enumerate(colours.items()):
            line = [row for row in own if row.entry.series == series]
            axes.errorbar(
                [experiment.x(row) for row in line],
                [row.mean / experiment.unit for row in line],
                yerr=[_bar(row) / experiment.unit for row in line],
                color=colour,
                marker=_MARKERS[index % len(_MARKERS)],
                markersize=4,
                linewidth=1.5,
                label=series if first else None,
            )
        across = {experiment.x(row) for row in own}
        for yardstick in YARDSTICKS:
            _yardstick(axes, experiment, [row for row in block if row.entry.contender == yardstick], across, colours)
        axes.set_title(group, loc="left")
        axes.set_xlabel(experiment.across)
        _finish(axes, experiment, rows, logarithmic=experiment.logarithmic)
    figure.suptitle(f"{experiment.label}: {contender.name}", x=0.01, ha="left", fontsize=11)
    _legend(figure, next(iter(panels.values())))
    return figure


def beside_the_paper(experiment: Experiment, rows: Sequence[ReproducedEntry]) -> Figure:
    """A panel for each block of a table: the paper's numbers as diamonds, ours as lines with standard errors."""
    figure, panels = _panels([row.entry.group for row in rows], height=3.4)
    for group, axes in panels.items():
        block = [row for row in rows if row.entry.group == group]
        own = [row for row in block if row.entry.contender not in YARDSTICKS]
        columns = {name: at for at, name in enumerate(dict.fromkeys(row.entry.column for row in own))}
        shown: list[list[float]] = []
        for index, line in enumerate(dict.fromkeys(row.entry.line for row in own)):
            own_line = [row for row in own if row.entry.line == line]
            at = [columns[row.entry.column] for row in own_line]
            means, errors = ([value / experiment.unit for value in values] for values in _columns(own_line))
            colour = _COLOURS[index % len(_COLOURS)]
            axes.errorbar(at, means, yerr=errors, color=colour, marker="o", markersize=4, linewidth=1.3, label=line)
            printed = [row.entry.paper.value / experiment.unit for row in own_line if row.entry.paper is not None]
            if printed and printed not in shown:  # calibrations share one line of the paper
                look = ("paper", "D", "#000000") if not shown else (f"paper, {line}", "s", colour)
                shown.append(printed)
                axes.plot(at, printed, look[1], color=look[2], markersize=7, markerfacecolor="none", label=look[0])
        for yardstick in YARDSTICKS:
            for row in block:
                if row.entry.contender == yardstick:
                    colour, style = _STYLES[yardstick]
                    level = row.mean / experiment.unit
                    axes.axhline(level, color=colour, linestyle=style, linewidth=1.2, label=yardstick.name)
        axes.set_xticks(list(columns.values()), list(columns))
        axes.set_title(group, loc="left")
        _finish(axes, experiment, rows, logarithmic=True)
    figure.suptitle(experiment.label, x=0.01, ha="left", fontsize=11)
    _legend(figure, next(iter(panels.values())))
    return figure


def _panels(groups: Sequence[str], *, height: float) -> tuple[Figure, dict[str, Any]]:
    names = list(dict.fromkeys(groups))
    depth = math.ceil(len(names) / 2)
    figure = new_figure(10.5, height * depth)
    return figure, {name: figure.add_subplot(depth, 2, 1 + index) for index, name in enumerate(names)}


def _yardstick(
    axes: Any, experiment: PaperFigure, rows: Sequence[ReproducedEntry], across: set[float], colours: dict[str, Any]
) -> None:
    """A dashed line a series: over the horizontal axis where it moves along it, level where it does not."""
    labelled = False
    for series in dict.fromkeys(row.entry.series for row in rows):
        line = [row for row in rows if row.entry.series == series]
        contender = line[0].entry.contender
        colour, style = _STYLES[contender]
        if contender == NONPRIVATE:
            colour = colours.get(series, colour)
        means = [row.mean / experiment.unit for row in line]
        at = [experiment.x(row) for row in line] if len(line) > 1 else [min(across), max(across)]
        level = means if len(line) > 1 else means * 2
        label = None if labelled else contender.name
        axes.plot(at, level, color=colour, linestyle=style, linewidth=1.2, label=label)
        labelled = True


def _finish(axes: Any, experiment: Experiment, rows: Sequence[ReproducedEntry], *, logarithmic: bool) -> None:
    """The same vertical range in every picture of an experiment, so that calibrations can be compared by eye."""
    numbers = [row.mean for row in rows if math.isfinite(row.mean)]
    numbers += [row.entry.paper.value for row in rows if row.entry.paper is not None]
    low, high = min(numbers) / experiment.unit, max(numbers) / experiment.unit
    if logarithmic and low > 0.0:
        axes.set_yscale("log")
        axes.set_ylim(low / 1.3, high * 1.3)
    else:
        room = 0.06 * (high - low) or 1.0
        axes.set_ylim(low - room, high + room)
    axes.set_ylabel(experiment.measured)
    finish_axes(axes)


def _legend(figure: Figure, axes: Any) -> None:
    handles, labels = axes.get_legend_handles_labels()
    unique = dict(zip(labels, handles, strict=True))
    figure.legend(unique.values(), unique.keys(), loc="outside right upper", frameon=False, fontsize=9)


def _ramp(names: Sequence[str]) -> dict[str, Any]:
    """Colours that go from dark to light with the series' order."""
    from matplotlib import colormaps

    ramp = colormaps["viridis"]
    return {name: ramp(0.9 * at / max(1, len(names) - 1)) for at, name in enumerate(names)}


def _bar(row: ReproducedEntry) -> float:
    return 0.0 if math.isnan(row.error) else row.error


def _columns(rows: Sequence[ReproducedEntry]) -> tuple[list[float], list[float]]:
    return [row.mean for row in rows], [_bar(row) for row in rows]
