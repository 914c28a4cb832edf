"""Gaussian privacy: a second library, more digits than floats have, inverse pairs, and the direction each moves in."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from dp_accounting import get_epsilon_gaussian, get_sigma_gaussian
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hushprice.errors import InvalidInput
from hushprice.privacy import gaussian

property_test = settings(deadline=None, derandomize=True)
epsilons = st.floats(math.log(0.01), math.log(20.0)).map(math.exp)
deltas = st.floats(-60.0, -0.5).map(lambda power: 10.0**power)
mus = st.floats(math.log(1e-4), math.log(30.0)).map(math.exp)


def exact_log_delta(epsilon: float, mu: float) -> float:
    """The textbook difference of two tails, with 400 digits to lose."""
    with mpmath.workdps(400):
        e, m = mpmath.mpf(epsilon), mpmath.mpf(mu)
        return float(mpmath.log(mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)))


@property_test
@given(epsilons, deltas)
def test_mu_agrees_with_a_second_library(epsilon: float, delta: float) -> None:
    assert gaussian.mu_of(epsilon, delta) == pytest.approx(1.0 / get_sigma_gaussian(epsilon, delta), rel=1e-9)


@property_test
@given(epsilons, deltas)
def test_epsilon_agrees_with_a_second_library(epsilon: float, delta: float) -> None:
    sigma = get_sigma_gaussian(epsilon, delta)
    assert gaussian.epsilon_of(delta, 1.0 / sigma) == pytest.approx(get_epsilon_gaussian(sigma, delta), rel=1e-9)


@pytest.mark.parametrize("delta", [1e-3, 1e-12, 1e-60, 1e-250])
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 20.0])
def test_every_digit_at_any_delta(epsilon: float, delta: float) -> None:
    mu = gaussian.mu_of(epsilon, delta)
    assert exact_log_delta(epsilon, mu) == pytest.approx(math.log(delta), abs=1e-8)
    assert float(gaussian.log_delta(epsilon, mu)) == pytest.approx(exact_log_delta(epsilon, mu), abs=1e-9)


@pytest.mark.parametrize("mu", [1e-3, 0.5, 3.0, 20.0])
def test_negative_epsilons_too_since_the_accountant_asks_for_them(mu: float) -> None:
    epsilons = np.array([-50.0, -2.0, -1e-3, 0.0, 1e-6, mu * mu / 2, 5.0])
    found = gaussian.log_delta(epsilons, mu)
    assert found.shape == epsilons.shape
    assert found == pytest.approx([exact_log_delta(epsilon, mu) for epsilon in epsilons], rel=1e-10, abs=1e-12)


@property_test
@given(epsilons, mus)
@example(1.0, 1.0)
def test_delta_and_epsilon_undo_each_other(epsilon: float, mu: float) -> None:
    delta = gaussian.delta_of(epsilon, mu)
    if 1e-290 < delta < 0.999:
        assert gaussian.epsilon_of(delta, mu) == pytest.approx(epsilon, rel=1e-9)


@property_test
@given(epsilons, deltas)
def test_mu_and_epsilon_undo_each_other(epsilon: float, delta: float) -> None:
    mu = gaussian.mu_of(epsilon, delta)
    assert gaussian.epsilon_of(delta, mu) == pytest.approx(epsilon, rel=1e-9)
    assert gaussian.delta_of(epsilon, mu) == pytest.approx(delta, rel=1e-7)


@property_test
@given(mus, deltas)
def test_epsilon_and_mu_undo_each_other(mu: float, delta: float) -> None:
    epsilon = gaussian.epsilon_of(delta, mu)
    if epsilon > 1e-6:
        assert gaussian.mu_of(epsilon, delta) == pytest.approx(mu, rel=1e-9)


@property_test
@given(epsilons, deltas, st.floats(1.001, 10.0))
def test_more_of_one_is_less_of_another(epsilon: float, delta: float, more: float) -> None:
    mu = gaussian.mu_of(epsilon, delta)
    assert gaussian.mu_of(epsilon * more, delta) > mu > gaussian.mu_of(epsilon, delta / more)
    assert gaussian.epsilon_of(delta, mu * more) > gaussian.epsilon_of(delta, mu) > 0.0
    assert gaussian.epsilon_of(delta / more, mu) > gaussian.epsilon_of(delta, mu)
    assert gaussian.delta_of(epsilon * more, mu) <= gaussian.delta_of(epsilon, mu)


def test_the_textbook_calibration_is_never_better() -> None:
    """sqrt(2 ln(1.25/delta))/epsilon, which the paper uses, holds below epsilon = 1."""
    for epsilon in (0.01, 0.1, 0.99):
        for delta in (1e-3, 1e-10, 1e-60):
            assert 1.0 / gaussian.mu_of(epsilon, delta) < math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon


def test_half_the_noise_would_be_caught() -> None:
    mu = gaussian.mu_of(1.0, 1e-10)
    assert exact_log_delta(1.0, 2.0 * mu) > math.log(1e-10) + 5.0
    assert exact_log_delta(1.0, 1.001 * mu) > math.log(1e-10) + 1e-3


def test_a_release_that_reveals_nothing_costs_nothing() -> None:
    assert gaussian.delta_of(0.0, 0.0) == gaussian.delta_of(1.0, 0.0) == 0.0
    assert gaussian.epsilon_of(1e-60, 0.0) == 0.0


def test_a_delta_large_enough_needs_no_epsilon() -> None:
    delta = gaussian.delta_of(0.0, 1.0)  # total variation, 2 Phi(1/2) - 1
    assert delta == pytest.approx(0.3829249225480262)
    assert gaussian.epsilon_of(1.0001 * delta, 1.0) == 0.0
    assert gaussian.epsilon_of(0.9999 * delta, 1.0) > 0.0


@pytest.mark.parametrize("mu", [1e-9, 1e-13, 1e-30, 1e-160, 1e-300])
def test_however_little_is_revealed_there_is_an_answer(mu: float) -> None:
    for delta in (0.9, 1e-10, 1e-300):
        assert 0.0 <= gaussian.epsilon_of(delta, mu) <= 40.0 * max(mu, 1e-12)


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, 1.1, math.nan, math.inf, "0.1", None, True])
def test_delta_is_refused_by_name(delta: Any) -> None:
    for refused in (lambda: gaussian.epsilon_of(delta, 1.0), lambda: gaussian.mu_of(1.0, delta)):
        with pytest.raises(InvalidInput, match=r"^delta must"):
            refused()


@pytest.mark.parametrize("value", [-0.1, -1, math.nan, math.inf, "1", None, True])
def test_epsilon_and_mu_are_refused_by_name(value: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^epsilon must"):
        gaussian.delta_of(value, 1.0)
    with pytest.raises(InvalidInput, match=r"^epsilon must"):
        gaussian.mu_of(value, 0.1)
    with pytest.raises(InvalidInput, match=r"^mu must"):
        gaussian.delta_of(1.0, value)
    with pytest.raises(InvalidInput, match=r"^mu must"):
        gaussian.epsilon_of(0.1, value)


def test_no_finite_noise_gives_epsilon_zero() -> None:
    with pytest.raises(InvalidInput, match=r"^epsilon must be a positive number, got 0\.0$"):
        gaussian.mu_of(0.0, 0.1)


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-9, 1e-60), (1e-300, 1e-60), (1e6, 1e-3), (1e300, 0.5)])
def test_an_epsilon_out_of_all_proportion_is_refused_by_name(epsilon: float, delta: float) -> None:
    with pytest.raises(InvalidInput, match=r"^epsilon must"):
        gaussian.mu_of(epsilon, delta)
