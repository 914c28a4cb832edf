"""One HTML file a referee can read: what was run, what matched, what did not and why. It loads nothing."""

from __future__ import annotations

import base64
import html
import io
import os
import platform
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hushprice import __version__
from hushprice.research.experiments.run import MeasuredExperiment, ReproductionPlan
from hushprice.research.experiments.tables import (
    NOT_MEANT_TO_MATCH,
    TextTable,
    cell_by_cell,
    in_the_papers_shape,
    in_words,
    notes,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLE = """
body { font: 16px/1.5 Georgia, serif; max-width: 78rem; margin: 2rem auto; padding: 0 1rem; color: #111; }
h1, h2, h3 { line-height: 1.2; } h2 { border-top: 2px solid #111; padding-top: 1rem; margin-top: 3rem; }
table { border-collapse: collapse; font: 13px/1.35 ui-monospace, Menlo, monospace; margin: 1rem 0; }
td, th { padding: 0.15rem 0.6rem; text-align: right; white-space: nowrap; }
td:first-child, th:first-child { text-align: left; } thead th { border-bottom: 1px solid #111; }
th.inner { text-align: left; padding-top: 0.8rem; } .wide { overflow-x: auto; }
img { max-width: 100%; } code { font-size: 0.9em; } .note { font-size: 0.9em; }
"""

_READING = (
    "A number of ours is a mean over trials ± its standard error. In brackets: (ours - paper) in combined standard "
    "errors. The paper gives none, so its error is taken to be what ours would be with its 20 trials. Within 4, or "
    "within the rounding of the printed number, is a match; beyond, a letter points to the reason. No cell was tuned."
)

KNOWN = (
    (
        "The tables do not come out of the printed constants. `printed` follows the text; `published` takes the "
        "constants of the paper's logistic example (G = 1), the per-call epsilon of cor:privacy-mle, the square root "
        "of composition in PrivateCov, each written somewhere in the paper, and leaves an indefinite Lambda as it is, "
        "of which the paper says nothing. What the authors' program took is not known."
    ),
    "At T = 1e5, d = 2 the paper's regret rises from epsilon = 1 to 5, though less noise is drawn.",
    (
        "The cell epsilon_1 = epsilon_2 = 0.1 at T = 1e5 is printed three times with three values: its own runs "
        "differ by 3 % at d = 2 and 8 % at d = 3."
    ),
    "Input perturbation: no noise law is given. The paper's 393 is exactly the regret of always asking p = 1.",
    "fig:regret-main is said to be much below random prices at epsilon = 0.02; tab:diffeps has 0.0247 against 0.0251.",
    (
        "The figures' images are not in the text we work from: their grids are our reading, and only tables can be "
        "compared number by number."
    ),
    "The best fixed price in hindsight loses 5.4e-4 at d = 2 and 10.7e-4 at d = 3. It is shown beside every result.",
)


def report(plan: ReproductionPlan, outcomes: Sequence[MeasuredExperiment], *, seconds: float) -> str:
    """The page of all experiments as HTML."""
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><title>The paper's numbers, run again</title>",
        f"<style>{_STYLE}</style></head><body><h1>The paper's numbers, run again</h1>",
        _paragraph(
            "Tables and figures of “Privacy-Preserving Dynamic Personalized Pricing with Demand Learning” (Chen, "
            "Simchi-Levi, Wang), each by its LaTeX label."
        ),
        "<h2>What was run</h2>",
        _list(_what_was_run(plan, outcomes, seconds)),
        "<h2>What matched</h2>",
        _paragraph(_READING),
        _wide(_summary(outcomes)),
        "<h2>What did not, and why</h2>",
        _list(_differing(outcomes)),
        "<h3>Known before any run</h3>",
        _list(KNOWN),
        *(_section(outcome) for outcome in outcomes),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _what_was_run(plan: ReproductionPlan, outcomes: Sequence[MeasuredExperiment], seconds: float) -> list[str]:
    results = {row.cell: row.result for outcome in outcomes for row in outcome.rows}
    periods = sum(result.trials * result.horizon for result in results.values())
    work, (some, *_) = sum(result.seconds for result in results.values()), results.values()
    # One place for all. On a GPU cells run at once, and a batch's seconds are shared out among its cells.
    computer = "one core" if some.device == "cpu" else f"a GPU in {some.precision} precision, several cells at once"
    fresh = sum(outcome.new_periods for outcome in outcomes)
    rest = "; the rest was there already" if fresh < periods else ""
    size = "quick: horizons a hundredth of the paper's, so nothing is compared with it" if plan.quick else "full size"
    return [
        f"hushprice {__version__}, seed {plan.seed}, {plan.trials} trials of every cell, {size}.",
        f"{len(results)} different cells, {periods:.3g} customers in all. Shared cells ran once.",
        f"{work:.0f} seconds of {computer}, {periods / max(work, 1e-9) / 1e6:.1f} million customers in each.",
        f"This run: {fresh:.3g} customers, {seconds:.0f} seconds by the clock{rest}.",
        f"Python {platform.python_version()} on {platform.system()}, {os.cpu_count()} cores.",
    ]


def _summary(outcomes: Sequence[MeasuredExperiment]) -> TextTable:
    lines = []
    for outcome in outcomes:
        compared = [row for row in outcome.rows if row.matches is not None]
        meant = [row for row in compared if row.entry.contender not in NOT_MEANT_TO_MATCH]
        close = sum(row.matches is True for row in meant)
        verdict = f"{close} of {len(meant)}" if meant else "nothing to compare"
        lines.append([outcome.experiment.label, outcome.experiment.title, str(outcome.cells), verdict])
    return TextTable(["label", "what it shows", "cells", "matched"], lines)


def _differing(outcomes: Sequence[MeasuredExperiment]) -> list[str]:
    """Every cell that should match and does not, under its reason."""
    lines = []
    for outcome in outcomes:
        experiment = outcome.experiment
        differing: dict[str, list[str]] = {}
        for row in outcome.rows:
            if row.matches is False and row.entry.contender not in NOT_MEANT_TO_MATCH:
                differing.setdefault(experiment.reason(row), []).append(in_words(experiment, row))
        lines += [f"{experiment.label}: {'; '.join(cells)}. {reason}" for reason, cells in differing.items()]
    return lines or ["No cell that can be compared differs."]


def _section(outcome: MeasuredExperiment) -> str:
    experiment, rows = outcome.experiment, outcome.rows
    parts = [f"<h2>{html.escape(experiment.label)}: {html.escape(experiment.title)}</h2>"]
    parts += [_paragraph(experiment.about), _list(experiment.findings(rows))]
    parts += [_image(name, figure) for name, figure in experiment.figures(rows).items()]
    parts += [f"<h3>In {html.escape(experiment.measured)}</h3>", _wide(in_the_papers_shape(experiment, rows))]
    compared = cell_by_cell(experiment, rows)
    if compared is not None:
        parts += ["<h3>Cell by cell</h3>", _wide(compared)]
    parts += [f'<p class="note">{_inline(note)}</p>' for note in notes(experiment, rows)]
    return "\n".join(parts)


def _image(name: str, figure: Figure) -> str:
    """An image element that holds the picture itself."""
    content = io.BytesIO()
    figure.savefig(content, format="svg")
    data = base64.b64encode(content.getvalue()).decode()
    return f'<img alt="{html.escape(name)}" src="data:image/svg+xml;base64,{data}">'


def _wide(table: TextTable) -> str:
    return f'<div class="wide">{table.html()}</div>'


def _paragraph(text: str) -> str:
    return f"<p>{_inline(text)}</p>"


def _list(texts: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{_inline(text)}</li>" for text in texts) + "</ul>"


def _inline(text: str) -> str:
    """The text escaped for HTML, with `names` set as code."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(text))
