"""The picture of the map that benchmarks/map.py measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def draw(points: Sequence[Any], titles: Mapping[str, str]) -> Any:
    """A row a kind, a panel for each d: ratio of regrets as colour and number, violet where personal prices win."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.colors import TwoSlopeNorm
    from matplotlib.figure import Figure

    dimensions, horizons, epsilons = (
        sorted({getattr(each, name) for each in points}) for name in ("dimension", "horizon", "epsilon")
    )
    kinds = [name for name in titles if any(each.kind == name for each in points)]
    figure = Figure(figsize=(1.5 + 3.2 * len(dimensions), 0.4 + 3.2 * len(kinds)), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(len(kinds), len(dimensions), sharex=True, sharey=True, squeeze=False)
    at = {(each.kind, each.dimension, each.epsilon, each.horizon): each for each in points}
    for (row, column), axes in np.ndenumerate(panels):
        axes.set_title(f"d = {dimensions[column]}, {titles[kinds[row]]}", loc="left", fontsize=9)
        if not any((each.kind, each.dimension) == (kinds[row], dimensions[column]) for each in points):
            axes.text(0.5, 0.5, "too few such markets", ha="center", va="center", transform=axes.transAxes)
            continue
        ratio = np.array([[at[kinds[row], dimensions[column], e, T].ratio for T in horizons] for e in epsilons])
        shown = np.clip(np.log2(ratio), -3.0, 3.0)
        image = axes.imshow(shown, norm=TwoSlopeNorm(0.0, -3.0, 3.0), cmap="PuOr_r", origin="lower", aspect="auto")
        for (y, x), value in np.ndenumerate(ratio):
            dark = abs(shown[y, x]) > 2.0
            axes.text(x, y, _short(value), ha="center", va="center", color="white" if dark else "black")
        axes.set_xticks(range(len(horizons)), [f"{horizon:.0e}".replace("e+0", "e") for horizon in horizons])
        axes.set_yticks(range(len(epsilons)), [f"{epsilon:g}" for epsilon in epsilons])
    figure.supxlabel("customers")
    figure.supylabel("epsilon, total")
    figure.colorbar(image, ax=list(panels.flat), label="log2 of regret / best single price's")
    return figure


def _short(value: float) -> str:
    return f"{value:.2g}" if value < 10.0 else f"{value:.0f}" if value < 1000.0 else "> 999"
