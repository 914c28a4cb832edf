"""Forecasts against the simulator: equal where batches are short, close in the mean where customers are sampled."""

from __future__ import annotations

import numpy as np
import pytest

from hushprice.demand.families import Logistic
from hushprice.demand.features import by_name
from hushprice.policies.newton.rules import NewtonRules, newton
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.delta import parse_delta
from hushprice.research.planner import forecast
from hushprice.research.planner.outlook import LIMIT, Outlook, outlook, without_privacy
from hushprice.research.planner.prior import markets
from hushprice.simulation.market import Market
from hushprice.simulation.run import simulate
from hushprice.simulation.trial import newton_plan
from hushprice.simulation.world import TrialInput, TrialOutput


def rules_for(market: Market, epsilon: float, customers: int, **parts: bool) -> NewtonRules:
    budget = EpsilonDelta(epsilon, parse_delta("2/T^2", customers))
    return newton(budget, demand=market.demand, features=market.features, **parts)


def forecast_one(market: Market, rules: NewtonRules, customers: int, seed: int, trial: int) -> tuple[float, np.ndarray]:
    given = TrialInput(seed, trial, customers, np.zeros(0, dtype=np.int64), 0)
    totals, releases = np.zeros(forecast.TOTALS), np.zeros(64, dtype=np.int64)
    output = TrialOutput(np.array([customers]), np.zeros(1), totals, releases, np.zeros(0))
    forecast.forecast(market.world(customers), newton_plan(rules, market), given, output)
    return float(output.regret_at[0]), releases[: int(totals[forecast.RELEASES])]


@pytest.mark.parametrize("features", [1, 3])
def test_short_batches_are_played_customer_by_customer(features):
    market, customers = markets(features)[7], 700  # the longest batch has fewer customers than are sampled
    result = simulate(
        "noisy-newton", market=market, horizon=customers, epsilon=2.0, trials=3, seed=4, trigger=False, workers=1
    )
    rules = rules_for(market, 2.0, customers, trigger=False)
    for trial in range(3):
        regret, releases = forecast_one(market, rules, customers, 4, trial)
        assert regret / customers == pytest.approx(result.regret[trial], rel=1e-6)
        assert np.array_equal(releases + 1, result.estimate_periods[trial])


@pytest.mark.parametrize("features", ["intercept", "interactions"])
def test_probes_are_foreseen(features):
    chosen, customers = by_name(features, 1), 600  # batches are played customer by customer
    theta = np.full(chosen.dimension, 0.1)
    theta[2] = 0.9
    market = Market(demand=Logistic(), features=chosen, theta=theta, contexts="uniform")
    result = simulate(
        "noisy-newton", market=market, horizon=customers, epsilon=40.0, trials=1, seed=7, trigger=False, workers=1
    )
    periods = result.estimate_periods[0]
    assert np.any(periods[6:] / periods[5:-1] < 1.4)
    regret, releases = forecast_one(market, rules_for(market, 40.0, customers, trigger=False), customers, 7, 0)
    assert regret / customers == pytest.approx(result.regret[0], rel=1e-6)
    assert np.array_equal(releases + 1, periods)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.2, 5.0])
@pytest.mark.parametrize("features", [1, 4])
@pytest.mark.parametrize(("customers", "trials"), [(10**4, 8), (10**5, 2)])
def test_predictions_are_within_a_factor_of_simulation(customers, trials, features, epsilon):
    drawn = markets(features)
    predicted, _ = outlook(drawn, rules_for(drawn[0], epsilon, customers), customers, seed=0).average_regret(customers)
    setting = {"horizon": customers, "epsilon": epsilon, "trials": trials}
    runs = [simulate("noisy-newton", market=each, seed=77 + i, **setting).regret for i, each in enumerate(drawn)]
    assert 1 / 1.5 < predicted / np.mean(runs) < 1.5


def test_early_batch_ends_are_foreseen():
    """A wide first batch and little noise: the trigger ends batches early, in forecasts as in simulation."""
    market, customers = markets(2)[3], 20_000
    rules = rules_for(market, 5.0, customers)
    wide = NewtonRules(**{**{name: getattr(rules, name) for name in rules.__slots__}, "first": 15_000})
    _, releases = forecast_one(market, wide, customers, 1, 0)
    assert releases[0] < 15_000
    wide = NewtonRules(**{**{name: getattr(rules, name) for name in rules.__slots__}, "first": 15_000, "trigger": 0.0})
    assert forecast_one(market, wide, customers, 1, 0)[1][0] == 15_000


def test_regret_falls_with_epsilon_and_customers_and_is_least_without_noise():
    drawn = markets(1, count=25)
    found = [outlook(drawn, rules_for(drawn[0], epsilon, 10**5), 10**5, seed=3) for epsilon in (0.1, 1.0, 10.0)]
    found.append(outlook(drawn, without_privacy(found[0].rules), 10**5, seed=3))
    for customers in (10**4, 10**5, 10**6):
        regrets = [each.average_regret(customers)[0] for each in found]
        assert regrets == sorted(regrets, reverse=True)
    for each in found:
        averages = each.curve() / each.checkpoints
        assert averages[-1] < averages[averages.size // 2] < averages[0]


def test_the_crossing_is_interpolated_and_absent_where_there_is_none():
    rules = rules_for(markets(1, count=1)[0], 1.0, 100)
    regret = np.array([[[10.0, 60.0, 70.0]]])
    found = Outlook(rules, np.array([10, 100, 1000]), regret, np.array([[np.inf]]), ())
    assert found.crossing(0.6) == 100
    # 60 - 10 = 50 above at 100, 70 - 100 = 30 below at 1000: five eighths of the way
    assert found.crossing(0.1) == 100 + 900 * 5 / 8 + 0.5
    assert found.crossing(2.0) == 10
    assert found.crossing(0.01) is None
    assert found.learning(LIMIT) == 0.0
