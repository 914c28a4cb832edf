"""The picture of the map that benchmarks/map.py measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

REACH = 5  # doublings to either side of 1 that have a colour of their own


def draw(points: Sequence[Any], titles: Mapping[str, str]) -> Any:
    """A row a kind, a panel for each d: ratio of regrets as colour and number, violet where personal prices win."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
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
        shown = np.clip(np.log2(ratio), -REACH, REACH)
        image = axes.imshow(shown, vmin=-REACH, vmax=REACH, cmap="PuOr_r", origin="lower", aspect="auto")
        for (y, x), value in np.ndenumerate(ratio):
            light = image.cmap(image.norm(shown[y, x]))[:3] @ np.array([0.299, 0.587, 0.114])  # as eyes weigh colours
            color = "white" if light < 0.5 else "black"
            axes.text(x, y, _short(value), ha="center", va="center", color=color, fontsize=9)
        axes.set_xticks(range(len(horizons)), [f"{horizon:.0e}".replace("e+0", "e") for horizon in horizons])
        axes.set_yticks(range(len(epsilons)), [f"{epsilon:g}" for epsilon in epsilons])
    figure.supxlabel("customers")
    figure.supylabel("epsilon, total")
    bar = figure.colorbar(image, ax=list(panels.flat), label="regret / best single price's")
    doublings = range(-REACH, REACH + 1)
    bar.set_ticks(doublings, labels=[f"1/{2**-each}" if each < 0 else f"{2**each}" for each in doublings])
    return figure


def _short(value: float) -> str:
    if value < 10.0:
        return f"{value:.2g}" if value > 0.1 else f"{value:.1g}"
    return f"{value:.0f}" if value < 1000.0 else "> 999"
