"""The closed forms against dense search, simulation and scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from hushprice.demand import welfare
from hushprice.demand.family import CUSTOM, GAUSSIAN, LOGISTIC, POISSON
from hushprice.numerics.jit import COMPILED

PRICES = np.linspace(0.0, 1.0, 20_001)
property_test = settings(deadline=None, derandomize=True, max_examples=300 if COMPILED else 100)
families = st.sampled_from([LOGISTIC, GAUSSIAN, POISSON])
slopes = st.floats(0.05, 10.0)
coefficients = st.floats(-1.0, 1.0)


def dense_revenue(family: int, slope: float, a: float, b: float) -> np.ndarray:
    """p f(a + b p) on the grid, from scipy."""
    z = a + b * PRICES
    if family == GAUSSIAN:
        return PRICES * z
    return PRICES * (special.expit(slope * z) if family == LOGISTIC else np.exp(slope * z))


@property_test
@given(families, slopes, coefficients, coefficients)
def test_no_price_on_a_dense_grid_earns_more_than_the_clairvoyants(
    family: int, slope: float, a: float, b: float
) -> None:
    price = welfare.clairvoyant_price(family, slope, a, b)
    assert 0.0 <= price <= 1.0
    assert welfare.revenue(family, slope, a, b, price) >= dense_revenue(family, slope, a, b).max() * (1 - 1e-12) - 1e-15


@property_test
@given(families, slopes, coefficients, coefficients)
def test_revenue_is_price_times_scipys_mean_demand(family: int, slope: float, a: float, b: float) -> None:
    actual = [welfare.revenue(family, slope, a, b, float(price)) for price in PRICES[::2000]]
    np.testing.assert_allclose(actual, dense_revenue(family, slope, a, b)[::2000], rtol=1e-13, atol=1e-15)


@property_test
@given(st.floats(0.05, 300.0), coefficients, st.floats(-1.0, -1e-3))
def test_the_logistic_price_solves_the_first_order_condition(slope: float, a: float, b: float) -> None:
    price = welfare.clairvoyant_price(LOGISTIC, slope, a, b)
    z = a + b * price
    marginal = 1.0 + price * b * slope * special.expit(-slope * z)  # d/dp of p f, over f
    assert marginal >= -1e-9  # at the cap revenue still rises
    assert price == 1.0 or abs(marginal) <= 1e-9


@pytest.mark.parametrize("family", [LOGISTIC, POISSON])
@pytest.mark.parametrize("b", [0.0, 1e-300, 1e-3, 1.0])
@pytest.mark.parametrize("a", [-1.0, 0.0, 1.0])
def test_demand_that_does_not_fall_in_price_is_served_at_one(family: int, a: float, b: float) -> None:
    assert welfare.clairvoyant_price(family, 4.0, a, b) == 1.0


@pytest.mark.parametrize(
    ("a", "b", "price"),
    [
        (0.5, -0.5, 0.5),
        (1.0, -0.1, 1.0),
        (-0.5, -0.5, 0.0),  # a loss at every price above zero
        (0.5, 0.5, 1.0),
        (-0.2, 0.5, 1.0),
        (-0.5, 0.2, 0.0),
        (-0.5, 0.0, 0.0),
        (0.0, -1.0, 0.0),
    ],
)
def test_gaussian_demand_may_be_negative_and_is_then_not_sold(a: float, b: float, price: float) -> None:
    assert welfare.clairvoyant_price(GAUSSIAN, 1.0, a, b) == price


@pytest.mark.parametrize("family", [LOGISTIC, GAUSSIAN, POISSON])
@pytest.mark.parametrize("a", [-350.0, -1.0, -1e-300, 0.0, 1e-300, 1.0, 350.0])
@pytest.mark.parametrize("b", [-350.0, -1.0, -1e-300, 1e-300, 350.0])
def test_extreme_coefficients_give_a_price_no_grid_point_beats(family: int, a: float, b: float) -> None:
    price = welfare.clairvoyant_price(family, 1.0, a, b)
    assert 0.0 <= price <= 1.0
    best = dense_revenue(family, 1.0, a, b).max()
    assert welfare.revenue(family, 1.0, a, b, price) >= best * (1 - 1e-12)


def test_lambert_agrees_with_scipy_over_the_whole_range() -> None:
    c = np.concatenate([np.linspace(-600, 700, 1301), np.linspace(-3, 3, 601), [1e4, 1e8, 1e15]])
    actual = np.array([welfare._lambert_of_exp(float(value), 1) for value in c])
    np.testing.assert_allclose(actual, special.wrightomega(c), rtol=2e-13)
    moderate = c[np.abs(c) < 300]  # where e^c itself is a float, the textbook function too
    expected = special.lambertw(np.exp(moderate)).real
    np.testing.assert_allclose([welfare._lambert_of_exp(float(value), 1) for value in moderate], expected, rtol=2e-13)


def test_surplus_is_what_simulated_customers_gain() -> None:
    # y = 1 iff u > 0, and the buyer gains u; five standard errors, a false alarm of 6e-7 for each of the twelve.
    rng = np.random.default_rng(12)
    for slope in (0.5, 1.0, 4.0):
        for z in (-1.0, -0.2, 0.0, 0.9):
            gain = np.maximum(slope * z + rng.logistic(size=200_000), 0.0)
            error = gain.std() / math.sqrt(gain.size)
            assert abs(welfare.surplus(LOGISTIC, slope, z) - gain.mean()) < 5 * error
            assert abs(welfare.surplus(LOGISTIC, slope, z) - 1.25 * gain.mean()) > 5 * error  # a wrong one would show


@pytest.mark.parametrize("family", [GAUSSIAN, POISSON, CUSTOM])
def test_families_without_a_utility_model_have_no_surplus(family: int) -> None:
    assert math.isnan(welfare.surplus(family, 1.0, 0.5))


@pytest.mark.skipif(not COMPILED, reason="there is nothing compiled to compare with")
def test_compiled_functions_repeat_the_plain_source_bit_for_bit() -> None:
    for slope, a, b in np.random.default_rng(13).uniform([0.1, -1, -1], [9, 1, 1], (200, 3)):
        for family in (LOGISTIC, GAUSSIAN, POISSON):
            compiled = welfare.clairvoyant_price(family, slope, a, b)
            assert compiled == welfare.clairvoyant_price.py_func(family, slope, a, b)
