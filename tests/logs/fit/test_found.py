"""What a fit finds, against independent estimates and against the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize, root
from scipy.special import expit
from tests.logs.fit.fit_logs import PRODUCT, THETA, ArrayLog, drawn, features_of, noise_of, state_of

from hushprice.errors import InvalidInput
from hushprice.logs.fit.fit_noise import calibrate_fit
from hushprice.logs.fit.whole_sums import published
from hushprice.noise import System
from hushprice.privacy import accountant
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.loss import loss_of
from hushprice.product import Product
from hushprice.types import FloatArray

HUGE = 2000.0  # epsilon at which noise is far below sampling


def most_likely(log: ArrayLog) -> tuple[FloatArray, FloatArray]:
    """Maximum likelihood by BFGS, and its covariance."""
    features = features_of(log)
    offset = PRODUCT.level - PRODUCT.response * log.prices

    def loss(theta: FloatArray) -> tuple[float, FloatArray]:
        odds = features @ theta + offset
        return float(np.sum(np.logaddexp(0.0, odds) - log.demands * odds)), features.T @ (expit(odds) - log.demands)

    found = minimize(loss, np.zeros(6), jac=True, method="BFGS", options={"gtol": 1e-8})
    chance = expit(features @ found.x + offset)
    return found.x, np.linalg.inv((features * (chance * (1.0 - chance))[:, None]).T @ features)


@pytest.mark.beyond_coverage
def test_without_noise_a_fit_is_maximum_likelihood_up_to_a_share_of_its_standard_error() -> None:
    log = drawn(60_000, 1)
    best, covariance = most_likely(log)
    state = state_of(log, HUGE)
    away = (state.belief.theta - best) / np.sqrt(np.diag(covariance))
    assert np.abs(away).max() < 0.5  # weights and shrinkage, which a log that large hardly feels
    np.testing.assert_allclose(np.sqrt(np.diag(state.belief.covariance) / np.diag(covariance)), 1.0, atol=0.1)


@pytest.mark.beyond_coverage
def test_without_noise_a_fit_solves_its_last_moment_equation() -> None:
    """By a root finder on the rows themselves: the likeness decides how fast, not where to."""
    log = drawn(60_000, 2)
    state = state_of(log, HUGE)
    plan, features = state.scores[-1].plan, features_of(log)
    offset = PRODUCT.level - PRODUCT.response * log.prices
    psi = plan.instruments(log.contexts, log.prices)
    weights = plan.residual_weights(expit(features @ plan.theta + offset))

    def moment(theta: FloatArray) -> FloatArray:
        return psi.T @ (weights * (log.demands - expit(features @ theta + offset))) / log.rows

    solved = root(moment, THETA).x
    errors = np.sqrt(np.diag(state.belief.covariance))
    assert np.abs((state.belief.theta - solved) / errors).max() < 0.5


def test_at_a_tiny_budget_the_shop_is_right() -> None:
    state = state_of(drawn(300), 0.001)
    assert np.abs(state.belief.theta / state.deviations).max() < 0.3
    assert np.sqrt(np.diag(state.belief.covariance))[0] > 0.9 * state.deviations[0]


@pytest.mark.beyond_coverage
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_standard_errors_count_noise_and_sampling(epsilon: float) -> None:
    """60 logs, 6 parameters each, 95 % intervals. Attributes are the truth of an empirical Bayes, so 0.90 is asked for;
    by chance alone fewer than that of 360 would be covered with probability below 1e-4."""
    covered = []
    for seed in range(60):
        theta = THETA * np.random.default_rng(seed).choice([-1.0, 1.0], size=6)
        belief = state_of(drawn(4000, seed, theta), epsilon, seed).belief
        covered.append(np.abs(belief.theta - theta) <= 1.96 * np.sqrt(np.diag(belief.covariance)))
    share = float(np.mean(covered))
    assert 0.90 <= share <= 1.0
    assert np.mean([each[[0, 3]] for each in covered]) >= 0.88


@pytest.mark.beyond_coverage
def test_more_budget_leaves_less_doubt() -> None:
    log = drawn(4000)
    doubts = [math.sqrt(state_of(log, epsilon).belief.covariance[3, 3]) for epsilon in (0.1, 0.5, 3.0, HUGE)]
    assert doubts == sorted(doubts, reverse=True)


@pytest.mark.beyond_coverage
def test_where_most_buy_it_works_as_well_as_where_few_do() -> None:
    often = Product(floor=20.0, ceiling=30.0, reference_price=25.0, conversion=0.9, elasticity=0.2, contexts=2)
    log = drawn(40_000, 3, THETA, often)
    belief = state_of(log, 3.0, 0, often).belief
    assert np.abs((belief.theta - THETA) / np.sqrt(np.diag(belief.covariance))).max() < 4.0


def test_a_fit_without_attributes() -> None:
    plain = Product(floor=20.0, ceiling=30.0, reference_price=25.0, conversion=0.1, contexts=0)
    truth = np.array([0.5, 0.4])
    belief = state_of(drawn(20_000, 0, truth, plain), 3.0, 0, plain).belief
    assert np.abs((belief.theta - truth) / np.sqrt(np.diag(belief.covariance))).max() < 4.0


def test_noise_is_the_least_that_the_claim_allows() -> None:
    for epsilon in (0.1, 1.0, 10.0):
        noise = noise_of(epsilon, live=True)
        assert 0.9999 * epsilon < noise.proven.epsilon <= epsilon
        loss = loss_of(noise.event, 1, noise.adjacency)
        assert noise.proven.epsilon == accountant.epsilon_of(loss, 1e-6)


@pytest.mark.parametrize(("epsilon", "words"), [(1e-12, "too small"), (1e12, "out of reach")])
def test_budgets_out_of_reach_are_refused(epsilon: float, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        calibrate_fit(EpsilonDelta(epsilon, 1e-200), contexts=1, rows=1, live=True)


def test_live_noise_is_on_its_grid_and_has_its_deviation() -> None:
    """2000 numbers: the deviation is within 8 % but for one run in 1e6."""
    released = published([0] * 2000, 7.3, System(), 0)
    grid = 2.0**-30
    assert np.array_equal(np.round(released / grid) * grid, released)
    assert 0.92 < float(released.std()) / 7.3 < 1.08


def test_a_source_that_gives_no_normals_is_refused() -> None:
    class Mute:
        label, secure, simulated = "mute", False, True

    with pytest.raises(InvalidInput, match="gives no normals"):
        published([0], 1.0, Mute(), 0)  # type: ignore[arg-type]
