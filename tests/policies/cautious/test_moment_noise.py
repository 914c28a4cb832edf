"""The least noise for a budget: what is proven is what is claimed to three digits, never more."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from tests.policies.cautious.moment_runs import CLAIMED

from hushprice.errors import InvalidInput
from hushprice.policies.cautious.noise import DESCRIPTION_SHARE, EARNINGS_SHARE, calibrate, open_ledger
from hushprice.policies.cautious.pricing.instruments import SHARES, is_common, used_entries
from hushprice.privacy import gaussian
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.sensitivity import of_covariance, of_sides

REPLACED = Adjacency.REPLACE_ONE


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("contexts", [0, 1, 9, 32])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.02, 1e-12), (1.0, 2e-10), (3.0, 1e-6), (20.0, 1e-3)])
def test_what_is_proven_is_what_is_claimed(epsilon: float, delta: float, contexts: int, adjacency: Adjacency) -> None:
    claimed = EpsilonDelta(epsilon, delta)
    for least, most in ((0.0, 0.0), (0.01, 0.1), (0.4, 1.0)):
        noise = calibrate(claimed, contexts=contexts, least=least, most=most, adjacency=adjacency)
        assert 0.999 * epsilon < noise.proven_epsilon(contexts) <= epsilon
        for live in (False, True):
            proven = open_ledger(noise, noise.event(contexts, live=live)).proven
            assert proven is not None
            assert 0.999 * epsilon < proven.epsilon <= epsilon


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_the_closed_form_of_ideal_noise_is_the_same_to_five_digits(adjacency: Adjacency) -> None:
    """Second way: shares of epsilon, by the analytic Gaussian and by hand."""
    noise = calibrate(CLAIMED, contexts=9, least=0.01, most=0.1, adjacency=adjacency)
    mu = gaussian.mu_of(DESCRIPTION_SHARE * CLAIMED.epsilon, CLAIMED.delta)
    assert noise.description == pytest.approx(of_covariance(adjacency) / mu, rel=1e-5)
    assert noise.earnings == pytest.approx(1.0 / (EARNINGS_SHARE * CLAIMED.epsilon), rel=1e-5)
    score = CLAIMED.epsilon * (1.0 - DESCRIPTION_SHARE - EARNINGS_SHARE)
    assert noise.score == pytest.approx(score, rel=1e-4)
    assert noise.earned == (1.0 / (noise.score + 1.0 / noise.earnings), noise.earnings)
    alone = calibrate(CLAIMED, contexts=0, least=0.01, most=0.1, adjacency=adjacency)
    assert alone.score == pytest.approx(CLAIMED.epsilon * (1.0 - EARNINGS_SHARE), rel=1e-4)


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_every_choice_costs_all_of_the_score_and_publishes_what_it_uses(adjacency: Adjacency) -> None:
    noise = calibrate(CLAIMED, contexts=3, least=0.01, most=0.1, adjacency=adjacency)
    for choice, share in enumerate(SHARES):
        common, personal = noise.scales(choice)
        cost = of_sides(0.01, 0.1, (1.0 / common, 1.0 / personal), adjacency)
        assert cost == pytest.approx(noise.score, rel=1e-12)
        assert (personal == math.inf) == (share == 0.0)
        deviations, used = noise.of_score(3, choice), used_entries(3, choice)
        assert not np.any(np.delete(deviations, used))
        scales = np.where(is_common(3), common, personal)
        assert deviations[used] == pytest.approx(math.sqrt(2.0) * scales[used])
    assert noise.event(3, live=True).scales == tuple(map(noise.scales, range(len(SHARES))))


def test_more_for_attributes_is_less_noise_of_them() -> None:
    noise = calibrate(CLAIMED, contexts=3, least=0.01, most=0.1, adjacency=REPLACED)
    by_share = sorted(range(len(SHARES)), key=lambda choice: SHARES[choice])
    scales = [noise.scales(choice) for choice in by_share]
    assert [personal for _, personal in scales] == sorted((personal for _, personal in scales), reverse=True)
    assert [common for common, _ in scales] == sorted(common for common, _ in scales)


@pytest.mark.parametrize("name", ["score", "description", "earnings"])
def test_less_of_any_noise_is_refused_by_the_ledger(name: str) -> None:
    noise = calibrate(CLAIMED, contexts=9, least=0.01, most=0.1, adjacency=REPLACED)
    factor = 1.001 if name == "score" else 0.999  # which is an epsilon
    less = dataclasses.replace(noise, **{name: factor * getattr(noise, name)})
    with pytest.raises(InvalidInput, match=r"^claimed must cover the allowance"):
        open_ledger(less, less.event(9, live=True))


@pytest.mark.parametrize(("least", "most"), [(-0.1, 0.5), (0.6, 0.5), (0.1, 1.1), (math.nan, 0.5), (0.1, math.nan)])
def test_residuals_that_are_none_are_refused(least: float, most: float) -> None:
    with pytest.raises(InvalidInput, match=r"^(least|most) must"):
        calibrate(CLAIMED, contexts=2, least=least, most=most, adjacency=REPLACED)


@pytest.mark.parametrize("name", ["score", "description", "earnings"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_noise_that_is_none_is_refused(name: str, value: Any) -> None:
    noise = calibrate(CLAIMED, contexts=2, least=0.01, most=0.1, adjacency=REPLACED)
    with pytest.raises(InvalidInput, match=f"^{name} must be a positive number"):
        dataclasses.replace(noise, **{name: value})


@pytest.mark.parametrize(("epsilon", "told"), [(1e9, "is out of reach"), (1e-7, "is too small")])
def test_a_budget_far_from_any_of_use_is_refused(epsilon: float, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        calibrate(EpsilonDelta(epsilon, 1e-10), contexts=2, least=0.01, most=0.1, adjacency=REPLACED)
