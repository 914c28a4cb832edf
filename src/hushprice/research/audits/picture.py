"""Attacks as a picture: what a watcher gained, beside the most that each promise allows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hushprice.research.audits.attack import Attack
from hushprice.simulation.atomic_file import write_figure
from hushprice.simulation.drawing import BLUE, VERMILION, finish_axes, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = {"purchase": BLUE, "attribute": VERMILION}
_QUESTIONS = {"purchase": "did the customer buy?", "attribute": "which kind of customer was it?"}
_ALLOWED = "#BBBBBB"


def attack_picture(attacks: Sequence[Attack]) -> Figure:
    """Advantage and its interval, one row a policy, one mark a story; a grey bar reaches as far as the claim allows."""
    policies = list(dict.fromkeys(each.label for each in attacks))
    stories = list(dict.fromkeys(each.story for each in attacks))
    figure = new_figure(9.0, 1.6 + 0.8 * len(policies))
    axes = figure.add_subplot()
    for row, policy in enumerate(policies):
        allowed = next(each.allowed for each in attacks if each.label == policy)
        if allowed is None:
            axes.text(0.02, row, "nothing is promised", ha="left", va="center", color="#666666", fontsize=9)
        else:
            axes.barh(row, allowed, height=0.7, color=_ALLOWED, alpha=0.5, linewidth=0)
    if any(each.allowed is not None for each in attacks):
        axes.barh(0, 0.0, color=_ALLOWED, alpha=0.5, label="most that the promise allows")
    for index, story in enumerate(stories):
        mine = [each for each in attacks if each.story == story]
        shift = 0.3 * ((index + 0.5) / len(stories) - 0.5)
        axes.errorbar(
            [each.advantage for each in mine],
            [policies.index(each.label) + shift for each in mine],
            xerr=[[each.advantage - each.low for each in mine], [each.high - each.advantage for each in mine]],
            fmt="o",
            color=_COLOURS.get(story),
            capsize=3,
            label=_QUESTIONS.get(story, story),
        )
    axes.axvline(0.0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(policies)), labels=policies)
    axes.set_ylim(len(policies) - 0.4, -0.6)
    axes.set_xlim(-0.25, 1.05)
    axes.set_xlabel("advantage of somebody who watches later prices (0: guessing, 1: always right)")
    first = attacks[0]
    title = f"{first.horizon:,} customers, {first.runs:,} runs a world, {100 * first.confidence:g} % intervals"
    axes.set_title(title, loc="left")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    finish_axes(axes, grid=False)
    return figure


def write_attacks(attacks: Sequence[Attack], folder: Path) -> list[Path]:
    """The picture as PNG and SVG; returns the files."""
    figure = attack_picture(attacks)
    files = [folder / "attacks.png", folder / "attacks.svg"]
    for file in files:
        write_figure(figure, file)
    return files
