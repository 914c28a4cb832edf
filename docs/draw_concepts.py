"""Draw the pictures of docs/guide/concepts.md. Curves come from formulas; nothing here reads a record or draws.

Run: python docs/draw_concepts.py [FOLDER]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from scipy.optimize import brentq
from scipy.special import log_ndtr

TARGET = Path(__file__).parent / "images" / "concepts"
SETTINGS = {"font.family": "sans-serif", "font.size": 10, "svg.fonttype": "none", "svg.hashsalt": "hushprice"}
FILLS = {"sensitive": "#f6d5cf", "noisy": "#fbeabf", "released": "#d3e8d6", "plain": "#eceff1"}
LINE, WARN, COOL = "#37474f", "#b3402a", "#22608f"

DELTA = 1e-10  # of the composition curves, in total
NOISE = 100.0  # deviation of one release, in sensitivities


def gaussian_delta(mu: float, epsilon: float) -> float:
    """delta(epsilon) of a Gaussian release whose worst shift is mu deviations (Balle and Wang 2018, Theorem 8)."""
    gain = log_ndtr(mu / 2 - epsilon / mu)
    return math.exp(gain) * -math.expm1(epsilon + log_ndtr(-mu / 2 - epsilon / mu) - gain)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The epsilon at which `gaussian_delta` is delta."""
    most = mu * mu / 2 + mu * math.sqrt(2 * math.log(1 / delta))  # the privacy loss's tail bound, so an upper end
    return brentq(lambda epsilon: gaussian_delta(mu, epsilon) - delta, 0.0, most, xtol=1e-15)


def composed(count: int) -> dict[str, float]:
    """Total epsilon at total DELTA of `count` Gaussian releases of deviation NOISE, by the three rules."""
    half = gaussian_epsilon(1 / NOISE, DELTA / (2 * count))
    return {
        "basic": count * gaussian_epsilon(1 / NOISE, DELTA / count),
        "advanced": math.sqrt(2 * count * math.log(2 / DELTA)) * half + count * half * math.expm1(half),
        "tight": gaussian_epsilon(math.sqrt(count) / NOISE, DELTA),
    }


def canvas(width: float, height: float) -> tuple[Figure, Axes]:
    """A blank drawing, one unit an inch."""
    figure = Figure(figsize=(width, height), facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.axis("off")
    return figure, axes


def box(axes: Axes, x: float, y: float, width: float, height: float, text: str, kind: str = "plain") -> None:
    """A labelled box with its lower left corner at (x, y)."""
    shape = FancyBboxPatch(
        (x, y), width, height, boxstyle="round,pad=0,rounding_size=0.08", facecolor=FILLS[kind], edgecolor=LINE
    )
    axes.add_patch(shape)
    axes.text(x + width / 2, y + height / 2, text, ha="center", va="center")


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], colour: str = LINE) -> None:
    """A straight arrow."""
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": colour, "shrinkA": 0, "shrinkB": 0})


def bells(axes: Axes, mu: float, epsilon: float, names: tuple[str, str]) -> None:
    """Two normal densities mu apart, with the excess over e^epsilon shaded."""
    x = np.linspace(-3.4, 4.6 + mu, 181)
    one, other = (np.exp(-((x - centre) ** 2) / 2) / math.sqrt(2 * math.pi) for centre in (mu, 0.0))
    axes.plot(x, one, color=WARN, label=names[0])
    axes.plot(x, other, color=COOL, linestyle="--", label=names[1])
    bound = math.exp(epsilon) * other
    axes.fill_between(x, bound, one, where=one > bound, color=WARN, alpha=0.45, linewidth=0)
    axes.annotate(
        f"beyond a factor e^{epsilon:g}:\nweight {gaussian_delta(mu, epsilon):.4f} = delta",
        (mu + 1.95, 0.045),
        (mu + 1.2, 0.2),
        arrowprops={"arrowstyle": "-", "color": LINE},
    )
    axes.set(yticks=[], xticks=[], ylim=(0, 0.52))
    axes.legend(loc="upper left", frameon=False)
    axes.spines[["top", "right", "left"]].set_visible(False)


def differential_privacy() -> Figure:
    figure, axes = canvas(8.6, 3.0)
    box(axes, 0.1, 1.75, 2.1, 0.9, "world 1\ncustomer t was (x, y)", "sensitive")
    box(axes, 0.1, 0.35, 2.1, 0.9, "world 2\ncustomer t was (x', y')", "sensitive")
    box(axes, 2.75, 1.0, 1.2, 1.0, "the same\nalgorithm,\nwith noise", "noisy")
    arrow(axes, (2.2, 2.2), (2.75, 1.75))
    arrow(axes, (2.2, 0.8), (2.75, 1.25))
    arrow(axes, (3.95, 1.5), (4.45, 1.5))
    right = figure.add_axes((0.53, 0.16, 0.45, 0.8))
    bells(right, 0.6, 1.0, ("P: all prices, world 1", "Q: all prices, world 2"))
    right.set_xlabel("what the watcher sees")
    return figure


def anticipating() -> Figure:
    figure, axes = canvas(8.6, 3.3)
    for world, y, context in (("world 1", 2.0, "x"), ("world 2", 0.75, "x'")):
        axes.text(0.1, y + 0.3, world, va="center")
        box(axes, 0.95, y, 1.5, 0.6, "p_1 ... p_(t-1)")
        box(axes, 2.7, y, 1.5, 0.6, f"p_t, made from {context}", "sensitive")
        box(axes, 4.75, y, 2.3, 0.6, "p_(t+1) ... p_T", "released")
        arrow(axes, (2.45, y + 0.3), (2.7, y + 0.3))
        arrow(axes, (4.2, y + 0.3), (4.75, y + 0.3))
    axes.text(1.7, 2.85, "made before t:\nthe same in both", ha="center", va="center")
    axes.text(3.45, 2.85, "customer t's own price:\nnot covered", ha="center", va="center", color=WARN)
    axes.text(5.9, 2.85, "prices after t:\ncovered", ha="center", va="center", color="#2e6b3a")
    arrow(axes, (7.2, 1.55), (7.2, 2.3))
    arrow(axes, (7.2, 1.8), (7.2, 1.05))
    axes.text(7.35, 1.68, "within\ne^epsilon,\nup to delta", va="center")
    axes.text(3.45, 0.35, "between shop and customer", ha="center", va="center", style="italic")
    return figure


def composition() -> Figure:
    figure, axes = canvas(8.6, 3.4)
    box(axes, 0.15, 1.25, 1.1, 0.9, "records", "sensitive")
    for number, y in enumerate((2.45, 1.45, 0.45), start=1):
        box(axes, 1.8, y, 1.4, 0.55, f"release {number}: eps_{number}", "noisy")
        arrow(axes, (1.25, 1.7), (1.8, y + 0.27))
    axes.text(1.7, 0.16, "one record is in all three: losses add up", ha="center", va="center")
    right = figure.add_axes((0.49, 0.17, 0.49, 0.77))
    counts = np.unique(np.round(np.geomspace(1, 3000, 60)).astype(int))
    curves = [composed(int(count)) for count in counts]
    for name, colour, style in (("basic", WARN, "-"), ("advanced", LINE, "--"), ("tight", COOL, "-")):
        right.loglog(counts, [curve[name] for curve in curves], style, color=colour, label=name)
    right.set(xlabel="number of releases k", ylabel=f"total epsilon at delta = {DELTA:g}")
    right.legend(frameon=False)
    right.spines[["top", "right"]].set_visible(False)
    right.tick_params(which="minor", length=0)
    return figure


def post_processing() -> Figure:
    figure, axes = canvas(8.6, 2.2)
    box(axes, 0.15, 0.75, 1.2, 0.8, "records", "sensitive")
    box(axes, 1.95, 0.75, 1.4, 0.8, "releaser\n(adds noise)", "noisy")
    box(axes, 3.95, 0.75, 1.3, 0.8, "releases\n(eps, delta)", "released")
    box(axes, 5.85, 0.75, 1.3, 0.8, "any function")
    box(axes, 7.6, 0.75, 0.85, 0.8, "price", "released")
    for start, end in ((1.35, 1.95), (3.35, 3.95), (5.25, 5.85), (7.15, 7.6)):
        arrow(axes, (start, 1.15), (end, 1.15))
    axes.plot([3.65, 3.65], [0.3, 2.05], color=WARN, linestyle=":")
    axes.text(3.55, 1.9, "reads records: pays", ha="right", va="center")
    axes.text(3.75, 1.9, "reads releases only: free, still (eps, delta)", ha="left", va="center")
    axes.text(3.65, 0.14, "no way back to the records", ha="center", va="center", color=WARN)
    return figure


def framework() -> Figure:
    figure, axes = canvas(8.6, 3.9)
    for x, title in ((0.9, "1. records"), (3.35, "2. private releasers"), (7.0, "3. price optimizer")):
        axes.text(x, 3.7, title, ha="center", va="center", weight="bold")
    box(axes, 0.15, 1.1, 1.5, 2.2, "past customers\n(x, p, y)\n\nfeatures in the\nunit ball,\ny clipped", "sensitive")
    box(axes, 2.35, 2.4, 2.0, 0.9, "PrivateCov\nat every customer", "noisy")
    box(axes, 2.35, 1.1, 2.0, 0.9, "PrivateMLE\nwhen asked, D_inf times", "noisy")
    box(axes, 5.55, 2.4, 2.9, 0.9, "has det(Lambda) doubled?\nthen ask for an estimate")
    box(axes, 5.55, 1.1, 2.9, 0.9, "price with the largest\nupper confidence bound")
    box(axes, 5.55, 0.15, 1.3, 0.5, "x_t, arriving")
    box(axes, 7.15, 0.15, 1.3, 0.5, "price p_t", "released")
    arrow(axes, (1.65, 2.85), (2.35, 2.85))
    arrow(axes, (1.65, 1.55), (2.35, 1.55))
    arrow(axes, (4.35, 2.85), (5.55, 2.85))
    arrow(axes, (4.35, 1.45), (5.55, 1.45))
    arrow(axes, (5.55, 2.5), (4.35, 1.9))
    arrow(axes, (7.0, 2.4), (7.0, 2.0))
    arrow(axes, (6.2, 0.65), (6.2, 1.1))
    arrow(axes, (7.8, 1.1), (7.8, 0.65))
    axes.text(4.95, 2.98, "Lambda", ha="center")
    axes.text(4.95, 1.2, "estimate", ha="center")
    axes.text(3.35, 0.72, "both pay into one ledger", ha="center", va="center")
    axes.text(2.7, 0.3, "p_t and what customer t does become the next record", ha="center", va="center", style="italic")
    return figure


def proof_flow() -> Figure:
    figure, axes = canvas(8.6, 4.5)
    box(axes, 0.1, 3.6, 2.5, 0.75, "alg:private-cov\nGaussian noise, binary tree", "noisy")
    box(axes, 0.1, 2.4, 2.5, 0.75, "prop:privacy-cov\n(eps_1, delta_1)")
    box(axes, 3.0, 3.6, 2.5, 0.75, "alg:private-mle\nobjective perturbation", "noisy")
    box(axes, 3.0, 2.4, 2.5, 0.75, "prop:privacy-mle\none call")
    box(axes, 5.95, 3.6, 2.55, 0.75, "cor:advanced-composition\nD_inf calls")
    box(axes, 5.95, 2.4, 2.55, 0.75, "cor:privacy-mle\n(eps_2, delta_2)")
    box(axes, 1.4, 1.25, 2.9, 0.75, "fact:composition\n(eps_1 + eps_2, delta_1 + delta_2)")
    box(axes, 0.1, 0.1, 2.5, 0.75, "fact:post-processing\nfree, but has no x_t")
    box(axes, 3.0, 0.1, 2.5, 0.75, "prop:na-privacy\nabout prices after t")
    box(axes, 5.95, 0.1, 2.55, 0.75, "cor:privacy-algo\nthe whole policy", "released")
    arrow(axes, (1.35, 3.6), (1.35, 3.15))
    arrow(axes, (4.25, 3.6), (4.25, 3.15))
    arrow(axes, (5.5, 2.77), (5.95, 2.77))
    arrow(axes, (7.22, 3.6), (7.22, 3.15))
    arrow(axes, (1.9, 2.4), (2.3, 2.0))
    arrow(axes, (6.3, 2.4), (4.3, 1.75))
    arrow(axes, (3.4, 1.25), (3.9, 0.85))
    arrow(axes, (2.6, 0.47), (3.0, 0.47))
    arrow(axes, (5.5, 0.47), (5.95, 0.47))
    return figure


PICTURES: dict[str, Callable[[], Figure]] = {
    "differential_privacy": differential_privacy,
    "anticipating": anticipating,
    "composition": composition,
    "post_processing": post_processing,
    "framework": framework,
    "proof_flow": proof_flow,
}


def draw(folder: Path) -> None:
    """Write every picture as an SVG file."""
    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(SETTINGS):
        for name, picture in PICTURES.items():
            picture().savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET)
