"""Attacks and audits as pictures: what a watcher gained, or saw, beside the most that each promise allows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hushprice.research.audits.attack import Attack
from hushprice.research.audits.finding import WORST_PAIR, AuditFinding
from hushprice.simulation.atomic_file import write_figure
from hushprice.simulation.drawing import BLUE, GREEN, VERMILION, finish_axes, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = {"purchase": BLUE, "attribute": VERMILION, WORST_PAIR: GREEN}
_QUESTIONS = {
    "purchase": "prices: did the customer buy?",
    "attribute": "prices: which kind of customer was it?",
    WORST_PAIR: "releases: which of the worst two records?",
}
_ALLOWED = "#BBBBBB"
_WIDEST = 10.0  # of mu, in a picture: beyond, nobody is in doubt any more


def attack_picture(attacks: Sequence[Attack]) -> Figure:
    """Advantage and its interval, one row a policy, one mark a story; a grey bar reaches as far as the claim allows."""
    # The same releases again, from fewer runs or a part of them, have no mark of their own.
    attacks = [each for each in attacks if each.noise != "live" and not each.part]
    policies = list(dict.fromkeys(each.label for each in attacks))
    stories = list(dict.fromkeys(each.story for each in attacks))
    figure = new_figure(9.0, 1.6 + 0.8 * len(policies))
    axes = figure.add_subplot()
    for row, policy in enumerate(policies):
        bounds = [each.allowed for each in attacks if each.label == policy and each.allowed is not None]
        allowed = max(bounds, default=None)
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
    axes.set_xlabel("advantage of somebody who watches (0: guessing, 1: always right)")
    first = attacks[0]
    title = f"{first.horizon:,} customers, {100 * first.confidence:g} % intervals"
    axes.set_title(title, loc="left")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    finish_axes(axes, grid=False)
    return figure


def audit_picture(findings: Sequence[AuditFinding]) -> Figure:
    """The mu that was seen and its interval, one row a watcher; a black line stands at the mu that is proven."""
    figure = new_figure(9.0, 1.4 + 0.4 * len(findings))
    axes = figure.add_subplot()
    for row, each in enumerate(findings):
        low, high = (min(max(end, -_WIDEST), _WIDEST) for end in (each.seen.low, each.seen.high))
        middle = min(max(each.seen.mu, low), high)
        axes.errorbar(
            middle, row, xerr=[[middle - low], [high - middle]], fmt="o", color=_COLOURS.get(each.story), capsize=3
        )
        if each.proven_mu is not None:
            axes.plot([each.proven_mu] * 2, [row - 0.35, row + 0.35], color="black")
    axes.axvline(0.0, color=_ALLOWED, linewidth=0.8)
    labels = [
        f"{each.label}: {each.part or each.watcher}, {each.noise if each.story == WORST_PAIR else each.story}"
        for each in findings
    ]
    axes.set_yticks(range(len(findings)), labels=labels)
    axes.set_ylim(len(findings) - 0.4, -0.6)
    axes.set_xlabel("mu seen, with its interval; black: proven")
    first = findings[0]
    axes.set_title(f"{first.horizon:,} customers, lower ends hold with {100 * first.confidence:g} %", loc="left")
    finish_axes(axes, grid=False)
    return figure


def write_attacks(attacks: Sequence[Attack], folder: Path) -> list[Path]:
    """The picture as PNG and SVG; returns the files."""
    return _write(attack_picture(attacks), folder, "attacks")


def write_audits(findings: Sequence[AuditFinding], folder: Path) -> list[Path]:
    """The picture as PNG and SVG; returns the files."""
    return _write(audit_picture(findings), folder, "audits")


def _write(figure: Figure, folder: Path, name: str) -> list[Path]:
    files = [folder / f"{name}.png", folder / f"{name}.svg"]
    for file in files:
        write_figure(figure, file)
    return files
