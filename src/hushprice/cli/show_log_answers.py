"""What a log says, for people and for machines."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from hushprice.cli import show
from hushprice.logs.evaluation import Evaluation
from hushprice.logs.model_check import ModelCheck
from hushprice.logs.release_values import ReleasedValues
from hushprice.logs.values import EarningsEstimate
from hushprice.privacy.ledger import Ledger
from hushprice.research.experiments.tables import TextTable


def plain(answer: Evaluation | ReleasedValues | ModelCheck) -> dict[str, Any]:
    """The answer as JSON has it; of a ledger, what was claimed, proven and spent."""
    made: dict[str, Any] = {}
    for field in fields(answer):
        value = getattr(answer, field.name)
        if isinstance(value, Ledger):
            made[field.name] = {
                "adjacency": value.adjacency.value,
                "claimed": None if value.claimed is None else asdict(value.claimed),
                "proven": None if value.proven is None else asdict(value.proven),
                "spent": [{"event": type(each.event).__name__, **asdict(each.event)} for each in value.spent],
            }
        elif isinstance(value, tuple):
            made[field.name] = [asdict(each) for each in value]
        else:
            made[field.name] = asdict(value) if hasattr(value, "__dataclass_fields__") else value
    return made


def values(answer: Evaluation | ReleasedValues) -> None:
    """Print what a policy would have earned."""
    show.text(answer.label)
    show.text(f"Policy: {answer.policy}. Propensities: {answer.propensities}.")
    show.text(answer.verdict)
    rows = [_line(name, each) for name, each in _estimates(answer)]
    if rows:
        show.text("Earned a visit, in currency:\n")
        show.text_table(TextTable(["estimate", "value", f"{answer.level:.0%} interval", "+-"], rows))
        show.text("")
    if isinstance(answer, Evaluation):
        seen = answer.overlap
        shares = f"{seen.weighted / seen.rows:.1%} of {seen.rows:,} rows have a weight"
        show.text(f"Overlap: {shares}; the largest is {seen.largest:.2%} of all; replay kept {answer.replayed:,} rows.")
    else:
        _spent(answer.ledger)


def model(answer: ModelCheck) -> None:
    """Print how a fit stands against a log."""
    show.text(answer.label)
    show.text("Calibration, demand as a share of the largest quantity:\n")
    bins = [[f"{each.low:.4f} to {each.high:.4f}", f"{each.rows:,.0f}", *_beside(each)] for each in answer.bins]
    show.text_table(TextTable(["believed demand", "rows", "believed", "observed", "+-"], bins))
    show.text("\nHow much less is bought above today's price than up to it:\n")
    lines = [[each.name, f"{each.rows:,.0f}", *_beside(each)] for each in answer.segments]
    show.text_table(TextTable(["segment", "rows", "believed", "observed", "+-"], lines))
    show.text("")
    show.text(f"Chances of such gaps, were the fit right: bins {answer.calibration:.2g}, price {answer.response:.2g}.")
    if answer.richer is not None:
        tested = f"{answer.richer.terms} terms, chi-square {answer.richer.statistic:.1f}"
        show.text(f"A richer model: {tested}; chance {answer.richer.chance:.2g}, were the model right.")
    if answer.ledger is not None:
        _spent(answer.ledger)
    show.text(answer.verdict)


def _beside(each: Any) -> list[str]:
    return [f"{each.believed:.4f}", f"{each.observed:.4f}", f"{each.error:.4f}"]


def _estimates(answer: Evaluation | ReleasedValues) -> list[tuple[str, EarningsEstimate | None]]:
    """Of the policy only where the log can answer: nobody reads a sentence that says no below a number."""
    own: list[tuple[str, EarningsEstimate | None]] = []
    made = [
        ("inverse propensity", answer.inverse_propensity),
        ("self-normalized", answer.self_normalized),
        ("doubly robust", answer.doubly_robust),
    ]
    if isinstance(answer, Evaluation):
        own.append(("the log's own prices", answer.logged))
        made += [("replay", answer.replay), ("gain, doubly robust", answer.gain)]
    shown = [*own, *(made if answer.answerable else [])]
    return [(name, each) for name, each in shown if each is not None]


def _line(name: str, each: EarningsEstimate | None) -> list[str]:
    assert each is not None
    return [name, f"{each.value:.4f}", f"{each.low:.4f} to {each.high:.4f}", f"{each.error:.4f}"]


def _spent(ledger: Ledger) -> None:
    proven = ledger.proven
    assert proven is not None
    who = "whoever is in the log, with all rows that count"
    show.text(f"Cost: epsilon {proven.epsilon:.4g} at delta {proven.delta:.2g}, {ledger.adjacency.value}, {who}.")
