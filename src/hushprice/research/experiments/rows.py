"""Rows: what was measured beside what the paper prints, how far apart, and why where they differ."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hushprice.research.experiments.experiment import Experiment, PaperEntry
from hushprice.research.sweeps.cell import Cell
from hushprice.simulation.result import Mean, SimulationResult

if TYPE_CHECKING:
    import polars

FAR = 4.0  # combined standard errors beyond which a number does not match
PAPERS_TRIALS = 20  # of each of its settings (sec:numerical)


@dataclass(frozen=True, kw_only=True, eq=False)
class ReproducedEntry:
    """One entry, what was measured for it, and the cell it comes from."""

    entry: PaperEntry
    measured: Mean
    result: SimulationResult
    cell: Cell

    @property
    def mean(self) -> float:
        return math.nan if self.measured.mean is None else self.measured.mean

    @property
    def error(self) -> float:
        """The mean's standard error; NaN for a single trial."""
        return math.nan if self.measured.standard_error is None else self.measured.standard_error

    @property
    def distance(self) -> float | None:
        """(ours - paper) in combined standard errors; the paper's, which it does not give, as ours with its trials."""
        if self.entry.paper is None or not self.error > 0.0:
            return None
        return (self.mean - self.entry.paper.value) / (math.sqrt(1.0 + self.result.trials / PAPERS_TRIALS) * self.error)

    @property
    def rounds_to_paper(self) -> bool:
        """Whether it is within the rounding of the printed number."""
        paper = self.entry.paper
        return paper is not None and abs(self.mean - paper.value) <= paper.rounding

    @property
    def matches(self) -> bool | None:
        """Within FAR standard errors or the paper's rounding; None where there is nothing to compare."""
        distance = self.distance
        return None if distance is None else abs(distance) <= FAR or self.rounds_to_paper


def reproduced_entries(
    experiment: Experiment, results: Mapping[Cell, SimulationResult], *, quick: bool, seed: int
) -> list[ReproducedEntry]:
    """The experiment's entries with their results."""
    rows = []
    for entry in experiment.entries(quick=quick):
        cell = entry.cell(seed)
        result = results[cell]
        rows.append(
            ReproducedEntry(entry=entry, measured=getattr(result, experiment.quantity), result=result, cell=cell)
        )
    return rows


def reasons(experiment: Experiment, rows: Sequence[ReproducedEntry]) -> dict[str, str]:
    """Every reason that some row far from the paper needs, under a letter."""
    needed = dict.fromkeys(experiment.reason(row) for row in rows if row.matches is False)
    return dict(zip("abcdefghijklmnopqrstuvwxyz", needed, strict=False))


def frame(experiment: Experiment, rows: Sequence[ReproducedEntry]) -> polars.DataFrame:
    """The data of the table or figure: one row an entry."""
    import polars

    records = [_record(experiment, row) for row in rows]
    texts = ("label", "policy", "calibration", "quantity", "group", "line", "column", "reason", "key")
    counts = ("horizon", "dimension", "trials", "seed")
    types: dict[str, Any] = dict.fromkeys(records[0], polars.Float64)
    types |= dict.fromkeys(texts, polars.String) | dict.fromkeys(counts, polars.Int64) | {"matches": polars.Boolean}
    return polars.DataFrame(records, schema=types)


def _record(experiment: Experiment, row: ReproducedEntry) -> dict[str, Any]:
    entry, setting, result = row.entry, row.entry.setting, row.result
    spent = entry.contender.reads_budget
    return {
        "label": experiment.label,
        "group": entry.group,
        "line": entry.line,
        "column": entry.column,
        "policy": result.policy,
        "calibration": result.calibration,
        "horizon": setting.horizon,
        "dimension": setting.dimension,
        "epsilon_covariance": setting.epsilon_covariance if spent else None,
        "epsilon_estimate": setting.epsilon_estimate if spent else None,
        "delta_of_each": float(setting.horizon) ** -setting.power if spent else None,
        "claimed_epsilon": None if result.claimed is None else result.claimed.epsilon,
        "proven_epsilon": None if result.proven is None else result.proven.epsilon,
        "trials": result.trials,
        "seed": result.seed,
        "quantity": experiment.quantity,
        "ours": row.measured.mean,
        "standard_error": row.measured.standard_error,
        "paper": None if entry.paper is None else entry.paper.value,
        "distance": row.distance,
        "matches": row.matches,
        "reason": experiment.reason(row) if row.matches is False else None,
        "key": row.cell.key,
    }
