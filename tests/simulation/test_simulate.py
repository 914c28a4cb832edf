"""`simulate`: what a result may depend on, and the edges of its settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hushprice.errors import InvalidInput
from hushprice.simulation.market import Market, paper_market
from hushprice.simulation.result import SimulationResult
from hushprice.simulation.run import Job, Trial, run_one, simulate
from hushprice.types import IntArray

MarketMaker = Callable[..., Market]
POLICIES = ["paper", "noisy-newton", "nonprivate", "input-perturbation", "random", "fixed", "clairvoyant"]
ARRAYS = ("regret", "revenue", "surplus", "estimates", "indefinite", "cumulative_regret", "prices")


def run(policy: str, **settings: Any) -> SimulationResult:
    common: dict[str, Any] = {"horizon": 3000, "trials": 3, "workers": 1, "keep_prices": True, "epsilon": 4.0}
    return simulate(policy, **(common | settings))


def assert_same(one: SimulationResult, other: SimulationResult, trials: int | None = None) -> None:
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(one, name)[:trials], getattr(other, name)[:trials])
    for first, second in list(zip(one.estimate_periods, other.estimate_periods, strict=False))[:trials]:
        assert first.tolist() == second.tolist()


@pytest.mark.parametrize("policy", POLICIES)
def test_a_result_does_not_depend_on_the_number_of_workers(policy: str) -> None:
    alone = run(policy, trials=7)
    for workers in (2, 5, None):
        assert_same(run(policy, trials=7, workers=workers), alone)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_trial_does_not_depend_on_how_many_come_after_it(policy: str) -> None:
    assert_same(run(policy, trials=2), run(policy, trials=5, workers=2), trials=2)


def test_seed_and_trial_each_change_the_luck() -> None:
    one, other = run("paper", seed=1), run("paper", seed=2)
    assert len({*one.regret.tolist(), *other.regret.tolist()}) == 6


def test_the_largest_seed_is_a_seed() -> None:
    assert run("random", seed=2**63 - 1).regret[0] != run("random", seed=0).regret[0]


def test_policies_that_draw_differently_meet_the_same_customers() -> None:
    revenue = [run(policy, seed=4).regret + run(policy, seed=4).revenue for policy in POLICIES]
    np.testing.assert_allclose(revenue, np.broadcast_to(revenue[0], (len(POLICIES), 3)), rtol=1e-12)


def test_keeping_prices_changes_nothing_else() -> None:
    kept, dropped = run("paper"), run("paper", keep_prices=False)
    assert dropped.prices is None
    np.testing.assert_array_equal(dropped.regret, kept.regret)


@pytest.mark.parametrize("policy", ["paper", "nonprivate", "input-perturbation"])
@pytest.mark.parametrize("periods", [3000, 10**12])
def test_exploring_all_the_time_is_pricing_at_random(policy: str, periods: int) -> None:
    explored = run(policy, exploration_periods=periods)
    assert_same(explored, run("random"))
    assert explored.estimates.tolist() == [0, 0, 0]


def test_exploration_ends_when_it_should() -> None:
    explored, at_random = run("nonprivate", exploration_periods=200), run("random")
    assert explored.prices is not None
    assert at_random.prices is not None
    np.testing.assert_array_equal(explored.prices[:, :200], at_random.prices[:, :200])
    assert not np.any(explored.prices[:, 200] == at_random.prices[:, 200])
    assert all(periods[0] == 201 for periods in explored.estimate_periods)  # 200 records double a ridge of 10


@pytest.mark.parametrize("cap", [1, 2, 5])
def test_no_more_estimates_than_the_cap_and_the_same_ones_up_to_it(cap: int) -> None:
    capped, free = run("nonprivate", max_estimates=cap), run("nonprivate")
    assert capped.estimates.tolist() == [cap] * 3
    assert capped.prices is not None
    assert free.prices is not None
    for trial in range(3):
        first = free.estimate_periods[trial][: cap + 1]
        assert capped.estimate_periods[trial].tolist() == first[:cap].tolist()
        same_until = first[cap] - 1
        np.testing.assert_array_equal(capped.prices[trial, :same_until], free.prices[trial, :same_until])
        assert not np.array_equal(capped.prices[trial, same_until:], free.prices[trial, same_until:])


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("horizon", [1, 2, 11])
def test_tiny_horizons_run(policy: str, horizon: int) -> None:
    result = run(policy, horizon=horizon, delta=0.1)
    assert result.checkpoints.tolist() == list(range(1, horizon + 1))
    assert np.all(result.regret >= 0.0)


def test_checkpoints_end_at_the_horizon() -> None:
    for horizon in (199, 200, 201, 3001):
        points = run("random", horizon=horizon).checkpoints
        assert points[-1] == horizon
        assert points.size <= 200
        assert np.all(np.diff(points) > 0)


def test_input_noise_vanishes_as_epsilon_grows_and_matters_when_it_is_small() -> None:
    clean, faint, loud = (
        run("nonprivate"),
        run("input-perturbation", epsilon=1e12),
        run("input-perturbation", epsilon=1.0),
    )
    assert clean.prices is not None
    assert faint.prices is not None
    assert loud.prices is not None
    np.testing.assert_allclose(faint.prices, clean.prices, atol=1e-6)
    assert np.abs(loud.prices - clean.prices).max() > 0.1


def test_surplus_is_known_for_the_logistic_family_alone(make_market: MarketMaker) -> None:
    assert simulate("random", market=make_market("logistic"), horizon=50, trials=2).average_surplus.mean is not None
    for family in ("gaussian", "poisson"):
        result = simulate("random", market=make_market(family), horizon=50, trials=2)
        assert result.to_dict()["average_surplus"] == {"mean": None, "standard_error": None}
        assert result.frame()["average_surplus"].to_list() == [None, None]


@pytest.mark.parametrize(("policy", "horizon"), [("random", 10**9), ("fixed", 10**9), ("nonprivate", 2 * 10**7)])
def test_an_interrupt_stops_the_trials_that_are_running(
    policy: str, horizon: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    controls: list[IntArray] = []

    def watched(job: Job, number: int, control: IntArray, counter: int) -> Trial:
        controls.append(control)
        return run_one(job, number, control, counter)

    def interrupt(done: int, whole: int) -> None:
        assert 0 <= done < whole == 2 * horizon
        raise KeyboardInterrupt

    simulate(policy, horizon=2, trials=1, delta=0.1)  # what compiling runs is not watched
    monkeypatch.setattr("hushprice.simulation.run.run_one", watched)
    with pytest.raises(KeyboardInterrupt):
        simulate(policy, horizon=horizon, trials=2, workers=2, progress=interrupt)
    assert all(control is controls[0] for control in controls)
    assert controls[0][1:].sum() < 2 * horizon  # whoever has returned was stopped before the end


def test_progress_ends_with_every_period_done() -> None:
    seen: list[tuple[int, int]] = []
    run("paper", progress=lambda done, whole: seen.append((done, whole)))
    assert seen[-1] == (9000, 9000)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"horizon": 0}, "horizon"),
        ({"horizon": 2.5}, "horizon"),
        ({"trials": 0}, "trials"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**63}, "seed"),
        ({"workers": 0}, "workers"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"delta": "3/Q"}, "delta"),
        ({"ridge": 0.0}, "ridge"),
        ({"width": -1.0}, "width"),
        ({"max_estimates": 0}, "max_estimates"),
        ({"exploration_periods": -1}, "exploration_periods"),
        ({"dimension": 1}, "dimension"),
        ({"dimension": 12}, "dimension"),
        ({"dimension": 2, "market": paper_market(2)}, "dimension"),
        ({"price": 0.5}, "price"),
        ({"calibration": "loose"}, "calibration"),
    ],
)
def test_bad_settings_are_refused_by_name(settings: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput, match=field):
        run("paper", **settings)
