"""Unit cost: the price is the one with the best margin, never below cost; without a cost nothing changes."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.policies.newton.newton_runs import opened, serve

from hushprice import Pricer, open_pricer, simulate
from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.demand.family import CUSTOM
from hushprice.demand.features import by_name, main_effects
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput
from hushprice.policies.newton.policy import noisy_newton
from hushprice.policies.newton.pricing import dispersion
from hushprice.policies.newton.pricing.quoter import NewtonQuoter
from hushprice.policies.newton.rules import NewtonRules, newton
from hushprice.policies.protocol import Policy
from hushprice.price_search import coefficients, many, plain
from hushprice.price_search.certified import TOLERANCE
from hushprice.privacy.budget import EpsilonDelta
from hushprice.types import FloatArray

CLAIM = EpsilonDelta(1.0, 1e-8)
FEATURES = by_name("intercept", 2)


class OwnLogistic(Logistic):
    """Priced by a dense grid instead of the certified search."""

    family = CUSTOM


FAMILIES: list[Demand] = [Logistic(), Poisson(slope=2.0), Gaussian(noise=0.5), OwnLogistic()]


def believing(demand: Demand, theta: FloatArray, deviation: float, **rules: Any) -> NewtonQuoter:
    """A quoter that believes in theta, ready to price."""
    made = newton(CLAIM, demand=demand, features=FEATURES, **rules)
    quoter = NewtonQuoter(demand=demand, features=FEATURES, rules=made)
    quoter.theta, quoter.inverse, quoter.ready = theta, deviation**2 * np.eye(theta.size), True
    return quoter


def worth(quoter: NewtonQuoter, x: FloatArray, uniform: float, prices: FloatArray) -> FloatArray:
    """(p - c) f(a + b p) + width sqrt(q(p)), written down once more, from the belief itself."""
    rules, demand = quoter._rules, quoter._demand
    u, v = FEATURES.parts(x)
    a, b = float(quoter.theta @ u), float(quoter.theta @ v)
    q0, q1, q2 = (
        float(value) for value in (u @ quoter.inverse @ u, 2.0 * (u @ quoter.inverse @ v), v @ quoter.inverse @ v)
    )
    moved = rules.spread * math.sqrt(3.0) * (2.0 * uniform - 1.0) * math.sqrt(q2)
    b += moved
    a += moved * 0.5 * q1 / q2
    bonus = np.sqrt(np.maximum(0.0, q0 + prices * (q1 + prices * q2)))
    return (prices - rules.unit_cost) * demand.mean(a + b * prices) + rules.width * bonus


def unit_vectors(size: int) -> st.SearchStrategy[FloatArray]:
    entries = st.lists(st.floats(-1.0, 1.0), min_size=size, max_size=size).map(np.array)
    return entries.map(lambda v: v / max(1.0, float(np.linalg.norm(v))))


@pytest.mark.beyond_coverage
@pytest.mark.parametrize("demand", FAMILIES, ids=lambda each: type(each).__name__)
@given(
    theta=unit_vectors(4),
    x=st.lists(st.floats(-1.0, 1.0), min_size=2, max_size=2).map(np.array),
    cost=st.floats(0.0, 0.999),
    deviation=st.floats(0.001, 1.0),
    uniform=st.floats(0.0, 1.0),
)
@settings(max_examples=60)
def test_the_price_has_the_best_margin_of_a_dense_grid(
    demand: Demand, theta: FloatArray, x: FloatArray, cost: float, deviation: float, uniform: float
) -> None:
    quoter = believing(demand, theta, deviation, unit_cost=cost)
    price = quoter.price(x, uniform)
    assert cost <= price <= 1.0
    found = float(worth(quoter, x, uniform, np.array([price]))[0])
    best = float(np.max(worth(quoter, x, uniform, np.linspace(cost, 1.0, 20_001))))
    assert found >= best - TOLERANCE - 1e-9


@pytest.mark.beyond_coverage
@pytest.mark.parametrize("demand", FAMILIES, ids=lambda each: type(each).__name__)
def test_a_cost_of_zero_changes_no_bit_of_any_price(demand: Demand) -> None:
    """Against the price search called as it was before there was a cost."""
    draws = np.random.default_rng(3)
    for _ in range(40 if demand.family == CUSTOM else 300):
        theta = draws.normal(size=4)
        theta /= max(1.0, float(np.linalg.norm(theta)))
        quoter = believing(demand, theta, float(draws.uniform(0.001, 1.0)), unit_cost=0.0)
        uniform, rules = float(draws.uniform()), quoter._rules
        u, v = FEATURES.parts(draws.uniform(-1.0, 1.0, 2))
        a, b, q0, q1, q2, price = np.empty((6, 1))
        columns = u.reshape(-1, 1), v.reshape(-1, 1)
        coefficients.demand_line(theta, *columns, 1, a, b)
        coefficients.bonus_curve(quoter.inverse, *columns, 1, q0, q1, q2, np.empty((2, 1)))
        dispersion.spread_lines(rules.spread, 1, np.array([uniform]), a, b, q1, q2)
        if demand.family == CUSTOM:
            before = plain.dense_price(demand, a.item(), b.item(), (q0.item(), q1.item(), q2.item()), rules.width)
        else:
            work = np.empty(many.WORK)
            many.best_prices(demand.family, float(demand.slope), rules.width, 1, a, b, q0, q1, q2, price, work)
            before = float(price[0])
        assert quoter.price_of(u, v, uniform).hex() == before.hex()


def test_a_pricer_without_a_cost_is_the_pricer_there_was() -> None:
    assert serve(opened()) == serve(opened(unit_cost=0.0))
    assert opened().policy == opened(unit_cost=0.0).policy


def test_prices_before_anything_is_known_are_not_below_cost_either() -> None:
    pricer = opened(unit_cost=0.45, reference_price=0.5)
    prices = [pricer.quoter.price(np.zeros(2), uniform) for uniform in (0.0, 0.2, 0.5, 1.0)]
    assert prices == [0.45, 0.45, 0.5, 0.6]
    assert opened(unit_cost=0.4).policy.rules.reference_price >= 0.7  # half way from the cost to the highest price


def test_a_higher_cost_never_means_a_lower_price() -> None:
    """Without the bonus: the margin's best price moves with the cost."""
    theta = np.array([0.3, 0.1, -0.2, 0.7])
    x = np.array([0.4, -0.3])
    for demand in FAMILIES:
        prices = [
            believing(demand, theta, 0.05, unit_cost=cost, width=0.0).price(x, 0.5)
            for cost in np.linspace(0.0, 0.9, 19)
        ]
        assert all(low <= high + 1e-5 for low, high in pairwise(prices))


def policy(**changes: Any) -> Policy:
    demand, features = Logistic(), main_effects(2)
    return noisy_newton(newton(CLAIM, demand=demand, features=features, **changes), demand=demand, dimension=3)


def test_a_saved_pricer_keeps_its_cost(tmp_path: Any) -> None:
    pricer = opened(unit_cost=0.3)
    serve(pricer, stop=45)
    pricer.save(tmp_path / "pricer")
    loaded = Pricer.load(tmp_path / "pricer", simulation=True)
    assert loaded.policy == pricer.policy
    assert serve(loaded, {}, start=45) == serve(pricer, {}, start=45)


def test_rules_written_before_there_was_a_cost_have_none() -> None:
    written = msgspec.to_builtins(policy().rules)
    del written["unit_cost"]
    assert msgspec.convert(written, NewtonRules) == policy().rules


@pytest.mark.parametrize("cost", [-0.1, 1.0, 1.5, math.nan, math.inf, True])
def test_a_cost_that_is_none_is_refused(cost: float) -> None:
    with pytest.raises(InvalidInput, match=r"^unit_cost must "):
        open_pricer(horizon=100, contexts=1, unit_cost=cost)
    with pytest.raises(InvalidInput, match=r"^unit_cost must "):
        NewtonRules(**{name: getattr(policy().rules, name) for name in NewtonRules.__slots__} | {"unit_cost": cost})


def test_a_reference_price_below_cost_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"^reference_price must lie in \[0.4, 1\], got 0.3"):
        policy(unit_cost=0.4, reference_price=0.3)
    with pytest.raises(InvalidInput, match=r"^reference_price must lie in \[0.9, 1\], got 0.5"):
        NewtonRules(**{name: getattr(policy().rules, name) for name in NewtonRules.__slots__} | {"unit_cost": 0.9})


@pytest.mark.parametrize("name", ["paper", "nonprivate"])
def test_other_policies_know_no_cost(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"unit_cost is for policy 'noisy-newton', got 0.1 for policy '{name}'"):
        open_pricer(horizon=100, contexts=1, policy=name, unit_cost=0.1)


def test_a_simulation_which_is_about_revenue_refuses_a_cost() -> None:
    with pytest.raises(InvalidInput, match=r"^unit_cost must be 0 in a simulation, which is about revenue, got 0.2"):
        simulate(policy(unit_cost=0.2), horizon=100, trials=1, dimension=3)
