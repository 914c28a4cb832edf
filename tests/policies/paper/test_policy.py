"""Oracle: alg:framework line 3, alg:private-cov line 2 and alg:private-mle line 2, in the variances they print."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput
from hushprice.policies.paper.calibration import CALIBRATIONS
from hushprice.policies.paper.noise import events
from hushprice.policies.paper.policy import nonprivate, paper
from hushprice.policies.paper.rules import PaperRules, numerical
from hushprice.policies.paper.tight_noise import largest_deviation
from hushprice.policies.protocol import Policy
from hushprice.privacy.accountant import epsilon_of
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta, PrivacyBudget
from hushprice.privacy.ledger import Entry, loss_of_all

BUDGET = PrivacyBudget(covariance=EpsilonDelta(0.3, 1e-10), estimates=EpsilonDelta(0.7, 3e-10))
DEMANDS = [Logistic(), Logistic(slope=0.5, bound=2.0), Gaussian(), Poisson()]
T = 100_000


def printed(demand: Demand, rules: PaperRules) -> tuple[float, float, float]:
    """sigma^2, nu^2 and rho with the algorithms' own words."""
    m = math.ceil(math.log2(T))
    delta = 1e-10 / (2 * m)
    epsilon = 0.3 / (2 * m * math.log(1 / delta))
    sigma2 = 2 * math.log(1.25 / delta) / epsilon**2
    most = rules.max_estimates
    delta = 3e-10 / (2 * most)
    epsilon = 0.7 / (2 * math.sqrt(2 * most * math.log(1 / delta)))
    b1, b2 = (demand.bound + 1) * demand.scale, demand.paper_curvature * demand.scale
    return sigma2, b1**2 * (8 * math.log(2 / delta) + 4 * epsilon) / epsilon**2, max(rules.ridge, 2 * b2 / epsilon)


@pytest.mark.parametrize("demand", DEMANDS)
def test_printed_noise_is_what_the_algorithms_print(demand: Demand) -> None:
    tuning = numerical(T, 3)
    policy = paper("printed", BUDGET, horizon=T, dimension=3, demand=demand, rules=tuning)
    assert policy.noise is not None
    noise = policy.noise.covariance_noise**2, policy.noise.estimate_noise**2, policy.noise.estimate_ridge
    assert noise == pytest.approx(printed(demand, tuning), rel=1e-12)
    assert policy.noise.floored


def made(calibration: str, *, horizon: int = T, dimension: int = 3, most: int | None = None, **changes: Any) -> Policy:
    tuning = numerical(horizon, dimension)
    if most is not None:
        tuning = replace(tuning, max_estimates=most)
    given: dict[str, Any] = {"budget": BUDGET, "demand": Logistic(), "rules": tuning}
    return paper(calibration, horizon=horizon, dimension=dimension, **given | changes)


def test_published_noise_is_smaller_and_leaves_an_indefinite_matrix() -> None:
    loose, tight = (made(name).noise for name in ("printed", "published"))
    assert loose is not None
    assert tight is not None
    m, delta = 17, 1e-10 / 34
    assert loose.covariance_noise / tight.covariance_noise == pytest.approx(math.sqrt(2 * m * math.log(1 / delta)) / 2)
    assert loose.estimate_noise / tight.estimate_noise == pytest.approx(8.0, rel=1e-2)  # G = 4 becomes 1, and 2 is gone
    assert not tight.floored


@pytest.mark.parametrize("calibration", CALIBRATIONS)
def test_the_whole_budget_is_claimed_and_the_policy_says_what_it_is(calibration: str) -> None:
    policy = made(calibration)
    assert policy.claimed == EpsilonDelta(1.0, 4e-10) == BUDGET.total
    assert (policy.name, policy.calibration, policy.horizon) == ("paper", calibration, T)
    assert policy.adjacency is Adjacency.REPLACE_ONE


def accounted(policy: Policy) -> float:
    """The accountant asked directly: one covariance stream and every estimate that was paid for, drawn live."""
    assert policy.noise is not None
    assert policy.basis is not None
    assert policy.rules is not None
    basis = policy.basis
    stream, estimate = events(policy.noise, horizon=T, dimension=basis.dimension, losses=basis.losses, live=True)
    entries = Entry(stream, 1), Entry(estimate, policy.rules.max_estimates)
    return epsilon_of(loss_of_all(entries, policy.adjacency), BUDGET.total.delta)


@pytest.mark.beyond_coverage
@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("demand", DEMANDS)
def test_what_is_proven_is_the_accountants_figure_and_no_more_than_claimed(
    demand: Demand, calibration: str, adjacency: Adjacency
) -> None:
    policy = made(calibration, demand=demand, adjacency=adjacency)
    assert policy.proven is not None
    assert policy.proven.delta == BUDGET.total.delta
    assert policy.proven.epsilon == pytest.approx(accounted(policy), rel=1e-12)
    assert 0.0 < policy.proven.epsilon <= 1.0


@pytest.mark.parametrize("demand", [*DEMANDS, Gaussian(noise=0.3), Poisson(slope=2.0), Logistic(slope=16.0)])
def test_tight_noise_proves_all_of_the_budget_in_every_market(demand: Demand) -> None:
    policy = made("tight", demand=demand)
    assert policy.proven is not None
    assert policy.proven.epsilon == pytest.approx(1.0, rel=1e-6)


def test_tight_noise_is_less_than_published_and_less_still_for_weaker_neighbours() -> None:
    def deviations(policy: Policy) -> tuple[float, float]:
        assert policy.noise is not None
        return largest_deviation(policy.noise, T), policy.noise.estimate_noise

    published, tight = deviations(made("published")), deviations(made("tight"))
    zeroed = deviations(made("tight", adjacency=Adjacency.ZERO_OUT))
    assert published[0] > 4 * tight[0] > 4 * zeroed[0]
    assert published[1] > tight[1] > zeroed[1]


@pytest.mark.parametrize(
    ("calibration", "demand"),
    [
        ("published", Gaussian(noise=0.3)),
        ("published", Poisson(slope=2.0)),
        ("published", Logistic(slope=16.0)),
        ("printed", Poisson(slope=3.0)),
    ],
)
def test_a_calibration_that_proves_less_than_it_claims_is_refused(calibration: str, demand: Demand) -> None:
    with pytest.raises(InvalidInput) as refusal:
        made(calibration, demand=demand)
    assert str(refusal.value).startswith(f"{BUDGET.total} is claimed, but the noise proves EpsilonDelta(epsilon=")
    assert str(refusal.value).endswith(f" alone: calibration '{calibration}' does not fit this market")


def test_the_noise_grows_with_the_horizon_and_with_the_number_of_estimates() -> None:
    def scales(horizon: int, most: int, calibration: str = "published") -> tuple[float, float]:
        noise = made(calibration, horizon=horizon, dimension=2, most=most).noise
        assert noise is not None
        return noise.covariance_noise, noise.estimate_noise

    assert scales(1000, 10)[0] < scales(1025, 10)[0] == scales(2000, 10)[0]
    assert scales(1000, 10)[1] == scales(2000, 10)[1] < scales(1000, 11)[1]
    assert scales(1000, 10, "tight")[0] < scales(2000, 10, "tight")[0]
    assert scales(1000, 10, "tight")[1] < scales(1000, 11, "tight")[1]


def test_the_nonprivate_policy_adds_no_noise_and_keeps_its_ridge() -> None:
    policy = nonprivate(rules=numerical(T, 2))
    assert policy.noise is not None
    assert (policy.noise.covariance_noise, policy.noise.estimate_noise, policy.noise.estimate_ridge) == (0.0, 0.0, 10.0)
    assert (policy.claimed, policy.proven, policy.calibration, policy.horizon) == (None, None, None, None)


def test_bad_choices_are_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match=r"calibration must be one of .* got 'mine'"):
        made("mine")
    for calibration in CALIBRATIONS:
        tuning = numerical(T, 2)
        with pytest.raises(InvalidInput, match="horizon must be a whole number at or above 1, got 0"):
            paper(calibration, BUDGET, horizon=0, dimension=2, demand=Logistic(), rules=tuning)
        with pytest.raises(InvalidInput, match="dimension must be a whole number at or above 1, got 0"):
            paper(calibration, BUDGET, horizon=T, dimension=0, demand=Logistic(), rules=tuning)
