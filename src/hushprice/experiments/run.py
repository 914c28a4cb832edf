"""Experiments to folders: cells that several of them share run once, and finished trials are never run again."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from hushprice.experiments.experiment import Experiment
from hushprice.experiments.rows import Row, rows_of
from hushprice.simulation.result import SimulationResult
from hushprice.simulation.run import Progress
from hushprice.sweeps.cell import Cell
from hushprice.sweeps.executors import Executor
from hushprice.sweeps.run import run_cells
from hushprice.sweeps.store import Store

QUICK_TRIALS = 4


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is asked for; a result depends on this alone."""

    experiments: tuple[Experiment, ...]
    trials: int
    seed: int
    quick: bool = False

    def cells(self, experiment: Experiment) -> list[Cell]:
        """The experiment's cells, each once."""
        return list(dict.fromkeys(entry.cell(self.seed) for entry in experiment.entries(quick=self.quick)))


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """One experiment, measured."""

    experiment: Experiment
    rows: list[Row]
    cells: int
    new_cells: int  # not shared with an experiment before it
    new_periods: int  # of this run; the others were in the store
    seconds: float  # of this run


Done = Callable[[Outcome], None]


def measure(
    plan: Plan,
    *,
    store: Store,
    executor: Executor,
    progress: Progress | None = None,
    on_done: Done | None = None,
) -> list[Outcome]:
    """Every experiment of the plan, one after another; `on_done` is called with each as it ends."""
    results: dict[Cell, SimulationResult] = {}
    whole = plan.trials * sum(cell.horizon for cell in {cell for each in plan.experiments for cell in plan.cells(each)})
    before = 0
    outcomes = []
    for experiment in plan.experiments:
        started = time.perf_counter()
        cells = plan.cells(experiment)
        new = [cell for cell in cells if cell not in results]
        size = plan.trials * sum(cell.horizon for cell in new)
        missing = 0

        def advance(done: int, left: int, before: int = before, size: int = size) -> None:
            nonlocal missing
            missing = left
            if progress is not None:
                progress(before + size - left + done, whole)

        results |= run_cells(new, trials=plan.trials, store=store, executor=executor, progress=advance)
        before += size
        outcome = Outcome(
            experiment=experiment,
            rows=rows_of(experiment, results, quick=plan.quick, seed=plan.seed),
            cells=len(cells),
            new_cells=len(new),
            new_periods=missing,
            seconds=time.perf_counter() - started,
        )
        outcomes.append(outcome)
        if on_done is not None:
            on_done(outcome)
    return outcomes
