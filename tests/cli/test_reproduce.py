"""`hushprice reproduce`: what it prints, writes and refuses."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest

from hushprice.cli import run_reproduce
from hushprice.errors import InvalidInput
from hushprice.research.experiments.registry import chosen
from hushprice.research.experiments.run import MeasuredExperiment, ReproductionPlan

SMALL = "--quick --trials 2 --workers 1"


def test_a_table_is_printed_and_its_files_are_written(call: Callable, tmp_path: Path) -> None:
    code, out, err = call(f"reproduce input-perturbation {SMALL} --output {tmp_path}")
    assert code == 0, err
    assert "tab:input-perturbation" in out
    assert "best fixed price" in out
    assert "…" not in out
    assert "[1/1] tab:input-perturbation: " in err
    written = {line.removeprefix("wrote ") for line in out.splitlines() if line.startswith("wrote ")}
    names = ("md", "parquet", "png", "svg")
    assert written == {str(tmp_path / "quick" / f"input-perturbation.{ending}") for ending in names}
    assert all(Path(path).is_file() for path in written)
    before = sorted((tmp_path / "trials").iterdir())
    again = call(f"reproduce tab:input-perturbation {SMALL} --output {tmp_path} --format json")
    assert "all there already" in again.err
    rows = json.loads(again.out)["tab:input-perturbation"]
    assert len(rows) == len(chosen(["input-perturbation"])[0].entries(quick=True))
    assert rows[0]["trials"] == 2
    assert sorted((tmp_path / "trials").iterdir()) == before


def test_a_table_that_cannot_be_written_is_one_line_and_its_trials_are_kept(call: Callable, tmp_path: Path) -> None:
    (tmp_path / "quick").mkdir()
    (tmp_path / "quick" / "surplus.md").mkdir()  # where a file should go
    code, out, err = call(f"reproduce surplus {SMALL} --output {tmp_path}")
    assert (code, out) == (2, "")
    assert "surplus.md' cannot be written" in err.splitlines()[-1]
    assert any((tmp_path / "trials").iterdir())


@pytest.mark.parametrize("stopped", [True, False])
def test_what_waits_to_be_drawn_is_not_drawn_once_it_is_stopped(
    call: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stopped: bool
) -> None:
    drawing, stop, drawn = threading.Event(), threading.Event(), list[str]()

    class Hand(ThreadPoolExecutor):
        """Is slow until it is told to end."""

        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            super().shutdown(wait=False, cancel_futures=cancel_futures)
            stop.set()
            super().shutdown(wait=wait)

    def write_outcome(outcome: Any, folder: Path) -> list[Path]:
        drawing.set()
        assert not stopped or stop.wait(60)
        drawn.append(outcome.experiment.label)
        return []

    def measure(plan: ReproductionPlan, *, on_done: Callable, **others: Any) -> list[Any]:
        for experiment in plan.experiments:
            on_done(
                MeasuredExperiment(experiment=experiment, rows=[], cells=0, new_cells=0, new_periods=0, seconds=0.0)
            )
        if stopped:
            assert drawing.wait(60)
            raise KeyboardInterrupt
        return []

    monkeypatch.setattr(run_reproduce, "ThreadPoolExecutor", Hand)
    monkeypatch.setattr(run_reproduce, "write_outcome", write_outcome)
    monkeypatch.setattr(run_reproduce, "measure", measure)
    code, _, err = call(f"reproduce surplus non-private diffeps {SMALL} --output {tmp_path}")
    assert len(drawn) == (1 if stopped else 3)
    assert (code, "interrupted; finished trials are kept" in err) == ((1, True) if stopped else (0, False))


def test_what_cannot_be_written_ends_the_run_at_the_next_table(
    call: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[Future[None]] = []

    class Hand(ThreadPoolExecutor):
        def submit(self, *work: Any) -> Future[None]:  # type: ignore[override]
            begun.append(super().submit(*work))
            return begun[-1]

    def write_outcome(outcome: Any, folder: Path) -> list[Path]:
        raise InvalidInput("the disk is full")

    def measure(plan: ReproductionPlan, *, on_done: Callable, **others: Any) -> list[Any]:
        for experiment in plan.experiments:
            on_done(
                MeasuredExperiment(experiment=experiment, rows=[], cells=0, new_cells=0, new_periods=0, seconds=0.0)
            )
            wait(begun)
        return []

    monkeypatch.setattr(run_reproduce, "ThreadPoolExecutor", Hand)
    monkeypatch.setattr(run_reproduce, "write_outcome", write_outcome)
    monkeypatch.setattr(run_reproduce, "measure", measure)
    code, _, err = call(f"reproduce surplus non-private diffeps {SMALL} --output {tmp_path}")
    assert (code, err.splitlines()[-1].endswith("the disk is full"), len(begun)) == (2, True, 1)


BAD = {
    "surplus figure-nine": "experiment must be one of tab:non-private, ",
    "surplus --trials 0": "trials",
    "surplus --trials many": "'many'",
    "surplus --seed -1": "seed",
    "surplus --executor cloud": "executor must be one of local, ray, got 'cloud'",
    "surplus --workers 0": "workers",
    "surplus --output taken": "'taken'",
    "surplus --output /proc/none": "'/proc/none/trials'",
}


@pytest.mark.parametrize("flags", BAD)
def test_bad_input_is_one_line_and_writes_nothing(
    flags: str, call: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "taken").write_text("a file, not a folder")
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    code, out, err = call(f"reproduce --quick {flags}")
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert BAD[flags] in err
    assert sorted(tmp_path.rglob("*")) == before


def test_a_name_is_required(call: Callable) -> None:
    code, out, err = call("reproduce")
    assert (code, out, len(err.splitlines())) == (2, "", 1)
