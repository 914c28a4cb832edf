"""Runs of the policies whose growth is measured, each cell with customers of its own so that cells are independent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hushprice.research.theory.finding import CheckSize, FindingRow, GrowthCurve
from hushprice.research.theory.statistics import MeanInterval, power
from hushprice.simulation.result import SimulationResult
from hushprice.simulation.run import simulate
from hushprice.types import FloatArray

POLICIES = ("paper@published", "paper@tight", "nonprivate")


def results(policy: str, cells: Sequence[dict[str, Any]], size: CheckSize, *, trials: int) -> list[SimulationResult]:
    """One result a cell; `cells` holds what `simulate` takes."""
    name, _, calibration = policy.partition("@")
    extra: dict[str, Any] = {"calibration": calibration} if calibration else {}
    extra |= {"trials": trials, "workers": size.workers, "device": size.device, "precision": size.precision}
    return [simulate(name, seed=size.seed + 7919 * index, **extra, **cell) for index, cell in enumerate(cells)]


def totals(simulated: Sequence[SimulationResult]) -> list[FloatArray]:
    """Regret summed over the horizon, one array of trials a cell."""
    return [each.regret * each.horizon for each in simulated]


def growth_rows(policy: str, axis: str, x: Sequence[float], samples: Sequence[FloatArray]) -> list[FindingRow]:
    """A row a cell, with the power of growth since the cell before."""
    rows: list[FindingRow] = []
    for index, (at, sample) in enumerate(zip(x, samples, strict=True)):
        since = "-" if index == 0 else str(power(x[index - 1 : index + 1], samples[index - 1 : index + 1]))
        rows.append(
            {
                "policy": policy,
                axis: at,
                "regret": round(float(sample.mean()), 1),
                "standard error": round(float(sample.std(ddof=1)) / sample.size**0.5, 1),
                "power since the row above": since,
            }
        )
    return rows


def curve(policy: str, axis: str, x: Sequence[float], samples: Sequence[FloatArray], rate: float) -> GrowthCurve:
    """A line of a picture: means of the samples over x, with their standard errors."""
    return GrowthCurve(
        name=policy,
        axis=axis,
        x=tuple(map(float, x)),
        y=tuple(float(sample.mean()) for sample in samples),
        error=tuple(float(sample.std(ddof=1)) / sample.size**0.5 for sample in samples),
        rate=rate,
    )


def shown(powers: dict[str, MeanInterval]) -> str:
    """The powers in one line: 'paper@tight 0.21 [0.10, 0.32], ...'."""
    return ", ".join(f"{name} {value}" for name, value in powers.items())
