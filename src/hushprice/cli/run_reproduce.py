"""What `hushprice reproduce` does once its options are read."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

from hushprice import checks
from hushprice.cli import options, show
from hushprice.research.experiments.files import write_outcome, write_text
from hushprice.research.experiments.registry import ALL, chosen
from hushprice.research.experiments.report import report
from hushprice.research.experiments.rows import frame
from hushprice.research.experiments.run import QUICK_TRIALS, MeasuredExperiment, ReproductionPlan, measure
from hushprice.research.experiments.tables import cell_by_cell, in_the_papers_shape, notes
from hushprice.research.sweeps.executors import open_executor
from hushprice.research.sweeps.store import TrialStore

TRIALS = 20


def run_reproduce(
    names: Sequence[str],
    *,
    quick: bool,
    trials: int | None,
    seed: int,
    output: Path,
    where: Mapping[str, Any],
    as_json: bool,
) -> None:
    """Names to folders, tables and, for all of them, the report. Names and places are checked first."""
    count = trials if trials is not None else QUICK_TRIALS if quick else TRIALS
    plan = ReproductionPlan(experiments=tuple(chosen(names)), trials=count, seed=seed, quick=quick)
    checks.whole(1, trials=count)
    checks.whole(0, seed=seed)
    options.check_output(output, "matplotlib", "polars")
    store = TrialStore(output / "trials")
    folder = output / "quick" if quick else output
    started = time.perf_counter()
    files: dict[str, list[Path]] = {}
    with (
        closing(open_executor(**where)) as executor,
        show.progress_and_lines() as (advance, say),
        ThreadPoolExecutor(1) as hand,  # draws, so that this thread can go on and begin what comes next
    ):
        show.note(executor.chosen.note)
        store.make()
        drawn: list[Future[None]] = []

        def keep(outcome: MeasuredExperiment) -> None:
            files[outcome.experiment.label] = write_outcome(outcome, folder)
            say(f"[{len(files)}/{len(plan.experiments)}] {_progress(outcome, first=len(files) == 1)}")

        def draw(outcome: MeasuredExperiment) -> None:
            for each in filter(Future.done, drawn):
                each.result()  # a full disk is not news for the end of the day
            drawn.append(hand.submit(keep, outcome))

        try:
            with show.interruptible(store.folder):
                outcomes = measure(plan, store=store, executor=executor, progress=advance, on_done=draw)
                for each in drawn:
                    each.result()
        finally:
            hand.shutdown(cancel_futures=True)  # whoever stops it does not wait for twenty pictures
    written = [path for paths in files.values() for path in paths]
    if ALL in names:
        written.append(folder / "report.html")
        write_text(report(plan, outcomes, seconds=time.perf_counter() - started), written[-1])
    if as_json:
        show.json({each.experiment.label: frame(each.experiment, each.rows).to_dicts() for each in outcomes})
    else:
        _print(outcomes, written)


def _progress(outcome: MeasuredExperiment, *, first: bool) -> str:
    """Experiments run side by side, so the seconds of one say nothing of its speed."""
    head = f"{outcome.experiment.label}: {outcome.cells} cells"
    if not outcome.new_periods:
        return f"{head}, all there already"
    seconds = f" in {outcome.seconds:.0f} s" if first else f", {outcome.seconds:.0f} s after the one before"
    return f"{head}, {outcome.new_periods:.3g} periods run{seconds}"


def _print(outcomes: Sequence[MeasuredExperiment], written: Sequence[Path]) -> None:
    for outcome in outcomes:
        experiment, rows = outcome.experiment, outcome.rows
        show.text(f"{experiment.label}: {experiment.title}\n{experiment.about}\nIn {experiment.measured}.\n")
        show.text_table(in_the_papers_shape(experiment, rows))
        compared = cell_by_cell(experiment, rows)
        if compared is not None:
            show.text("")
            show.text_table(compared)
        for line in ("", *notes(experiment, rows), *experiment.findings(rows), ""):
            show.text(line)
    for path in written:
        show.text(f"wrote {path}")
