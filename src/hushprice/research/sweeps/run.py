"""Cells to results: what the store has is read, what it lacks is run, and either way the digits are the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing

from hushprice import checks
from hushprice.research.sweeps.block import Block
from hushprice.research.sweeps.cell import Cell
from hushprice.research.sweeps.executors import Executor, Local
from hushprice.research.sweeps.preparation import prepare_all
from hushprice.research.sweeps.store import Store
from hushprice.research.sweeps.trial_range import gaps
from hushprice.simulation.device import Place
from hushprice.simulation.result import SimulationResult
from hushprice.simulation.run import MOST, Progress, summarize
from hushprice.simulation.trial import Trials

Start = Callable[[Mapping[Cell, int]], None]  # periods to be run of each cell that the store does not hold whole
CellDone = Callable[[Cell, SimulationResult], None]


def run_cells(
    cells: Iterable[Cell],
    *,
    trials: int | Mapping[Cell, int] = 20,
    store: Store | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    on_start: Start | None = None,
    on_cell_done: CellDone | None = None,
) -> dict[Cell, SimulationResult]:
    """Trials 0 .. trials - 1 of every cell, the same numbers as `simulate` gives for its settings.

    `trials` is one number for all cells, or each cell's own.
    Every cell is checked, and every stored result read, before anything runs. Each finished piece is kept in `store`
    at once, so a run that is stopped loses only the pieces in flight. Cells with one key run once. `progress` counts
    the periods of this run; a result's `seconds` are those of its pieces added up, each on one worker. Other pieces run
    on while `on_cell_done` is at work.

    >>> cells = [Cell(policy="fixed", price=price, horizon=500) for price in (0.4, 0.6)]
    >>> [round(float(result.revenue.mean()), 3) for result in run_cells(cells, trials=2).values()]
    [0.107, 0.108]
    """
    executor = executor if executor is not None else Local()
    place = executor.place
    asked = {cell: trials[cell] if isinstance(trials, Mapping) else trials for cell in cells}
    for count in asked.values():
        checks.whole(1, trials=count)
        checks.within(1, MOST, trials=count)

    def lacks(cell: Cell) -> bool:
        return bool(gaps(store.load(cell.key_at(place), asked[cell]) if store is not None else [], asked[cell]))

    executor.expect(list(asked), lacks)
    prepare_all(list(asked))
    keys = {cell: cell.key_at(place) for cell in asked}
    alike: dict[str, list[Cell]] = {}
    for cell, key in keys.items():
        alike.setdefault(key, []).append(cell)
    most = {key: max(asked[cell] for cell in same) for key, same in alike.items()}
    blocks = {key: store.load(key, most[key]) if store is not None else [] for key in alike}
    results: dict[Cell, SimulationResult] = {}

    def finish(key: str) -> None:
        own = blocks.pop(key)  # the result is as large: no need to keep both
        for cell in alike[key]:
            results[cell] = _merge(cell, own, asked[cell], place)
            if on_cell_done is not None:
                on_cell_done(cell, results[cell])

    missing = {same[0]: gaps(blocks[key], most[key]) for key, same in alike.items()}
    if on_start is not None:
        on_start({cell: cell.horizon * sum(map(len, ranges)) for cell, ranges in missing.items() if ranges})
    for cell, ranges in missing.items():
        if not ranges:
            finish(keys[cell])
    pieces = executor.cut(missing)
    whole = sum(piece.periods for piece in pieces)
    left = {keys[cell]: sum(map(len, ranges)) for cell, ranges in missing.items()}

    if store is not None and pieces:
        store.make()

    def advance(done: int) -> None:
        if progress is not None:
            progress(done, whole)

    with closing(executor.run(pieces, advance)) as ended:
        for piece, block in ended:
            key = keys[piece.cell]
            if store is not None:
                store.write(key, block, piece.cell.content_at(place))
            blocks[key].append(block)
            left[key] -= len(block.numbers)
            if left[key] == 0:
                finish(key)
    return {cell: results[cell] for cell in asked}


def _merge(cell: Cell, blocks: Sequence[Block], trials: int, place: Place) -> SimulationResult:
    """The first trials of all blocks in their order; where blocks overlap, they agree."""
    parts: list[Trials] = []
    reached = 0
    needed = (block for block in blocks if block.first < trials)  # a cell of the same key may have asked for more
    for block in sorted(needed, key=lambda each: each.first):
        numbers = range(max(reached, block.first), min(block.numbers.stop, trials))
        parts.append(block.trials(numbers))
        reached += len(numbers)
    return summarize(cell.prepare(), Trials.joined(parts), sum(block.seconds for block in blocks), place)
