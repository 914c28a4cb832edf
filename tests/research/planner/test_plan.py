"""Whole plans: yardsticks, hopeless budgets, answers, pictures."""

from __future__ import annotations

import numpy as np
import pytest

from hushprice.errors import InvalidInput
from hushprice.research.planner.answers import answers
from hushprice.research.planner.plan import EPSILONS, ONE_PRICE, PRIVATE, Plan, plan
from hushprice.research.planner.prior import markets
from hushprice.research.planner.yardsticks import yardsticks
from hushprice.simulation.run import simulate


@pytest.fixture(scope="module")
def ample() -> Plan:
    return plan(customers=10**6, features=1, epsilon=2.0, vectors=6)


def test_yardsticks_are_those_of_simulation():
    market = markets(2)[0]
    found = yardsticks(market, 0.3, 0, 0)
    for expected, policy, price in (
        (found.clairvoyant, "clairvoyant", None),
        (found.one_price, "fixed", None),
        (found.reference_price, "fixed", 0.3),
    ):
        result = simulate(policy, market=market, price=price, horizon=20_000, trials=4, seed=9, workers=1)
        assert expected == pytest.approx(float(result.revenue.mean()), rel=0.02)
    assert found.clairvoyant >= found.one_price >= found.reference_price


def test_lines_add_up(ample):
    best = ample.lines[0].revenue + ample.lines[0].regret
    for line in ample.lines:
        assert line.revenue + line.regret == pytest.approx(best)
        assert line.share == pytest.approx(line.revenue / best)
    assert [each.epsilon for each in ample.epsilons] == list(EPSILONS)
    asked = next(each for each in ample.epsilons if each.epsilon == 2.0)
    assert asked.regret == ample.line(PRIVATE).regret
    assert asked.customers_to_beat_one_price == ample.customers_to_beat_one_price
    assert ample.proven_epsilon == pytest.approx(2.0)
    assert ample.scheduled_releases[0] == asked.first_release
    assert ample.scheduled_releases[-1] < 10**6 <= 1.5 * ample.scheduled_releases[-1] + 1


def test_more_privacy_needs_more_customers(ample):
    needed = [each.customers_to_beat_one_price for each in ample.epsilons]
    assert None not in needed
    assert needed[0] > needed[3] > needed[-1]
    at = np.interp(ample.customers_to_beat_one_price, ample.curve.customers, ample.curve.private)
    assert at == pytest.approx(ample.line(ONE_PRICE).regret, rel=0.1)


def test_the_answers_name_the_number(ample):
    told = " ".join(answers(ample))
    assert "beat the best single price after about" in told
    assert "no shop knows it" in told
    assert "too small" not in told


def test_a_hopeless_budget_is_said_so_and_the_policy_stays_at_the_reference_price():
    found = plan(customers=1000, features=1, epsilon=0.001, vectors=2)
    assert found.hopeless
    assert found.scheduled_releases == []
    assert found.releases == 0.0
    assert found.personal_after is None
    told = answers(found)[0]
    assert "too small to learn anything" in told
    assert f"reference price, {found.reference_price:.3g}" in told
    market = markets(1)[0]
    result = simulate("noisy-newton", market=market, horizon=1000, epsilon=0.001, trials=2, keep_prices=True, workers=1)
    assert np.all(result.estimates == 0)
    assert result.prices is not None
    assert np.max(np.abs(result.prices - found.reference_price)) <= 0.1 + 1e-12


def test_markets_where_one_price_is_best_for_all_are_told_apart():
    found = plan(customers=10**4, features=9, epsilon=1.0, vectors=2)
    assert found.customers_to_beat_one_price is None
    assert any("next to nothing to gain" in line for line in answers(found))


def test_the_same_arguments_give_the_same_plan_whatever_the_workers():
    one, two = (plan(customers=5000, features=1, epsilon=1.0, vectors=2, workers=workers) for workers in (1, 2))
    assert one == two


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"customers": 1}, "customers"),
        ({"customers": 10**10}, "customers"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"delta": 2.0}, "delta"),
        ({"adjacency": "nobody"}, "adjacency"),
        ({"reference_price": 1.5}, "reference_price"),
        ({"workers": 0}, "workers"),
        ({"seed": -1}, "seed"),
    ],
)
def test_bad_input_is_refused_by_name(given, named):
    with pytest.raises(InvalidInput, match=named):
        plan(**{"customers": 1000, "features": 1, "epsilon": 1.0, **given})
