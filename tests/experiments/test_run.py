"""Shared cells run once, a stopped run goes on, and a number is the simulator's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hushprice.simulation.run import simulate


def test_cells_that_tables_and_figures_share_run_once(quick: Callable, counting: type) -> None:
    executor = counting()
    tables, veps, surplus = quick("non-private", "regret-veps", "surplus", executor=executor)
    assert len(set(executor.ran)) == len(executor.ran)
    assert (tables.new_cells, surplus.new_cells, surplus.new_periods) == (tables.cells, 0, 0)
    assert veps.new_cells < veps.cells


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
            assert row.found == (row.result.average_surplus if surplus else row.result.average_regret)
