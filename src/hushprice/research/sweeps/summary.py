"""A sweep's results side by side: one row a cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hushprice.policies.protocol import Policy
from hushprice.research.sweeps.cell import Cell
from hushprice.simulation.device import CPU, ChosenDevice
from hushprice.simulation.result import Mean, SimulationResult

if TYPE_CHECKING:
    import polars

_SETTINGS = (  # as columns, in this order
    "price",
    "exploration_periods",
    "ridge",
    "width",
    "reference_price",
    "trigger",
    "bonus",
    "noise",
    "max_estimates",
)
_MEANS = ("average_regret", "average_revenue", "average_surplus")


def summary_row(cell: Cell, result: SimulationResult, chosen: ChosenDevice = CPU) -> dict[str, Any]:
    """The cell's setting as it was resolved, null where the policy does not read it, and what was found there."""
    job = cell.prepare()
    built = job.policy if isinstance(job.policy, Policy) else None
    reads_budget = built is None or built.reads_budget
    setting = {} if built is None else built.settings
    row: dict[str, Any] = {
        "policy": result.policy,
        "calibration": result.calibration,
        "market": result.market,
        "features": job.market.features.name,
        "horizon": result.horizon,
        "dimension": result.dimension,
        "epsilon": job.budget.total.epsilon if reads_budget else None,
        "delta": job.budget.total.delta if reads_budget else None,
        "epsilon_covariance": job.budget.covariance.epsilon if reads_budget else None,
        "epsilon_estimate": job.budget.estimates.epsilon if reads_budget else None,
        "adjacency": result.adjacency.value,
        **{name: setting.get(name) for name in _SETTINGS},
        "seed": result.seed,
        "trials": result.trials,
        "device": result.device,
        "precision": result.precision,
    }
    for name in _MEANS:
        value: Mean = getattr(result, name)
        row |= {name: value.mean, f"{name}_error": value.standard_error}
    return row | {
        "estimates": float(result.estimates.mean()),
        "claimed_epsilon": None if result.claimed is None else result.claimed.epsilon,
        "proven_epsilon": None if result.proven is None else result.proven.epsilon,
        "hindsight": result.hindsight,
        "seconds": result.seconds,
        "key": cell.key_at(chosen),
    }


def summary_frame(results: Mapping[Cell, SimulationResult], chosen: ChosenDevice = CPU) -> polars.DataFrame:
    """One row a cell, in the order given."""
    import polars

    texts = ("policy", "calibration", "market", "features", "adjacency", "device", "precision", "key")
    flags = ("hindsight", "trigger", "bonus", "noise")
    counts = ("horizon", "dimension", "exploration_periods", "max_estimates", "seed", "trials")
    rows = [summary_row(cell, result, chosen) for cell, result in results.items()]
    types: dict[str, Any] = dict.fromkeys(rows[0], polars.Float64)
    types |= (
        dict.fromkeys(texts, polars.String) | dict.fromkeys(counts, polars.Int64) | dict.fromkeys(flags, polars.Boolean)
    )
    return polars.DataFrame(rows, schema=types)
