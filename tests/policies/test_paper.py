"""Oracle: alg:framework line 3, alg:private-cov line 2 and alg:private-mle line 2, in the variances they print."""

from __future__ import annotations

import math

import pytest

from hushprice.accounting.budget import EpsilonDelta, PrivacyBudget, split
from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput, NotAvailable
from hushprice.policies.paper import nonprivate, paper
from hushprice.policies.protocol import LEARNING
from hushprice.policies.tuning import Tuning, numerical

BUDGET = PrivacyBudget(covariance=EpsilonDelta(0.3, 1e-10), estimates=EpsilonDelta(0.7, 3e-10))
DEMANDS = [Logistic(), Logistic(slope=0.5, bound=2.0), Gaussian(), Poisson()]
T = 100_000


def printed(demand: Demand, tuning: Tuning) -> tuple[float, float, float]:
    """sigma^2, nu^2 and rho with the algorithms' own words."""
    m = math.ceil(math.log2(T))
    delta = 1e-10 / (2 * m)
    epsilon = 0.3 / (2 * m * math.log(1 / delta))
    sigma2 = 2 * math.log(1.25 / delta) / epsilon**2
    most = tuning.max_estimates
    delta = 3e-10 / (2 * most)
    epsilon = 0.7 / (2 * math.sqrt(2 * most * math.log(1 / delta)))
    b1, b2 = (demand.bound + 1) * demand.scale, demand.paper_curvature * demand.scale
    return sigma2, b1**2 * (8 * math.log(2 / delta) + 4 * epsilon) / epsilon**2, max(tuning.ridge, 2 * b2 / epsilon)


@pytest.mark.parametrize("demand", DEMANDS)
def test_printed_noise_is_what_the_algorithms_print(demand: Demand) -> None:
    tuning = numerical(T, 3)
    policy = paper("printed", BUDGET, horizon=T, demand=demand, tuning=tuning)
    assert policy.noise is not None
    noise = policy.noise.covariance_noise**2, policy.noise.estimate_noise**2, policy.noise.estimate_ridge
    assert noise == pytest.approx(printed(demand, tuning), rel=1e-12)
    assert policy.noise.floored


def test_published_noise_is_smaller_and_leaves_an_indefinite_matrix() -> None:
    tuning = numerical(T, 3)
    loose, tight = (
        paper(name, BUDGET, horizon=T, demand=Logistic(), tuning=tuning).noise for name in ("printed", "published")
    )
    assert loose is not None
    assert tight is not None
    m, delta = 17, 1e-10 / 34
    assert loose.covariance_noise / tight.covariance_noise == pytest.approx(math.sqrt(2 * m * math.log(1 / delta)) / 2)
    assert loose.estimate_noise / tight.estimate_noise == pytest.approx(8.0, rel=1e-2)  # G = 4 becomes 1, and 2 is gone
    assert not tight.floored


@pytest.mark.parametrize("calibration", ["printed", "published"])
def test_the_whole_budget_is_claimed_and_nothing_is_proven_yet(calibration: str) -> None:
    policy = paper(calibration, BUDGET, horizon=T, demand=Logistic(), tuning=numerical(T, 2))
    assert policy.claimed == EpsilonDelta(1.0, 4e-10) == BUDGET.total
    assert policy.proven is None
    assert (policy.name, policy.calibration, policy.code, policy.horizon) == ("paper", calibration, LEARNING, T)


def test_the_noise_grows_with_the_horizon_and_with_the_number_of_estimates() -> None:
    def scales(horizon: int, most: int) -> tuple[float, float]:
        tuning = Tuning(exploration_periods=0, ridge=1.0, width=1.0, max_estimates=most)
        noise = paper("published", BUDGET, horizon=horizon, demand=Logistic(), tuning=tuning).noise
        assert noise is not None
        return noise.covariance_noise, noise.estimate_noise

    assert scales(1000, 10)[0] < scales(1025, 10)[0] == scales(2000, 10)[0]
    assert scales(1000, 10)[1] == scales(2000, 10)[1] < scales(1000, 11)[1]


def test_the_nonprivate_policy_adds_no_noise_and_keeps_its_ridge() -> None:
    policy = nonprivate(tuning=numerical(T, 2))
    assert policy.noise is not None
    assert (policy.noise.covariance_noise, policy.noise.estimate_noise, policy.noise.estimate_ridge) == (0.0, 0.0, 10.0)
    assert (policy.claimed, policy.proven, policy.calibration, policy.horizon) == (None, None, None, None)


def test_bad_choices_are_refused_by_name() -> None:
    tuning = numerical(T, 2)
    with pytest.raises(InvalidInput, match=r"calibration must be one of .* got 'mine'"):
        paper("mine", BUDGET, horizon=T, demand=Logistic(), tuning=tuning)
    with pytest.raises(InvalidInput, match="horizon must be a whole number at or above 1, got 0"):
        paper("printed", BUDGET, horizon=0, demand=Logistic(), tuning=tuning)
    with pytest.raises(NotAvailable, match="calibration 'tight' is not available yet"):
        paper("tight", split(1.0, 1e-6), horizon=T, demand=Logistic(), tuning=tuning)
