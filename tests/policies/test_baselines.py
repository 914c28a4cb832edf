"""What every result is shown beside: prices that read no record, prices that know too much, and noise on the input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hushprice.errors import InvalidInput
from hushprice.policies import baselines
from hushprice.policies.paper.policy import input_perturbation, nonprivate
from hushprice.policies.paper.rules import numerical
from hushprice.privacy.budget import EpsilonDelta

NOTHING = EpsilonDelta(0.0, 0.0)
TUNING = numerical(1000, 3)


def test_prices_that_read_no_record_reveal_none() -> None:
    for policy in (baselines.random(), baselines.fixed(0.4), baselines.fixed()):
        assert (policy.claimed, policy.proven) == (NOTHING, NOTHING)


def test_knowing_theta_claims_nothing() -> None:
    policy = baselines.clairvoyant()
    assert (policy.claimed, policy.proven) == (None, None)


def test_a_fixed_price_is_the_one_given_or_the_best_in_hindsight() -> None:
    assert baselines.fixed().price is None
    for price in (0.0, 0.25, 1.0):
        assert baselines.fixed(price).price == price


@pytest.mark.parametrize("price", [-0.1, 1.1, float("nan"), "cheap", True])
def test_a_fixed_price_outside_the_unit_interval_is_refused(price: Any) -> None:
    with pytest.raises(InvalidInput, match=rf"^price must lie in \[0, 1\], got {price!r}"):
        baselines.fixed(price)


@pytest.mark.parametrize(("contexts", "epsilon"), [(1, 0.5), (2, 0.1), (5, 4.0)])
def test_input_noise_is_the_laplace_scale_of_the_cubes_diameter(contexts: int, epsilon: float) -> None:
    """Oracle: the l1 distance of the two farthest contexts in [-1, 1]^k, over epsilon (the Laplace mechanism)."""
    farthest = np.abs(np.full(contexts, 1.0) - np.full(contexts, -1.0)).sum()
    policy = input_perturbation(epsilon, contexts=contexts, rules=TUNING)
    assert policy.input_noise == farthest / epsilon


def test_input_perturbation_is_the_nonprivate_policy_on_noisy_contexts() -> None:
    policy, plain = input_perturbation(1.0, contexts=2, rules=TUNING), nonprivate(rules=TUNING)
    assert (policy.name, policy.rules, policy.noise) == ("input-perturbation", plain.rules, plain.noise)
    assert (policy.claimed, policy.proven) == (None, None)  # it protects x and not y


@pytest.mark.parametrize(
    ("epsilon", "contexts", "message"),
    [
        (0.0, 2, "epsilon must be a positive number, got 0.0"),
        (float("nan"), 2, "epsilon must be a positive number, got nan"),
        (5e-324, 2, "input_noise must be a number at or above 0, got inf"),
        (1.0, -1, "contexts must be a whole number at or above 0, got -1"),
    ],
)
def test_input_perturbation_refuses_bad_numbers(epsilon: float, contexts: int, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        input_perturbation(epsilon, contexts=contexts, rules=TUNING)
