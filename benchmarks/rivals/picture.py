"""The picture of docs/lab/rivals.md: every private policy over epsilon, in a market and in three shops."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

# Values over epsilon by policy; ours first.
Curves = dict[str, list[tuple[float, float]]]

MARKERS = "os^vDPX*<>hd"


def draw(panels: Sequence[tuple[str, str, Curves]], file: Path) -> None:
    """Regret and earnings side by side: title, what is on the vertical axis, a line a policy; the first is thick."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams |= {"svg.hashsalt": "hushprice", "svg.fonttype": "none", "font.size": 9}
    from matplotlib import pyplot

    names = list(dict.fromkeys(name for _, _, curves in panels for name in list(curves)[1:]))
    colours = {name: pyplot.get_cmap("tab20")(at % 20) for at, name in enumerate(names)}
    figure, frames = pyplot.subplots(1, len(panels), figsize=(9.4, 4.6), layout="constrained")
    ours = " / ".join(next(iter(curves)) for _, _, curves in panels)
    shown = {}
    for axes, (title, what, curves) in zip(frames, panels, strict=True):
        for at, (name, points) in enumerate(curves.items()):
            look = {"color": "black", "lw": 2.8, "zorder": 3} if at == 0 else {"color": colours[name], "lw": 1.1}
            marker = "o" if at == 0 else MARKERS[names.index(name) % len(MARKERS)]
            (line,) = axes.plot(*zip(*points, strict=True), marker=marker, ms=5, **look)
            shown.setdefault(ours if at == 0 else name, line)
        axes.set(xscale="log", xlabel="proven epsilon", ylabel=what)
        axes.set_title(title, fontsize=9)
        ticks = sorted({epsilon for points in curves.values() for epsilon, _ in points})
        axes.set_xticks(ticks, [f"{each:g}" for each in ticks])
        axes.minorticks_off()
    frames[0].set_yscale("log")
    frames[1].axhline(1.0, color="grey", lw=0.6, ls=":")
    where = {"loc": "outside lower center", "ncols": 5, "frameon": False, "fontsize": 8}
    figure.legend(list(shown.values()), list(shown), **where)
    figure.savefig(file, metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
