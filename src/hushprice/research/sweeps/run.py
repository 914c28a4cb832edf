"""Cells to results: what the store has is read, what it lacks is run, and either way the digits are the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing

from hushprice import checks
from hushprice.research.sweeps.block import Block
from hushprice.research.sweeps.cell import Cell
from hushprice.research.sweeps.executors import Executor, LocalExecutor
from hushprice.research.sweeps.preparation import prepare_all
from hushprice.research.sweeps.store import TrialStore
from hushprice.research.sweeps.trial_range import gaps
from hushprice.simulation.device import ChosenDevice
from hushprice.simulation.result import SimulationResult
from hushprice.simulation.run import MOST, Progress, summarize
from hushprice.simulation.trial import Trials

Start = Callable[[Mapping[Cell, int]], None]  # periods to be run of each cell that the store does not hold whole
CellDone = Callable[[Cell, SimulationResult], None]


def run_cells(
    cells: Iterable[Cell],
    *,
    trials: int | Mapping[Cell, int] = 20,
    store: TrialStore | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    on_start: Start | None = None,
    on_cell_done: CellDone | None = None,
) -> dict[Cell, SimulationResult]:
    """Trials 0 .. trials - 1 of every cell, the same numbers as `simulate` gives for its settings.

    `trials` is one number for all cells, or each cell's own.
    Every cell is checked, and every stored result read, before anything runs. Each finished range of trials goes to
    `store` at once, so a run that is stopped loses only the ranges in flight. Cells with one key run once. `progress`
    counts the periods of this run; a result's `seconds` are those of its ranges added up, each on one worker. Other
    ranges run on while `on_cell_done` is at work.

    >>> cells = [Cell(policy="fixed", price=price, horizon=500) for price in (0.4, 0.6)]
    >>> [round(float(result.revenue.mean()), 3) for result in run_cells(cells, trials=2).values()]
    [0.107, 0.108]
    """
    executor = executor if executor is not None else LocalExecutor()
    asked = {cell: trials[cell] if isinstance(trials, Mapping) else trials for cell in cells}
    for count in asked.values():
        checks.whole(1, trials=count)
        checks.within(1, MOST, trials=count)

    def lacks(cell: Cell) -> bool:
        stored = store.load(cell.key_at(executor.chosen), asked[cell]) if store is not None else []
        return bool(gaps(stored, asked[cell]))

    executor.expect(list(asked), lacks)
    prepare_all(list(asked))
    results = _CellResults(asked, executor.chosen, store, on_cell_done)
    if on_start is not None:
        lacking = results.missing.items()
        on_start({cell: cell.horizon * sum(map(len, ranges)) for cell, ranges in lacking if ranges})
    results.finish_stored()
    trial_ranges = executor.cut(results.missing)
    whole = sum(each.periods for each in trial_ranges)
    if store is not None and trial_ranges:
        store.make()

    def advance(done: int) -> None:
        if progress is not None:
            progress(done, whole)

    with closing(executor.run(trial_ranges, advance)) as ended:
        for trial_range, block in ended:
            results.add(trial_range.cell, block)
    return {cell: results.by_cell[cell] for cell in asked}


class _CellResults:
    """Blocks as they are read and run, and the result of each cell whose trials are all there."""

    def __init__(
        self, asked: Mapping[Cell, int], chosen: ChosenDevice, store: TrialStore | None, on_cell_done: CellDone | None
    ) -> None:
        self.by_cell: dict[Cell, SimulationResult] = {}
        self._asked, self._chosen, self._store, self._on_cell_done = asked, chosen, store, on_cell_done
        self._keys = {cell: cell.key_at(chosen) for cell in asked}
        self._alike: dict[str, list[Cell]] = {}
        for cell, key in self._keys.items():
            self._alike.setdefault(key, []).append(cell)
        most = {key: max(asked[cell] for cell in same) for key, same in self._alike.items()}
        self._blocks = {key: store.load(key, most[key]) if store is not None else [] for key in self._alike}
        self.missing = {same[0]: gaps(self._blocks[key], most[key]) for key, same in self._alike.items()}
        self._left = {self._keys[cell]: sum(map(len, ranges)) for cell, ranges in self.missing.items()}

    def finish_stored(self) -> None:
        """Make the results of cells that the store holds whole."""
        for cell, ranges in self.missing.items():
            if not ranges:
                self._finish(self._keys[cell])

    def add(self, cell: Cell, block: Block) -> None:
        """Store a block that was run; with its last one, the cell has its result."""
        key = self._keys[cell]
        if self._store is not None:
            self._store.write(key, block, cell.content_at(self._chosen))
        self._blocks[key].append(block)
        self._left[key] -= len(block.numbers)
        if self._left[key] == 0:
            self._finish(key)

    def _finish(self, key: str) -> None:
        own = self._blocks.pop(key)  # the result is as large: no need to keep both
        for cell in self._alike[key]:
            self.by_cell[cell] = _merge(cell, own, self._asked[cell], self._chosen)
            if self._on_cell_done is not None:
                self._on_cell_done(cell, self.by_cell[cell])


def _merge(cell: Cell, blocks: Sequence[Block], trials: int, chosen: ChosenDevice) -> SimulationResult:
    """The first trials of all blocks in their order; where blocks overlap, they agree."""
    parts: list[Trials] = []
    reached = 0
    needed = (block for block in blocks if block.first < trials)  # a cell of the same key may have asked for more
    for block in sorted(needed, key=lambda each: each.first):
        numbers = range(max(reached, block.first), min(block.numbers.stop, trials))
        parts.append(block.trials(numbers))
        reached += len(numbers)
    return summarize(cell.prepare(), Trials.joined(parts), sum(block.seconds for block in blocks), chosen)
