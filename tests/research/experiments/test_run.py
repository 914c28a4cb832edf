"""Shared cells run once, a stopped run goes on, and a number is the simulator's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from hushprice.research.experiments.registry import chosen
from hushprice.research.experiments.run import MeasuredExperiment, ReproductionPlan
from hushprice.research.sweeps import trial_range
from hushprice.research.sweeps.executors import Advance, Ended, LocalExecutor
from hushprice.research.sweeps.trial_range import TrialRange
from hushprice.simulation.run import simulate


def test_cells_that_tables_and_figures_share_run_once(quick: Callable, counting: type) -> None:
    executor = counting()
    tables, veps, surplus = quick("non-private", "regret-veps", "surplus", executor=executor)
    assert len(set(executor.ran)) == len(executor.ran)
    assert (tables.new_cells, surplus.new_cells, surplus.new_periods) == (tables.cells, 0, 0)
    assert veps.new_cells < veps.cells


@pytest.fixture
def in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a long run: cells in their order, one piece each."""
    monkeypatch.setattr(trial_range, "LARGEST", 10**6)
    monkeypatch.setattr(trial_range, "SMALLEST", 10**6)


class Backwards(LocalExecutor):
    """Gives back last what ended first, as a machine may that runs many cells at once."""

    left = 0

    def run(self, pieces: Sequence[TrialRange], advance: Advance) -> Ended:
        ended = list(super().run(pieces, advance))
        self.left = len(ended)
        for each in reversed(ended):
            self.left -= 1
            yield each


@pytest.mark.usefixtures("in_order")
def test_experiments_are_told_in_order_and_progress_is_of_all_of_them(quick: Callable) -> None:
    executor = Backwards(workers=1)
    told: list[tuple[MeasuredExperiment, int]] = []
    at: list[tuple[int, int]] = []
    found = quick(
        "diffeps",
        "regret-veps",
        "surplus",
        executor=executor,
        progress=lambda *reached: at.append(reached),
        on_done=lambda outcome: told.append((outcome, executor.left)),
    )
    assert [outcome.experiment.name for outcome in found] == ["diffeps", "regret-veps", "surplus"]
    assert told == [(outcome, 0) for outcome in found]  # the first was the last to be complete
    results = {row.cell: row.result for outcome in found for row in outcome.rows}
    whole = sum(result.trials * result.horizon for result in results.values())
    assert at[-1] == (whole, whole)
    assert at == sorted(at)
    assert sum(outcome.new_cells for outcome in found) == len(results)
    ran = {row.cell.key: row.result.trials * row.result.horizon for outcome in found for row in outcome.rows}
    assert sum(outcome.new_periods for outcome in found) == sum(ran.values())


@pytest.mark.usefixtures("in_order")
def test_a_table_does_not_wait_for_those_after_it(quick: Callable, counting: type) -> None:
    alone = ReproductionPlan(experiments=tuple(chosen(["diffeps"])), trials=2, seed=3, quick=True)
    cells = len({cell.key for cell in alone.cells(alone.experiments[0])})
    told: list[MeasuredExperiment] = []
    with pytest.raises(KeyboardInterrupt):
        quick("diffeps", "input-perturbation", executor=counting(stop_after=cells + 3), on_done=told.append)
    assert [outcome.experiment.name for outcome in told] == ["diffeps"]
    rest = counting()
    again, other = quick("diffeps", "input-perturbation", executor=rest)
    assert [row.mean for row in again.rows] == [row.mean for row in told[0].rows]
    assert (again.new_periods, again.new_cells) == (0, again.cells)
    ran = {key for key, _ in rest.ran}
    horizons = {row.cell.key: 2 * row.result.horizon for row in other.rows if row.cell.key in ran}
    assert other.new_periods == sum(horizons.values()) > 0


def test_a_stopped_run_goes_on_where_it_was(quick: Callable, counting: type, tmp_path: Path) -> None:
    stopped = counting(stop_after=10)
    with pytest.raises(KeyboardInterrupt):
        quick("diffeps", executor=stopped)
    kept = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "trials").iterdir()}
    assert len(kept) == 10
    rest = counting()
    (resumed,) = quick("diffeps", executor=rest)
    assert not set(stopped.ran) & set(rest.ran)
    assert {name: (tmp_path / "trials" / name).stat().st_mtime_ns for name in kept} == kept
    again = counting()
    (once_more,) = quick("diffeps", executor=again)
    assert (again.ran, once_more.new_periods) == ([], 0)
    assert [row.mean for row in once_more.rows] == [row.mean for row in resumed.rows]


def test_a_number_is_the_one_the_simulator_gives(quick: Callable) -> None:
    (outcome,) = quick("input-perturbation")
    row = next(row for row in outcome.rows if row.entry.line == "published" and row.entry.column == "ε = 1")
    again = simulate("paper", calibration="published", horizon=1000, dimension=2, epsilon=2.0, trials=2, seed=3)
    assert row.mean == again.average_regret.mean
    assert row.error == again.average_regret.standard_error


def test_a_small_run_is_not_compared_with_the_paper(everything: tuple) -> None:
    plan, outcomes = everything
    assert all(row.matches is None for outcome in outcomes for row in outcome.rows)
    assert all(row.entry.setting.horizon <= 10**4 for outcome in outcomes for row in outcome.rows)
    assert plan.quick


def test_surplus_is_surplus_and_regret_is_regret(everything: tuple) -> None:
    _, outcomes = everything
    for outcome in outcomes:
        for row in outcome.rows:
            surplus = outcome.experiment.label == "fig:surplus"
            assert row.measured == (row.result.average_surplus if surplus else row.result.average_regret)
