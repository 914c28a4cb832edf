"""Experiments to folders: cells that several of them share run once, and finished trials are never run again."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hushprice.research.experiments import pictures
from hushprice.research.experiments.experiment import Experiment
from hushprice.research.experiments.rows import ReproducedEntry, reproduced_entries
from hushprice.research.sweeps.cell import Cell
from hushprice.research.sweeps.executors import Executor
from hushprice.research.sweeps.run import run_cells
from hushprice.research.sweeps.store import TrialStore
from hushprice.simulation.result import SimulationResult
from hushprice.simulation.run import Progress

QUICK_TRIALS = 4


@dataclass(frozen=True, kw_only=True)
class ReproductionPlan:
    """What is asked for; a result depends on this alone."""

    experiments: tuple[Experiment, ...]
    trials: int
    seed: int
    quick: bool = False

    def cells(self, experiment: Experiment) -> list[Cell]:
        """The experiment's cells, each once."""
        return list(dict.fromkeys(entry.cell(self.seed) for entry in experiment.entries(quick=self.quick)))


@dataclass(frozen=True, kw_only=True, eq=False)
class MeasuredExperiment:
    """One experiment, measured."""

    experiment: Experiment
    rows: list[ReproducedEntry]
    cells: int
    new_cells: int  # not shared with an experiment before it
    new_periods: int  # of this run; the others were in the store
    seconds: float  # since the outcome before, or the start: other experiments may have run in them too


Done = Callable[[MeasuredExperiment], None]


def measure(
    plan: ReproductionPlan,
    *,
    store: TrialStore,
    executor: Executor,
    progress: Progress | None = None,
    on_done: Done | None = None,
) -> list[MeasuredExperiment]:
    """Every experiment of the plan. `on_done` is called with each as soon as it and those before it are complete.

    All cells are one run, in the order of the experiments, so no worker waits for the last cells of a table. While
    `on_done` draws, what the executor has begun goes on.
    """
    outcomes_so_far = _Outcomes(plan, on_done)
    whole = plan.trials * sum(cell.horizon for cell in outcomes_so_far.first)

    def advance(done: int, missing: int) -> None:
        if progress is not None:
            progress(whole - missing + done, whole)

    run_cells(
        outcomes_so_far.first,
        trials=plan.trials,
        store=store,
        executor=executor,
        progress=advance,
        on_start=outcomes_so_far.start,
        on_cell_done=outcomes_so_far.add,
    )
    return outcomes_so_far.outcomes


class _Outcomes:
    """Results as they come, and the outcomes of those experiments that are complete."""

    def __init__(self, plan: ReproductionPlan, on_done: Done | None) -> None:
        self.outcomes: list[MeasuredExperiment] = []
        self.first: dict[Cell, int] = {}  # every cell, in order, and the first experiment that has it
        for number, experiment in enumerate(plan.experiments):
            # The longest first, or workers would wait for them in the end.
            for cell in sorted(plan.cells(experiment), key=lambda cell: -cell.horizon * (cell.dimension or 1)):
                self.first.setdefault(cell, number)
        self._plan, self._on_done = plan, on_done
        self._results: dict[Cell, SimulationResult] = {}
        self._new, self._left = Counter(self.first.values()), Counter(self.first.values())
        self._periods: Counter[int] = Counter()
        self._last = time.perf_counter()

    def start(self, missing: Mapping[Cell, int]) -> None:
        """Called when all is prepared; on a GPU kernels are being compiled, and this thread has nothing else to do."""
        if self._on_done is not None:
            pictures.load()
        for cell, periods in missing.items():
            self._periods[self.first[cell]] += periods

    def add(self, cell: Cell, result: SimulationResult) -> None:
        self._results[cell] = result
        self._left[self.first[cell]] -= 1
        while len(self.outcomes) < len(self._plan.experiments) and self._left[len(self.outcomes)] == 0:
            self.outcomes.append(self._outcome(len(self.outcomes)))
            if self._on_done is not None:
                self._on_done(self.outcomes[-1])

    def _outcome(self, number: int) -> MeasuredExperiment:
        plan, experiment = self._plan, self._plan.experiments[number]
        before, self._last = self._last, time.perf_counter()
        return MeasuredExperiment(
            experiment=experiment,
            rows=reproduced_entries(experiment, self._results, quick=plan.quick, seed=plan.seed),
            cells=len(plan.cells(experiment)),
            new_cells=self._new[number],
            new_periods=self._periods[number],
            seconds=self._last - before,
        )
