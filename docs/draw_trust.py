"""Draw the picture of docs/guide/trust.md: where a record is seen under each trust model.

Run: python docs/draw_trust.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import matplotlib as mpl
from draw_concepts import LINE, SETTINGS, WARN, arrow, box, canvas
from matplotlib.figure import Figure

TARGET = Path(__file__).parent / "images" / "trust"
ROWS = {
    "central": ("device", "plain", "shop adds up,\nadds noise", "sensitive", "the record"),
    "local": ("device turns\nits bit by chance", "noisy", "shop adds up", "released", "one turned bit, with a name"),
    "shuffle": ("device turns\nits bit by chance", "noisy", "shop adds up", "released", "turned bits, without names"),
    "aggregated": ("device splits\nits numbers", "plain", "shop adds two\ntotals", "released", "two noisy totals"),
}


def seen() -> Figure:
    """A row a trust model: what leaves the device, who is in between, what the shop sees."""
    figure, axes = canvas(8.6, 5.0)
    for row, (name, (device, kind, shop, colour, told)) in enumerate(ROWS.items()):
        y = 3.75 - 1.15 * row
        axes.text(0.1, y + 0.35, name, va="center", weight="bold")
        box(axes, 1.15, y, 1.5, 0.7, device, kind)
        box(axes, 5.05, y, 1.4, 0.7, shop, colour)
        if name == "shuffle":
            box(axes, 3.2, y, 1.3, 0.7, "shuffler mixes,\nfills up", "noisy")
            arrow(axes, (2.65, y + 0.35), (3.2, y + 0.35))
            arrow(axes, (4.5, y + 0.35), (5.05, y + 0.35))
        elif name == "aggregated":
            for number, up in (("1", 0.4), ("2", 0.0)):
                box(axes, 3.2, y + up, 1.3, 0.33, f"{number}: adds noise", "noisy")
                arrow(axes, (2.65, y + 0.35), (3.2, y + up + 0.16))
                arrow(axes, (4.5, y + up + 0.16), (5.05, y + 0.35))
        else:
            arrow(axes, (2.65, y + 0.35), (5.05, y + 0.35), WARN if name == "central" else LINE)
        axes.text(6.6, y + 0.35, told, va="center", color=WARN if name == "central" else LINE)
    axes.text(5.75, 4.7, "the shop", ha="center", style="italic")
    axes.text(1.9, 4.7, "the customer", ha="center", style="italic")
    axes.text(6.6, 4.7, "what the shop sees", style="italic")
    return figure


PICTURES = {"seen": seen}


def draw(folder: Path) -> None:
    """Write every picture."""
    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(SETTINGS):
        for name, picture in PICTURES.items():
            picture().savefig(folder / f"{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET)
