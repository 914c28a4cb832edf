"""What all pictures share: an empty figure, colours, and axes without a box around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hushprice import extras

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's palette: colour-blind readers can tell them from each other.
BLUE, VERMILION, GREEN, PURPLE, SKY, ORANGE = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00"


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
