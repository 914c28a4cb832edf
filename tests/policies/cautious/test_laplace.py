"""Laplace noise read as what it is."""

from __future__ import annotations

import numpy as np
import pytest
from tests.policies.cautious.shops_at_hand import ALONE, NOBODY, released, rule

from hushprice.policies.cautious.pricing import belief as beliefs
from hushprice.policies.cautious.pricing.laplace import laplace_variance
from hushprice.policies.cautious.rules import cautious
from hushprice.privacy.budget import EpsilonDelta

ZEROS = np.zeros(2)


def test_without_noise_there_is_none() -> None:
    assert not laplace_variance(np.eye(2)[None], np.ones((1, 2)), np.zeros((1, 2))).any()


@pytest.mark.parametrize("away", [2.0, 5.0, 20.0])
def test_noise_alone_weighs_as_its_likelihood_pulls(away: float) -> None:
    """Away from the middle a Laplace likelihood falls by sqrt(2) / deviation; so does the normal one, by away / v."""
    found = laplace_variance(1e-9 * np.eye(1)[None], np.array([[away]]), np.array([[1.5]]))[0, 0]
    for _ in range(20):  # turns go half of the way each, in logarithms
        found = np.sqrt(found * 1.5 * away / np.sqrt(2.0))
    assert laplace_variance(1e-9 * np.eye(1)[None], np.array([[away]]), np.array([[1.5]]))[0, 0] == pytest.approx(
        found, rel=0.1
    )
    assert away / found == pytest.approx(np.sqrt(2.0) / 1.5, rel=0.01)


def test_no_sum_tells_more_than_a_laplace_number_tells_about_its_middle() -> None:
    sampling = np.array([np.eye(2), 100.0 * np.eye(2)])
    found = laplace_variance(sampling, np.array([[0.0, 9.0], [0.0, 9.0]]), np.full((2, 2), 2.0))
    assert (found >= 2.0).all()
    assert found[0, 1] > 4.0  # far out: less than normal noise tells
    assert found[1, 1] < 4.0  # unless sampling explains it


def test_one_sum_far_out_moves_the_belief_less_and_others_tell_more() -> None:
    truth, first = np.array([0.3, 0.1]), beliefs.first_belief(np.array([1.0, 0.3]))
    batches = [released(rule(2000, choice=0), ZEROS, truth, noise=20.0, model=ALONE) for _ in range(8)]
    far = beliefs.ReleasedBatch(
        rule=batches[0].rule, theta=ZEROS, score=batches[0].score + np.array([200.0, 0.0]), noise=batches[0].noise
    )
    found = {
        laplace: beliefs.fitted(ALONE, NOBODY, first, [*batches, far], ZEROS, misfit=0.0, scaled=False, laplace=laplace)
        for laplace in (0.0, 1.0)
    }
    away = {laplace: np.abs(each.theta - truth).sum() for laplace, each in found.items()}
    assert away[1.0] < 0.5 * away[0.0]
    assert np.linalg.det(found[1.0].covariance) < np.linalg.det(found[0.0].covariance)


def test_noise_may_be_read_half_as_laplace_noise() -> None:
    first = beliefs.first_belief(np.array([1.0, 0.3]))
    batch = released(rule(2000, choice=0), ZEROS, np.array([0.3, 0.1]), noise=20.0, model=ALONE)
    unsure = [
        float(
            np.linalg.det(
                beliefs.fitted(ALONE, NOBODY, first, [batch], ZEROS, misfit=0.0, scaled=False, laplace=far).covariance
            )
        )
        for far in (0.0, 0.5, 1.0)
    ]
    assert unsure == sorted(unsure, reverse=True)
    assert len(set(unsure)) == 3


def test_only_one_curators_noise_is_read_so_and_the_more_the_more_may_be_lost() -> None:
    given = {"model": ALONE, "horizon": 10_000}
    read = [cautious(EpsilonDelta(1.0, 1e-9), risk=risk, **given).laplace for risk in (0.0, 0.02, 0.51, 1.0)]
    assert read == pytest.approx([0.0, 0.0, 0.5, 1.0])
    assert cautious(EpsilonDelta(1.0, 1e-9), risk=1.0, drawn=False, **given).laplace == 0.0
    assert cautious(EpsilonDelta(1.0, 1e-9), risk=1.0, trust="aggregated", **given).laplace == 0.0


def test_laplace_noise_is_met_better_by_its_own_likelihood() -> None:
    """Over draws of the noise: nearer to the truth, and as sure as is right."""
    truth, first = np.array([0.2, 0.05]), beliefs.first_belief(np.array([1.0, 0.3]))
    rng, errors, said = np.random.default_rng(8), {0.0: 0.0, 1.0: 0.0}, 0.0
    exact = released(rule(400, choice=0), ZEROS, truth, noise=15.0, model=ALONE)
    for _ in range(60):
        drawn = [
            beliefs.ReleasedBatch(
                rule=exact.rule,
                theta=ZEROS,
                score=exact.score + rng.laplace(scale=15.0 / np.sqrt(2.0), size=2) + 5.0 * rng.standard_normal(2),
                noise=exact.noise,
            )
            for _ in range(10)
        ]
        for laplace in (0.0, 1.0):
            found = beliefs.fitted(ALONE, NOBODY, first, drawn, ZEROS, misfit=0.0, scaled=False, laplace=laplace)
            away = found.theta - truth
            errors[laplace] += float(away[0] ** 2)
            said += laplace * float(away @ np.linalg.solve(found.covariance, away)) / 120.0
    assert errors[1.0] < 0.85 * errors[0.0]
    assert 0.5 < said < 1.5
