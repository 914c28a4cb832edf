"""A run of the checks as files: findings.json, and a picture of each that has growth to show."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hushprice.research.theory.finding import TheoryFinding
from hushprice.simulation.atomic_file import whole_file, write_figure
from hushprice.simulation.drawing import BLUE, GREEN, PURPLE, VERMILION, finish_axes, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = (BLUE, VERMILION, GREEN, PURPLE)


def write_findings(findings: Sequence[TheoryFinding], folder: Path) -> list[Path]:
    """Write the findings and their pictures; returns the files."""
    import msgspec

    files = [folder / "findings.json"]
    content = msgspec.json.format(msgspec.json.encode([each.to_dict() for each in findings]), indent=2)
    with whole_file(files[0]) as temporary:
        temporary.write_bytes(content + b"\n")
    for finding in findings:
        if finding.curves:
            files.append(folder / f"{finding.name}.png")
            write_figure(growth_picture(finding), files[-1])
    return files


def growth_picture(finding: TheoryFinding) -> Figure:
    """Every curve of a finding on logarithmic axes, two-standard-error bars, the stated rate dotted."""
    figure = new_figure(8.0, 5.0)
    axes = figure.add_subplot()
    for index, curve in enumerate(finding.curves):
        colour = _COLOURS[index % len(_COLOURS)]
        x, y = np.array(curve.x), np.array(curve.y)
        reach = np.minimum(2.0 * np.array(curve.error), 0.9 * y)  # a bar must end above zero to be drawn
        axes.errorbar(x, y, yerr=reach, color=colour, marker="o", linewidth=2.0, capsize=3.0, label=curve.name)
        rate = f"rate {curve.rate:g}" if index == 0 else None
        axes.plot(x, y[0] * (x / x[0]) ** curve.rate, color=colour, linestyle=":", linewidth=1.2, label=rate)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(finding.curves[0].axis)
    axes.set_ylabel("measured")
    axes.set_title(f"{finding.name}: {finding.verdict}", loc="left")
    finish_axes(axes)
    axes.legend(frameon=False, title="dotted: the rate the paper states")
    return figure
