"""Rows as tables of text: in the paper's shape, and cell by cell against it. Then as Markdown or HTML."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hushprice.research.experiments.experiment import NEWTON, PRINTED, TIGHT, Experiment
from hushprice.research.experiments.rows import ReproducedEntry, reasons

NOT_MEANT_TO_MATCH = (PRINTED, TIGHT, NEWTON)


@dataclass(frozen=True)
class TextTable:
    """Headings, and lines of text as long as they are; a line of one text is a heading inside the table."""

    headings: list[str]
    lines: list[list[str]]

    def markdown(self) -> str:
        """The table as GitHub writes one; inner headings are set bold."""
        out = [_pipes(self.headings), _pipes(["---", *["---:"] * (len(self.headings) - 1)])]
        for line in self.lines:
            whole = [f"**{line[0]}**", *[""] * (len(self.headings) - 1)] if len(line) == 1 else line
            out.append(_pipes(whole))
        return "\n".join(out) + "\n"

    def html(self) -> str:
        """The table as an HTML element without style of its own."""
        head = "".join(f"<th>{html.escape(text)}</th>" for text in self.headings)
        body = []
        for line in self.lines:
            if len(line) == 1:
                body.append(f'<tr><th class="inner" colspan="{len(self.headings)}">{html.escape(line[0])}</th></tr>')
            else:
                body.append("<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in line) + "</tr>")
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def in_the_papers_shape(experiment: Experiment, rows: Sequence[ReproducedEntry]) -> TextTable:
    """Blocks and columns as the paper has them; ours as mean ± standard error (distance) [reason]."""
    columns = list(dict.fromkeys(row.entry.column for row in rows))
    letters = {reason: letter for letter, reason in reasons(experiment, rows).items()}
    lines: list[list[str]] = []
    for group in dict.fromkeys(row.entry.group for row in rows):
        lines.append([group])
        block = [row for row in rows if row.entry.group == group]
        for name, texts in _paper_lines(experiment, block).items():
            lines.append([name, *(texts.get(column, "") for column in columns)])
        for line in dict.fromkeys(row.entry.line for row in block):
            texts = {row.entry.column: _text(experiment, row, letters) for row in block if row.entry.line == line}
            lines.append([line, *(texts.get(column, "") for column in columns)])
    return TextTable(["", *columns], lines)


def cell_by_cell(experiment: Experiment, rows: Sequence[ReproducedEntry]) -> TextTable | None:
    """Every number of the paper beside the one meant to match it, with a verdict; None where the paper has none."""
    compared = [row for row in rows if row.matches is not None and row.entry.contender not in NOT_MEANT_TO_MATCH]
    letters = {reason: letter for letter, reason in reasons(experiment, rows).items()}
    lines = []
    for row in compared:
        entry = row.entry
        verdict = "matches" if row.matches else f"differs [{letters[experiment.reason(row)]}]"
        ours = with_error(row.mean, row.error, experiment.unit)
        lines.append([_cell_name(row), entry.line, _paper(experiment, row), ours, _far(row.distance or 0.0), verdict])
    headings = ["cell", "policy", "paper", "ours ± standard error", "distance", "verdict"]
    return TextTable(headings, lines) if lines else None


def with_error(mean: float, error: float, unit: float) -> str:
    """Mean ± standard error in a unit, with digits that fit.

    >>> with_error(0.0217, 0.00091, 1e-4), with_error(0.00056, math.nan, 1e-4), with_error(0.2448, 0.0004, 1.0)
    ('217 ± 9', '5.60', '0.2448 ± 0.0004')
    """
    size = abs(mean / unit)
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 4 if unit == 1.0 else 3
    shown = f"{mean / unit:.{digits}f}"
    return shown if math.isnan(error) else f"{shown} ± {error / unit:.{digits}f}"


def in_words(experiment: Experiment, row: ReproducedEntry) -> str:
    """One number of ours beside the paper's, in running text."""
    ours = with_error(row.mean, row.error, experiment.unit)
    return f"{row.entry.line} at {_cell_name(row)}: paper {_paper(experiment, row)}, ours {ours}"


def _cell_name(row: ReproducedEntry) -> str:
    entry = row.entry
    return f"{entry.group}, {entry.column}" if entry.contender.reads_budget else entry.group


def _paper_lines(experiment: Experiment, block: Sequence[ReproducedEntry]) -> dict[str, dict[str, str]]:
    """The paper's own lines of a block; a policy with other numbers in the same columns has a line of its own."""
    lines: dict[str, dict[str, str]] = {}
    for row in block:
        if row.entry.paper is not None:
            column, text = row.entry.column, _paper(experiment, row)
            taken = lines.setdefault("paper", {}).setdefault(column, text)
            if taken != text:
                lines.setdefault(f"paper, {row.entry.line}", {})[column] = text
    return lines


def _paper(experiment: Experiment, row: ReproducedEntry) -> str:
    paper = row.entry.paper
    if paper is None:
        return ""
    return paper.text if paper.unit == experiment.unit else f"{paper.value / experiment.unit:.4g}"


def _text(experiment: Experiment, row: ReproducedEntry, letters: dict[str, str]) -> str:
    text = with_error(row.mean, row.error, experiment.unit)
    if row.distance is None:
        return text
    mark = "" if row.matches else f" [{letters[experiment.reason(row)]}]"
    return f"{text} ({_far(row.distance)}){mark}"


def _far(distance: float) -> str:
    return f"{distance:+.1f}" if abs(distance) < 100.0 else f"{distance:+.0f}"


def _pipes(texts: Sequence[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"


def notes(experiment: Experiment, rows: Sequence[ReproducedEntry]) -> Iterator[str]:
    """The reasons under their letters."""
    for letter, reason in reasons(experiment, rows).items():
        yield f"[{letter}] {reason}"
