"""What releases say about theta."""

from __future__ import annotations

import numpy as np
import pytest
from tests.policies.cautious.shops_at_hand import ALONE, MODEL, NOBODY, PEOPLE, chance, released, rule

from hushprice.policies.cautious.pricing import belief as beliefs
from hushprice.policies.cautious.pricing.instruments import SHARES, instruments
from hushprice.types import FloatArray

TRUTH = np.array([0.4, 0.5, -0.3, 0.15, 0.1, -0.05])
DEVIATIONS = np.array([1.0, 0.7, 0.7, 0.3, 0.1, 0.1])


@pytest.mark.parametrize("choice", range(len(SHARES)))
@pytest.mark.parametrize("level", [0.0, 4.0])  # at 4 what is believed is above what residuals are held to
def test_a_score_is_expected_as_adding_up_every_customer_and_both_coins_and_outcomes_gives(
    choice: int, level: float
) -> None:
    given, priced_by = rule(move=1.0, spread=0.2, choice=choice), np.array([level, 0.2, 0.0, 0.1, 0.0, 0.1])
    found = beliefs.score_model(MODEL, PEOPLE, given, priced_by, TRUTH, count=1000.0)
    lines = MODEL.lines(priced_by, np.column_stack([np.ones(60), PEOPLE]))
    prices = np.column_stack(MODEL.coin_prices(*lines, 1.0, 0.2, 0.0))
    mean, square = np.zeros(6), np.zeros((6, 6))
    for x, (dearer, cheaper) in zip(PEOPLE, prices.tolist(), strict=True):
        for coin, z in ((-1.0, cheaper), (1.0, dearer)):
            psi = instruments(x.reshape(1, -1), np.array([coin]), choice)[0]
            buys = chance(TRUTH, x, z)
            believed = chance(priced_by, x, z)
            held = min(max(believed, MODEL.least), MODEL.most)
            expected = buys * (held - 1.0) + (1.0 - buys) * held
            second = buys * (held - 1.0) ** 2 + (1.0 - buys) * held**2
            mean += psi * expected / 120
            square += np.outer(psi, psi) * (second - expected**2) / 120
    np.testing.assert_allclose(found.expected, 1000.0 * mean, atol=1e-9)
    np.testing.assert_allclose(found.sampling, 1000.0 * square, atol=1e-9)


def test_the_jacobian_is_how_the_expected_score_falls_with_theta() -> None:
    given, priced_by = rule(move=1.0, spread=0.2), np.array([3.0, 0.2, 0.0, 0.1, 0.0, 0.1])
    found = beliefs.score_model(MODEL, PEOPLE, given, priced_by, TRUTH, count=1.0)
    for j, step in enumerate(1e-6 * np.eye(6)):
        ahead, behind = (
            beliefs.score_model(MODEL, PEOPLE, given, priced_by, theta, count=1.0).expected
            for theta in (TRUTH + step, TRUTH - step)
        )
        np.testing.assert_allclose(found.jacobian[:, j], (behind - ahead) / 2e-6, atol=1e-8)


def fit(batches: list[beliefs.ReleasedBatch], *, scaled: bool = False, misfit: float = 0.01) -> beliefs.Belief:
    before = beliefs.first_belief(DEVIATIONS)
    return beliefs.fitted(MODEL, PEOPLE, before, batches, before.theta, misfit=misfit, scaled=scaled)


def test_large_batches_give_the_truth_back() -> None:
    zeros = np.zeros(6)
    batches = [released(rule(10**7, choice=2), zeros, TRUTH), released(rule(10**7, move=1.0, choice=1), TRUTH, TRUTH)]
    found = fit(batches)
    np.testing.assert_allclose(found.theta, TRUTH, atol=0.02)
    assert (np.sqrt(np.diag(found.covariance)) < 0.05).all()


def test_a_release_that_is_all_noise_leaves_the_first_belief() -> None:
    found = fit([released(rule(100), np.zeros(6), TRUTH, noise=1e9)])
    np.testing.assert_allclose(found.theta, 0.0, atol=1e-6)
    np.testing.assert_allclose(found.covariance, np.diag(DEVIATIONS**2), rtol=1e-6, atol=1e-12)


def test_noise_and_misfit_are_counted() -> None:
    given = [released(rule(10**5, choice=2), np.zeros(6), TRUTH)]
    noisy = [released(rule(10**5, choice=2), np.zeros(6), TRUTH, noise=300.0)]
    sure, less, least = (np.diag(found.covariance) for found in (fit(given), fit(noisy), fit(given, misfit=0.5)))
    assert (sure < less).all()
    assert (sure < least).all()


def test_deviations_of_attributes_follow_how_much_they_matter() -> None:
    """One price where attributes say nothing: their first deviations are scaled down, and up where they say much."""

    def doubt(truth: FloatArray) -> float:
        batches = [released(rule(3000, choice=2), np.zeros(6), truth, noise=5.0) for _ in range(3)]
        return float(np.diag(fit(batches, scaled=True, misfit=0.0).covariance)[4:].sum())

    nothing, much = np.zeros(6), np.array([0.0, 3.0, -3.0, 0.0, 0.8, -0.8])
    assert doubt(nothing) < np.diag(fit([], misfit=0.0).covariance)[4:].sum() * 0.75
    assert doubt(nothing) < doubt(much)


def test_one_step_after_another_is_the_whole_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = [released(rule(3000, choice=2), np.zeros(6), TRUTH) for _ in range(2)]
    before, whole = beliefs.first_belief(DEVIATIONS), fit(batches)
    monkeypatch.setattr(beliefs, "_STEPS", 1)  # no step is small enough to stop at first
    found = before
    for _ in range(12):
        found = beliefs.fitted(MODEL, PEOPLE, before, batches, found.theta, misfit=0.01, scaled=False)
    np.testing.assert_allclose(found.theta, whole.theta, atol=0.02 * DEVIATIONS.max())
    np.testing.assert_allclose(found.covariance, whole.covariance, rtol=0.1, atol=1e-3)


def test_without_attributes_there_is_one_price_to_learn() -> None:
    truth = np.array([0.5, 0.2])
    before = beliefs.first_belief(np.array([1.0, 0.3]))
    given = [released(rule(10**7, choice=0), np.zeros(2), truth, model=ALONE)]
    found = beliefs.fitted(ALONE, NOBODY, before, given, before.theta, misfit=0.0, scaled=True)
    np.testing.assert_allclose(found.theta, truth, atol=0.01)


def test_after_a_change_the_belief_is_where_it_was_and_much_less_sure() -> None:
    found = beliefs.forgetting(beliefs.Belief(TRUTH, 1e-4 * np.eye(6)), DEVIATIONS)
    np.testing.assert_array_equal(found.theta, TRUTH)
    np.testing.assert_allclose(np.diag(found.covariance), 1e-4 + 0.5 * DEVIATIONS**2)
