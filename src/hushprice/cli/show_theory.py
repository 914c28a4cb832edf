"""Findings for people: one table, one line of explanation each, and their rows when a check was named."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from hushprice.research.theory.finding import Cell, Finding, Row


def done(name: str, count: int, whole: int) -> None:
    """Progress on stderr, for a person only."""
    if sys.stderr.isatty():
        sys.stderr.write(f"{count}/{whole} {name}\n")


def table(findings: Sequence[Finding], *, detailed: bool, files: Sequence[Path] = ()) -> None:
    """The readable report."""
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else 118, highlight=False, markup=False, emoji=False)
    headings = ("check", "verdict", "measured", "bound", "of")
    rows: list[Row] = [
        dict(zip(headings, (each.name, each.verdict, each.measured, each.bound, each.quantity), strict=True))
        for each in findings
    ]
    console.print(_view(rows))
    for each in findings:
        console.print(
            f"\n{each.name} ({each.label})\n  Stated: {each.statement}\n  Found: {each.explanation}", soft_wrap=True
        )
        if each.false_alarm is not None:
            console.print(f"  Chance of a false alarm: at most {each.false_alarm:.2g}.", soft_wrap=True)
        if detailed:
            for group in _groups(each.rows):
                console.print()
                console.print(_view(group))
    console.print("\nVacuous: at practical sizes the bound says no more than was known without it.", soft_wrap=True)
    for file in files:
        console.print(f"wrote {file}", soft_wrap=True)


def _groups(rows: Sequence[Row]) -> list[list[Row]]:
    """Neighbouring rows with the same headings."""
    groups: list[list[Row]] = []
    for row in rows:
        if groups and list(groups[-1][0]) == list(row):
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups


def _view(rows: Sequence[Row]) -> Table:
    from rich.table import Table

    view = Table(box=None, padding=(0, 2, 0, 0))
    for heading, value in rows[0].items():
        view.add_column(heading, justify="left" if isinstance(value, str) else "right", overflow="fold")
    for row in rows:
        view.add_row(*(_text(value) for value in row.values()))
    return view


def _text(value: Cell) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
