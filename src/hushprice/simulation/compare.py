"""Several policies on one market, on the same customers with the same random numbers, and one picture of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hushprice.errors import InvalidInput
from hushprice.policies.catalog import NAMES, read_by
from hushprice.policies.paper.calibration import CALIBRATIONS
from hushprice.simulation.atomic_file import write_figure, write_parquet
from hushprice.simulation.drawing import regret_picture
from hushprice.simulation.result import SimulationResult
from hushprice.simulation.run import Progress, prepare, run

DEFAULT = (
    "noisy-newton",
    "paper@tight",
    "paper@published",
    "paper@printed",
    "nonprivate",
    "input-perturbation",
    "random",
    "fixed",
)
YARDSTICK = "fixed"  # the best one price for everyone, in hindsight: what personalization has to beat


def compare_policies(
    policies: Sequence[str],
    *,
    trials: int = 20,
    workers: int | None = None,
    progress: Progress | None = None,
    **setting: Any,
) -> list[SimulationResult]:
    """One result a policy, all of them checked before the first one runs.

    `name@calibration` picks a calibration; `setting` is what `prepare` takes.

    >>> [each.policy for each in compare_policies(["random"], horizon=500, trials=2, workers=1)]
    ['random', 'fixed']
    """
    chosen = [parse(name) for name in dict.fromkeys([*policies, YARDSTICK])]
    names = [parse(name)[0] for name in policies]  # the yardstick that nobody asked for reads nothing
    jobs = [
        prepare(policy, calibration=calibration, **read_by(policy, setting, names)) for policy, calibration in chosen
    ]
    results: list[SimulationResult] = []
    for index, job in enumerate(jobs):

        def advance(done: int, whole: int, before: int = index) -> None:
            if progress is not None:
                progress(before * whole + done, len(jobs) * whole)

        results.append(run(job, trials=trials, workers=workers, progress=advance))
    return results


def write_comparison(results: Sequence[SimulationResult], folder: Path) -> list[Path]:
    """The picture as PNG and SVG and every trial as Parquet; returns the files."""
    import polars

    first = results[0]
    figure = regret_picture(results, title=f"{first.market}: {first.horizon:,} customers, {first.trials} trials")
    files = [folder / "comparison.png", folder / "comparison.svg", folder / "trials.parquet"]
    write_figure(figure, files[0])
    write_figure(figure, files[1])
    write_parquet(polars.concat([result.frame() for result in results]), files[2])
    return files


def parse(name: str) -> tuple[str, str]:
    """Policy and calibration, where one is named."""
    policy, at, calibration = name.partition("@")
    if at and (policy != "paper" or calibration not in CALIBRATIONS):
        known = ", ".join(f"paper@{each}" for each in CALIBRATIONS)
        raise InvalidInput(f"policy with a calibration must be one of {known}, got {name!r}")
    if policy not in NAMES and ":" not in policy:
        raise InvalidInput(f"policy must be one of {', '.join(NAMES)}, or module:Class, got {name!r}")
    return policy, calibration or "tight"
