"""Budgets: what is allowed, what a total splits into, and that NaN never passes."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushprice.errors import InvalidInput
from hushprice.privacy.budget import EpsilonDelta, PrivacyBudget, split

property_test = settings(deadline=None, derandomize=True)
BAD = [math.nan, math.inf, -math.inf, -0.1, True, "1"]
epsilons = st.floats(1e-6, 1e3)
deltas = st.floats(1e-60, 0.4)


def test_pairs_add_up() -> None:
    assert EpsilonDelta(0.25, 0.5) + EpsilonDelta(1.0, 0.25) == EpsilonDelta(1.25, 0.75)


@pytest.mark.parametrize("value", BAD)
def test_a_pair_refuses_and_names_the_field(value: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^epsilon must"):
        EpsilonDelta(value, 0.1)
    with pytest.raises(InvalidInput, match=r"^delta must"):
        EpsilonDelta(0.1, value)


def test_a_pair_may_be_zero_and_delta_may_be_one() -> None:
    assert EpsilonDelta(0.0, 0.0) + EpsilonDelta(0.0, 1.0) == EpsilonDelta(0.0, 1.0)
    with pytest.raises(InvalidInput, match=r"^delta must .* got 1\.5$"):
        EpsilonDelta(0.0, 0.5) + EpsilonDelta(0.0, 1.0)


@pytest.mark.parametrize(
    ("covariance", "estimates", "name"),
    [
        ((0.0, 0.1), (1.0, 0.1), "epsilon_covariance"),
        ((1.0, 0.1), (0.0, 0.1), "epsilon_estimate"),
        ((1.0, 0.0), (1.0, 0.1), "delta_covariance"),
        ((1.0, 0.1), (1.0, 1.0), "delta_estimate"),
        ((1.0, 0.6), (1.0, 0.6), "delta"),
    ],
)
def test_a_budget_needs_four_usable_numbers(covariance: Any, estimates: Any, name: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{name} must"):
        PrivacyBudget(covariance=EpsilonDelta(*covariance), estimates=EpsilonDelta(*estimates))


def test_a_budget_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        split(1.0, 1e-6).covariance = EpsilonDelta(2.0, 0.1)  # type: ignore[misc]


@property_test
@given(epsilons, deltas)
def test_without_shares_everything_is_halved(epsilon: float, delta: float) -> None:
    budget = split(epsilon, delta)
    assert budget.covariance == budget.estimates == EpsilonDelta(epsilon / 2, delta / 2)
    assert budget.total == EpsilonDelta(epsilon, delta)


@property_test
@given(epsilons, st.floats(0.01, 0.99), deltas)
def test_one_share_leaves_the_rest_to_the_other(epsilon: float, part: float, delta: float) -> None:
    share = part * epsilon
    first, second = split(epsilon, delta, epsilon_covariance=share), split(epsilon, delta, epsilon_estimate=share)
    assert first.covariance.epsilon == second.estimates.epsilon == share
    assert first.estimates.epsilon == second.covariance.epsilon == epsilon - share
    assert first.total.epsilon == pytest.approx(epsilon, rel=1e-15)
    assert first.covariance.delta == first.estimates.delta == delta / 2


@property_test
@given(epsilons, epsilons, deltas)
def test_both_shares_make_the_total(first: float, second: float, delta: float) -> None:
    budget = split(None, delta, epsilon_covariance=first, epsilon_estimate=second)
    assert (budget.covariance.epsilon, budget.estimates.epsilon) == (first, second)
    assert split(first + second, delta, epsilon_covariance=first, epsilon_estimate=second) == budget


@pytest.mark.parametrize("epsilon", [0.29, 0.31, math.nan, math.inf, -0.3])
def test_a_total_that_is_not_the_sum_of_both_shares_is_refused(epsilon: float) -> None:
    with pytest.raises(InvalidInput, match=r"^epsilon must be epsilon_covariance \+ epsilon_estimate"):
        split(epsilon, 0.1, epsilon_covariance=0.1, epsilon_estimate=0.2)


@pytest.mark.parametrize("shares", [{}, {"epsilon_covariance": 0.1}, {"epsilon_estimate": 0.1}])
def test_a_total_is_needed_unless_both_shares_are_given(shares: dict[str, float]) -> None:
    with pytest.raises(InvalidInput, match=r"^epsilon must be given"):
        split(None, 0.1, **shares)


@pytest.mark.parametrize("value", [*BAD, 0.0])
@pytest.mark.parametrize("shares", [{}, {"epsilon_covariance": 0.1}, {"epsilon_estimate": 0.1}])
def test_a_bad_total_is_refused_by_name(value: Any, shares: dict[str, float]) -> None:
    with pytest.raises(InvalidInput, match=f"^epsilon must .* got {value!r}$"):
        split(value, 0.1, **shares)


@pytest.mark.parametrize("value", [*BAD, 0.0])
@pytest.mark.parametrize("name", ["epsilon_covariance", "epsilon_estimate"])
@pytest.mark.parametrize("other", [None, 0.1])
def test_a_bad_share_is_refused_by_name(value: Any, name: str, other: float | None) -> None:
    shares = {"epsilon_covariance": other, "epsilon_estimate": other, name: value}
    with pytest.raises(InvalidInput, match=f"^{name} must .* got {value!r}$"):
        split(1.0, 0.1, **shares)


@pytest.mark.parametrize("name", ["epsilon_covariance", "epsilon_estimate"])
@pytest.mark.parametrize("value", [1.0, 1.5])
def test_a_share_that_leaves_nothing_is_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(InvalidInput, match=rf"^{name} must be below epsilon, 1\.0, got {value}$"):
        split(1.0, 0.1, **{name: value})


@pytest.mark.parametrize("value", [*BAD, 0.0, 1.0])
def test_a_bad_delta_is_refused_by_name(value: Any) -> None:
    with pytest.raises(InvalidInput, match=f"^delta must .* got {value!r}$"):
        split(1.0, value)
