"""What `hushprice sweep` does once its options are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from hushprice.cli import options, show
from hushprice.research.sweeps.cell import Cell
from hushprice.research.sweeps.executors import open_executor
from hushprice.research.sweeps.grid import AXES, grid, load_grid
from hushprice.research.sweeps.preparation import prepare_all
from hushprice.research.sweeps.run import run_cells
from hushprice.research.sweeps.store import TrialStore
from hushprice.research.sweeps.summary import summary_frame, summary_row
from hushprice.simulation.atomic_file import write_parquet
from hushprice.simulation.device import ChosenDevice
from hushprice.simulation.result import SimulationResult

HORIZON = 100_000  # where neither a flag nor the file gives one
TRIALS = 20


def run_sweep(
    given: Mapping[str, Any],
    *,
    file: Path | None,
    trials: int | None,
    output: Path,
    where: Mapping[str, Any],
    as_json: bool,
) -> None:
    """Settings to a folder and a table. Everything is checked before the first trial."""
    options.check_output(output, "polars")
    entries = {"horizon": HORIZON, **({} if file is None else load_grid(file)), **given}
    stated = entries.pop("trials", TRIALS)
    policies = entries.get("policy", [])
    options.look_here([policies] if isinstance(policies, str) else policies)
    cells = grid(**entries)
    axes = [name for name in AXES if name in entries and name not in ("policy", "calibration")]
    store = TrialStore(output / "trials")
    jobs = prepare_all(cells)
    with closing(open_executor(**where, jobs=jobs)) as executor, show.progress_and_lines() as (advance, say):
        finished, chosen = 0, executor.chosen
        show.note(chosen.note)

        def report(cell: Cell, result: SimulationResult) -> None:
            nonlocal finished
            finished += 1
            regret = f"regret x 1e4 {show.regret(result.average_regret)}"
            say(f"[{finished}/{len(cells)}] {result.label}, {_setting(cell, result, chosen, axes)}: {regret}")

        count = stated if trials is None else trials
        with show.interruptible(store.folder):
            results = run_cells(
                cells, trials=count, store=store, executor=executor, progress=advance, on_cell_done=report
            )
    rows = [summary_row(cell, result, chosen) for cell, result in results.items()]
    write_parquet(summary_frame(results, chosen), output / "summary.parquet")
    if as_json:
        show.json(rows)
    else:
        show.sweep_table(rows, list(results.values()), axes, [output / "summary.parquet"])


def _setting(cell: Cell, result: SimulationResult, chosen: ChosenDevice, axes: Sequence[str]) -> str:
    """The values of the axes, without those the policy does not read."""
    row = summary_row(cell, result, chosen)
    return ", ".join(f"{name} {show.setting(row[name])}" for name in axes if row[name] is not None)
