"""Findings for people: one table, one line of explanation each, and their rows when a check was named."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hushprice.cli import show

if TYPE_CHECKING:
    from rich.table import Table

    from hushprice.research.theory.finding import FindingRow, FindingValue, TheoryFinding


def done(name: str, count: int, whole: int) -> None:
    """Print progress on stderr, for a person only."""
    if sys.stderr.isatty():
        sys.stderr.write(f"{count}/{whole} {name}\n")


def table(findings: Sequence[TheoryFinding], *, detailed: bool, files: Sequence[Path] = ()) -> None:
    """Print the findings for people."""
    out = show.console()
    headings = ("check", "verdict", "measured", "bound", "of")
    rows: list[FindingRow] = [
        dict(zip(headings, (each.name, each.verdict, each.measured, each.bound, each.quantity), strict=True))
        for each in findings
    ]
    out.print(_view(rows))
    for each in findings:
        out.print(
            f"\n{each.name} ({each.label})\n  Stated: {each.statement}\n  Found: {each.explanation}", soft_wrap=True
        )
        if each.false_alarm is not None:
            out.print(f"  Chance of a false alarm: at most {each.false_alarm:.2g}.", soft_wrap=True)
        if detailed:
            for group in _groups(each.rows):
                out.print()
                out.print(_view(group))
    out.print("\nVacuous: at practical sizes the bound says no more than was known without it.", soft_wrap=True)
    for file in files:
        out.print(f"wrote {file}", soft_wrap=True)


def _groups(rows: Sequence[FindingRow]) -> list[list[FindingRow]]:
    """Neighbouring rows with the same headings."""
    groups: list[list[FindingRow]] = []
    for row in rows:
        if groups and list(groups[-1][0]) == list(row):
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups


def _view(rows: Sequence[FindingRow]) -> Table:
    from rich.table import Table

    view = Table(box=None, padding=(0, 2, 0, 0))
    for heading, value in rows[0].items():
        view.add_column(heading, justify="left" if isinstance(value, str) else "right", overflow="fold")
    for row in rows:
        view.add_row(*(_text(value) for value in row.values()))
    return view


def _text(value: FindingValue) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
