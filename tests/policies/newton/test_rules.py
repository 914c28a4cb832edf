"""The rules of noisy-newton: made of public quantities, and claiming what their noise proves."""

from __future__ import annotations

import inspect
import math
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from hushprice.demand import welfare
from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.demand.family import CUSTOM
from hushprice.demand.features import Affine, by_name, main_effects
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput
from hushprice.policies.newton import rules
from hushprice.policies.newton.noise import calibrate
from hushprice.policies.newton.policy import noisy_newton
from hushprice.policies.newton.rules import (
    NewtonRules,
    largest_turn,
    newton,
    references,
    schedule,
    slope_at_zero,
    start,
    without_noise,
)
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.streams import toeplitz

CLAIM = EpsilonDelta(1.0, 1e-8)
FAMILIES: list[Demand] = [Logistic(), Logistic(slope=12.0), Poisson(slope=2.0), Gaussian(noise=0.5)]


def made(**changes: Any) -> NewtonRules:
    given: dict[str, Any] = {"demand": Logistic(), "features": main_effects(1)}
    return newton(CLAIM, **given | changes)


def test_rules_are_made_of_budget_family_and_features_alone() -> None:
    """Neither theta, nor how contexts are distributed, nor a horizon can be said."""
    asked = set(inspect.signature(newton).parameters)
    assert asked == {
        "claimed", "demand", "features", "adjacency", "reference_price", "width", "trigger", "drawn", "unit_cost"
    }  # fmt: skip
    assert made() == made()


@pytest.mark.parametrize("demand", FAMILIES, ids=str)
@pytest.mark.parametrize("features", ["main", "intercept", "interactions"])
def test_every_family_and_map_has_rules(demand: Demand, features: str) -> None:
    for k in (1, 5, 19):
        chosen = by_name(features, k)
        made = newton(CLAIM, demand=demand, features=chosen)
        assert len(made.center) == chosen.dimension
        assert np.linalg.norm(made.center) <= rules.TRUST + 1e-12
        assert made.first >= rules.SHORTEST * chosen.dimension
        assert 0.0 < made.cap <= largest_turn(demand)
        assert made.noise == calibrate(
            CLAIM, dimension=chosen.dimension, levels=rules.LEVELS, adjacency=Adjacency.REPLACE_ONE
        )


@pytest.mark.parametrize("demand", FAMILIES, ids=str)
@pytest.mark.parametrize("features", ["intercept", "interactions"])
@pytest.mark.parametrize("price", [0.2, 0.5, 0.8])
def test_the_first_belief_is_one_under_which_the_reference_price_is_best(
    demand: Demand, features: str, price: float
) -> None:
    """For the customer x = 0, up to where the ball ends."""
    chosen = by_name(features, 2)
    theta, held = start(demand, chosen, price)
    assert np.linalg.norm(theta) <= 1.0 + 1e-12
    u, v = chosen.parts(np.zeros(2))
    best = welfare.clairvoyant_price(demand.family, float(demand.slope), float(theta @ u), float(theta @ v))
    assert best == pytest.approx(held, abs=1e-6)
    assert held == pytest.approx(price, abs=1e-6) or held > price  # further than the ball allows


@pytest.mark.beyond_coverage
@pytest.mark.parametrize("demand", FAMILIES, ids=str)
@pytest.mark.parametrize(("cost", "price"), [(0.1, 0.3), (0.3, 0.6), (0.6, 0.95)])
def test_with_a_unit_cost_the_first_belief_is_one_under_which_the_reference_price_has_the_best_margin(
    demand: Demand, cost: float, price: float
) -> None:
    chosen = by_name("intercept", 2)
    theta, held = start(demand, chosen, price, cost)
    assert np.linalg.norm(theta) <= 1.0 + 1e-12
    u, v = chosen.parts(np.zeros(2))
    prices = np.linspace(cost, 1.0, 100_001)
    margin = (prices - cost) * demand.mean(float(theta @ u) + float(theta @ v) * prices)
    assert prices[np.argmax(margin)] == pytest.approx(held, abs=1e-4)
    assert held == pytest.approx(price, abs=1e-6) or held > price  # further than the ball allows


@pytest.mark.parametrize("demand", FAMILIES, ids=str)
def test_a_unit_cost_of_zero_changes_no_bit_of_the_rules(demand: Demand) -> None:
    for features in (main_effects(1), by_name("intercept", 3)):
        for price in (None, 0.2, 0.7):
            assert repr(made(demand=demand, features=features, reference_price=price)) == repr(
                made(demand=demand, features=features, reference_price=price, unit_cost=0.0)
            )


@pytest.mark.parametrize("cost", [-0.1, 1.0, math.nan])
def test_a_unit_cost_outside_the_prices_is_refused(cost: float) -> None:
    with pytest.raises(InvalidInput, match=r"^unit_cost must"):
        made(unit_cost=cost)


def test_the_default_reference_price_is_half_way_from_cost_to_the_highest_price() -> None:
    assert made(demand=Logistic(slope=12.0), unit_cost=0.2).reference_price == 0.6
    with pytest.raises(InvalidInput, match=r"^reference_price must lie in \[0.2, 1\], got 0.1"):
        made(unit_cost=0.2, reference_price=0.1)


def test_the_shortest_such_belief_is_taken() -> None:
    """A little shorter and the best price would be higher."""
    features = main_effects(1)
    theta, held = start(Logistic(), features, 0.6)
    assert held == 0.6
    u, v = features.parts(np.zeros(1))
    shorter = 0.95 * theta
    assert welfare.clairvoyant_price(0, 4.0, float(shorter @ u), float(shorter @ v)) > 0.6


def test_many_features_move_the_default_reference_price_and_never_a_given_one() -> None:
    few, many = main_effects(1), main_effects(30)
    assert made(features=few).reference_price == 0.5
    moved = made(features=many).reference_price
    assert moved > 0.7
    assert moved == pytest.approx(start(Logistic(), many, 0.5)[1])
    assert made(features=many, reference_price=0.5).reference_price == 0.5
    assert made(features=many, reference_price=0.5).center == made(features=many).center


def test_where_no_price_can_be_best_the_belief_starts_at_zero() -> None:
    class Own(Logistic):
        family = CUSTOM

    flat = Affine(1, 2, lambda x: np.array([x[0], 0.5]), lambda x: np.zeros(2), 1.5)
    for demand, features in (
        (Own(), main_effects(1)),  # nothing is known of its curve
        (Logistic(), flat),  # prices do not matter
        (Gaussian(), main_effects(1)),  # no level at x = 0
    ):
        theta, held = start(demand, features, 0.4)
        assert not np.any(theta)
        assert held == 0.4


def test_parts_are_turned_off_one_by_one() -> None:
    whole = made()
    assert whole.trigger == rules.TRIGGER > 0.0
    assert whole.width == pytest.approx(rules.BONUS * 1.0)  # f' of the logistic curve is slope / 4 at most
    plain = made(trigger=False)
    assert (plain.trigger, plain.noise.levels) == (0.0, 0)
    assert made(width=0.0).width == 0.0
    silent = without_noise(whole)
    assert silent == replace(whole, drawn=False) == made(drawn=False)


def test_what_is_claimed_is_proven_and_without_noise_nothing_is() -> None:
    for adjacency in Adjacency:
        policy = noisy_newton(made(adjacency=adjacency), demand=Logistic(), dimension=2, adjacency=adjacency)
        assert policy.claimed == CLAIM
        assert policy.proven is not None
        assert policy.proven.delta == CLAIM.delta
        assert CLAIM.epsilon * (1.0 - 1e-6) < policy.proven.epsilon <= CLAIM.epsilon
        assert (policy.name, policy.horizon, policy.adjacency) == ("noisy-newton", None, adjacency)
    silent = noisy_newton(made(drawn=False), demand=Logistic(), dimension=2)
    assert silent.claimed is silent.proven is None
    with pytest.raises(InvalidInput, match="is claimed, but the noise proves"):
        noisy_newton(made(adjacency=Adjacency.ZERO_OUT), demand=Logistic(), dimension=2)


@pytest.mark.parametrize("price", [-0.1, 1.1, math.nan])
def test_a_reference_price_that_is_none_is_refused(price: float) -> None:
    with pytest.raises(InvalidInput, match=r"^reference_price must"):
        made(reference_price=price)


@pytest.mark.parametrize(
    "change",
    [
        {"reference_price": 1.5},
        {"dispersion": -0.1},
        {"first": 0},
        {"first": 1.5},
        {"cap": 0.0},
        {"sampling": math.nan},
        {"width": -1.0},
        {"spread": math.inf},
        {"probe": -0.5},
        {"reach": 0.0},
        {"least": math.nan},
        {"near": -1.0},
        {"trigger": -1.0},
    ],
)
def test_bad_rules_are_refused_by_name(change: dict[str, Any]) -> None:
    ((name, _),) = change.items()
    assert name in {field.name for field in fields(NewtonRules)}
    with pytest.raises(InvalidInput, match=f"^{name} must"):
        replace(made(), **change)


@pytest.mark.parametrize("demand", FAMILIES, ids=str)
def test_constants_of_the_curve_bound_it(demand: Demand) -> None:
    z = np.random.default_rng(0).uniform(-1.0, 1.0, 500)
    f, slope = demand.mean(z), demand.mean_slope(z)
    lowest = -demand.bound if demand.family == Gaussian().family else 0.0
    assert np.all(slope / np.maximum(f - lowest, demand.bound - f) <= largest_turn(demand) * (1.0 + 1e-3))
    assert demand.family == Poisson().family or np.all(slope <= slope_at_zero(demand) * (1.0 + 1e-12))


def test_the_bonus_is_scaled_by_the_slope_of_demand_at_zero() -> None:
    for demand, slope in ((Logistic(slope=8.0), 2.0), (Poisson(slope=2.0), 2.0), (Gaussian(noise=0.5), 1.0)):
        assert slope_at_zero(demand) == pytest.approx(slope)
        assert newton(CLAIM, demand=demand, features=main_effects(1)).width == pytest.approx(rules.BONUS * slope)


def test_a_probe_is_long_enough_for_its_noise_and_a_curve_of_ones_own_has_none() -> None:
    class Own(Logistic):
        family = CUSTOM

    whole = made()
    sampling_after = whole.sampling * whole.cap * whole.least
    assert sampling_after == pytest.approx(rules.CLEAR * whole.noise.score**2)
    loose = newton(EpsilonDelta(50.0, 1e-8), demand=Logistic(), features=main_effects(1))
    assert loose.least == rules.SHORTEST * 2
    assert (whole.probe, whole.reach, whole.near) == (rules.PROBE, rules.REACH, rules.NEAR)
    assert made(demand=Own()).probe == 0.0


def test_reference_customers_are_the_middle_one_and_two_on_every_axis() -> None:
    chosen = by_name("interactions", 2)
    u, v = references(chosen)
    assert u.shape == v.shape == (5, 6, 1)
    found = sorted((u[:, 1:3, 0] / u[:, :1, 0]).tolist())
    assert found == [[-0.5, 0.0], [0.0, -0.5], [0.0, 0.0], [0.0, 0.5], [0.5, 0.0]]
    np.testing.assert_array_equal(v[0, :, 0], chosen.parts(np.zeros(2))[1])


def test_a_reference_customer_lies_in_memory_as_simulated_ones_do_so_that_steps_are_compiled_once() -> None:
    for parts in references(by_name("interactions", 2)):
        assert parts[0].flags.c_contiguous
        assert parts[0].ndim == 2
        assert all(parts.strides)  # no step of 0 bytes, which a copy to a GPU would leave out


def test_the_schedule_has_the_strategy_of_every_level() -> None:
    made = schedule(4)
    assert made.poles.shape == made.zeros.shape == (5, 5)
    for level in range(5):
        strategy = toeplitz(2**level + 1)
        assert tuple(made.poles[level]) == strategy.poles
        assert tuple(made.zeros[level]) == strategy.zeros
        assert made.column[level] == strategy.column_norm(2**level)
        assert made.row[level] == strategy.row_norm(2**level)
    assert made.column[0] == pytest.approx(1.0)
    assert made.row[0] == pytest.approx(1.0)
