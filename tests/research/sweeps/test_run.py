"""However the work is cut, stopped, resumed or placed, a cell's result is the one `simulate` gives."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from hushprice.errors import InvalidInput
from hushprice.research.sweeps import trial_range
from hushprice.research.sweeps.cell import Cell, with_features
from hushprice.research.sweeps.executors import LocalExecutor
from hushprice.research.sweeps.run import run_cells
from hushprice.research.sweeps.store import TrialStore
from hushprice.simulation.run import simulate

TRIALS = 5


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("size", [1, 2500, 10**9])
def test_results_are_those_of_simulate_to_the_last_digit(
    cells: list[Cell], same: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int, size: int
) -> None:
    monkeypatch.setattr(trial_range, "LARGEST", size)
    monkeypatch.setattr(trial_range, "SMALLEST", size)
    store = TrialStore(tmp_path / "store")
    found = run_cells(cells, trials=TRIALS, store=store, executor=LocalExecutor(workers))
    again = run_cells(cells, trials=TRIALS, store=TrialStore(tmp_path / "store"))
    assert list(found) == cells
    for cell in cells:
        setting = {each.name: getattr(cell, each.name) for each in dataclasses.fields(cell)}
        features = setting.pop("features")
        if features is not None:
            setting["market"] = with_features(setting["market"], features)
        expected = simulate(**setting, trials=TRIALS, workers=2)
        same(found[cell], expected)
        same(again[cell], expected)


def test_a_second_run_does_nothing_and_tells_every_cell(
    cells: list[Cell], counting: type, tmp_path: Path, same: Callable
) -> None:
    first, second = counting(), counting()
    found = run_cells(cells, trials=3, store=TrialStore(tmp_path), executor=first)
    before = {file.name: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    told: list[Cell] = []
    again = run_cells(
        cells, trials=3, store=TrialStore(tmp_path), executor=second, on_cell_done=lambda cell, _: told.append(cell)
    )
    assert first.ran
    assert second.ran == []
    assert told == cells
    assert {file.name: file.stat().st_mtime_ns for file in tmp_path.iterdir()} == before
    for cell in cells:
        same(found[cell], again[cell])


def test_fewer_trials_need_nothing_and_more_need_the_difference(counting: type, tmp_path: Path, same: Callable) -> None:
    cell = Cell(policy="random", horizon=200)
    run_cells([cell], trials=4, store=TrialStore(tmp_path))
    fewer, more = counting(), counting()
    same(
        run_cells([cell], trials=3, store=TrialStore(tmp_path), executor=fewer)[cell], run_cells([cell], trials=3)[cell]
    )
    same(
        run_cells([cell], trials=9, store=TrialStore(tmp_path), executor=more)[cell], run_cells([cell], trials=9)[cell]
    )
    assert fewer.trials == []
    assert more.trials == [("random", range(4, 9))]


@pytest.mark.parametrize("change", [{"horizon": 201}, {"seed": 1}, {"price": 0.4}, {"dimension": 3}])
def test_a_changed_setting_never_meets_an_old_result(counting: type, tmp_path: Path, change: dict) -> None:
    cell = Cell(policy="fixed", price=0.5, horizon=200)
    run_cells([cell], trials=2, store=TrialStore(tmp_path))
    executor = counting()
    run_cells([dataclasses.replace(cell, **change)], trials=2, store=TrialStore(tmp_path), executor=executor)
    assert executor.trials == [("fixed", range(2))]


@pytest.mark.parametrize("problem", [KeyboardInterrupt, InvalidInput])
def test_a_stopped_run_keeps_what_was_finished(
    counting: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: type[BaseException], same: Callable
) -> None:
    monkeypatch.setattr(trial_range, "LARGEST", 1)
    cells = [Cell(policy="random", horizon=100, seed=seed) for seed in (1, 2)]
    stopped, resumed = counting(stop_after=3, problem=problem), counting()
    with pytest.raises(problem):
        run_cells(cells, trials=4, store=TrialStore(tmp_path), executor=stopped)
    found = run_cells(cells, trials=4, store=TrialStore(tmp_path), executor=resumed)
    done = [sum(len(each.numbers) for each in executor.ran) for executor in (stopped, resumed)]
    assert done[0] > 0
    assert sum(done) == 8
    for cell in cells:
        same(found[cell], run_cells([cell], trials=4)[cell])


def test_cells_that_come_to_the_same_run_once(counting: type, same: Callable) -> None:
    cells = [Cell(policy="nonprivate", horizon=300, epsilon=epsilon) for epsilon in (0.5, 1.0)]
    executor = counting()
    found = run_cells([*cells, cells[0]], trials=2, executor=executor)
    assert executor.trials == [("nonprivate", range(2))]
    assert list(found) == cells
    same(found[cells[0]], found[cells[1]])


def test_each_cell_can_have_a_number_of_trials_of_its_own(
    counting: type, same: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial_range, "LARGEST", 900)  # three trials a piece: some pieces are beyond what a cell needs
    monkeypatch.setattr(trial_range, "SMALLEST", 900)
    alike = [Cell(policy="nonprivate", horizon=300, epsilon=epsilon) for epsilon in (0.5, 1.0)]
    trials = {alike[0]: 2, alike[1]: 7, Cell(policy="random", horizon=300): 3}
    executor = counting()
    found = run_cells(trials, trials=trials, store=TrialStore(tmp_path), executor=executor)
    again = run_cells(trials, trials=trials, store=TrialStore(tmp_path))
    assert sum(len(numbers) for _, numbers in executor.trials) == 7 + 3
    for cell, count in trials.items():
        expected = run_cells([cell], trials=count)[cell]
        same(found[cell], expected)
        same(again[cell], expected)
    with pytest.raises(InvalidInput, match="trials"):
        run_cells(trials, trials={**trials, alike[1]: 0})


def test_progress_ends_at_the_periods_of_this_run(tmp_path: Path) -> None:
    cell = Cell(policy="random", horizon=300)
    run_cells([cell], trials=2, store=TrialStore(tmp_path))
    seen: list[tuple[int, int]] = []
    run_cells([cell], trials=5, store=TrialStore(tmp_path), progress=lambda *at: seen.append(at))
    assert seen[-1] == (900, 900)


def test_what_is_to_be_run_is_told_before_any_cell_is_done(tmp_path: Path) -> None:
    kept, half, new, alike = (Cell(policy="random", horizon=300, epsilon=float(i), seed=min(i, 3)) for i in range(1, 5))
    run_cells([kept], trials=5, store=TrialStore(tmp_path))
    run_cells([half], trials=2, store=TrialStore(tmp_path))
    told: list[object] = []
    run_cells(
        [kept, half, new, alike],
        trials=5,
        store=TrialStore(tmp_path),
        on_start=told.append,
        on_cell_done=lambda cell, _: told.append(cell),
    )
    assert told[0] == {half: 900, new: 1500}
    assert told[1] == kept
    assert len(told) == 5


def test_a_bad_cell_is_refused_before_any_cell_runs(counting: type, tmp_path: Path) -> None:
    executor = counting()
    with pytest.raises(InvalidInput, match="papier"):
        run_cells(
            [Cell(policy="random", horizon=9), Cell(policy="papier", horizon=9)],
            store=TrialStore(tmp_path / "new"),
            executor=executor,
        )
    assert executor.ran == []
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("trials", [0, -1, 10**10])
def test_a_bad_number_of_trials_is_refused(trials: int) -> None:
    with pytest.raises(InvalidInput, match="trials"):
        run_cells([Cell(policy="paper", horizon=9)], trials=trials)
