"""Attacks and audits for people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hushprice.cli import show

if TYPE_CHECKING:
    from hushprice.privacy.budget import EpsilonDelta
    from hushprice.research.audits.attack import Attack
    from hushprice.research.audits.finding import AuditFinding, Measurement


def attacks(attacked: Sequence[Attack], files: Sequence[Path]) -> None:
    """Print what watchers of later prices gained."""
    first = attacked[0]
    rows = [
        {
            "policy": each.label,
            "story": each.story,
            "advantage": f"{each.advantage:.3f}",
            "interval": f"{each.low:.3f} to {each.high:.3f}",
            "allowed": "-" if each.allowed is None else f"{each.allowed:.3f}",
            "by": each.statistic,
            "privacy claimed": _privacy(each.claimed),
        }
        for each in attacked
    ]
    title = (
        f"{first.horizon:,} customers, the one of period {first.period} watched, other customers {first.others}; "
        f"{first.runs:,} runs of each world, seed {first.seed}"
    )
    beaten = ", ".join(f"{each.label} ({each.story})" for each in attacked if each.refuted) or "none here"
    reading = [
        "Advantage: how much more often a test of later prices says yes when it should than when it should not.",
        f"Intervals hold together with confidence {first.confidence:g}. A cleverer watcher may gain more.",
        f"Claims that a watcher beat: {beaten}.",
    ]
    _print(title, rows, [*reading, *(f"wrote {file}" for file in files)])


def findings(audited: Sequence[AuditFinding]) -> None:
    """Print lower bounds on epsilon beside what was stated."""
    first = audited[0]
    rows = [
        {
            "audit": each.audit,
            "policy": each.label,
            "story": each.story,
            "epsilon >=": f"{each.epsilon_lower_bound:.3f}",
            "claimed": _privacy(each.claimed),
            "proven": "-" if each.proven is None else _privacy(each.proven),
            "verdict": "REFUTED" if each.refuted else "nothing claimed" if each.claimed is None else "not refuted",
        }
        for each in audited
    ]
    reading = [
        f"All bounds hold together with confidence {first.confidence:g}. A bound above a claim refutes it.",
        "An audit finds faults. That it finds none proves nothing.",
    ]
    _print(f"{first.horizon:,} customers; {first.runs:,} runs of each world, seed {first.seed}", rows, reading)


def _privacy(pair: EpsilonDelta | None) -> str:
    return "NOT PRIVATE" if pair is None else f"eps {pair.epsilon:g}, delta {pair.delta:.2g}"


def measurements(measured: Sequence[tuple[str, Measurement]], runs: int) -> None:
    """Print what a look inside the releasers measured, beside what is allowed."""
    rows = [
        {
            "policy": name,
            "measured": each.name,
            "found": f"{each.found:.6g}",
            "allowed": f"{each.allowed:.6g}",
            "verdict": "holds" if each.holds else "FAILS",
        }
        for name, each in measured
    ]
    reading = [f"{name}: {each.detail}" for name, each in measured]
    _print(f"Inside the releasers, {runs:,} draws a pair of neighbours", rows, reading)


def _print(title: str, rows: Sequence[dict[str, str]], lines: Sequence[str]) -> None:
    headings = list(rows[0])
    out, view = show.console(), show.columns(headings, left=set(headings) - {"advantage", "allowed", "epsilon >="})
    for row in rows:
        view.add_row(*row.values())
    out.print(f"{title}\n", soft_wrap=True)
    out.print(view)
    for line in ("", *lines):
        out.print(line, soft_wrap=True)
