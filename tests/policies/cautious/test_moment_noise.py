"""The least noise for a budget: what is proven is what is claimed to three digits, never more."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from tests.policies.cautious.moment_runs import CLAIMED

from hushprice.errors import InvalidInput
from hushprice.policies.cautious.noise import DESCRIPTION_SHARE, EARNINGS_SHARE, calibrate, open_ledger
from hushprice.policies.cautious.pricing.instruments import WEIGHTS, own_share
from hushprice.privacy import gaussian
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.sensitivity import of_moments

REPLACED = Adjacency.REPLACE_ONE


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("contexts", [0, 1, 9, 32])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.02, 1e-12), (1.0, 2e-10), (3.0, 1e-6), (20.0, 1e-3)])
def test_what_is_proven_is_what_is_claimed(epsilon: float, delta: float, contexts: int, adjacency: Adjacency) -> None:
    claimed = EpsilonDelta(epsilon, delta)
    for largest in (0.0, 0.1, 1.0):
        noise = calibrate(claimed, contexts=contexts, largest=largest, adjacency=adjacency)
        assert 0.999 * epsilon < noise.proven_epsilon(contexts) <= epsilon
        for live in (False, True):
            proven = open_ledger(noise, noise.event(contexts, live=live)).proven
            assert proven is not None
            assert 0.999 * epsilon < proven.epsilon <= epsilon


def test_the_closed_form_of_ideal_noise_is_the_same_to_five_digits() -> None:
    """Second way: mu of the claim by the analytic Gaussian, split by the shares."""
    noise = calibrate(CLAIMED, contexts=9, largest=0.1, adjacency=REPLACED)
    mu = gaussian.mu_of(CLAIMED.epsilon, CLAIMED.delta)
    assert noise.score == pytest.approx(1.0 / (mu * math.sqrt(1.0 - DESCRIPTION_SHARE - EARNINGS_SHARE)), rel=1e-4)
    assert noise.description == pytest.approx(math.sqrt(2.0) / (mu * math.sqrt(DESCRIPTION_SHARE)), rel=1e-4)
    assert noise.earnings == pytest.approx(1.0 / (mu * math.sqrt(EARNINGS_SHARE)), rel=1e-4)
    for choice in range(len(WEIGHTS)):
        assert noise.of_score(choice) == noise.score * of_moments(0.1, own_share(choice), REPLACED)
    assert noise.event(9, live=True).own == tuple(map(own_share, range(len(WEIGHTS))))


@pytest.mark.parametrize("name", ["score", "description", "earnings"])
def test_less_of_any_noise_is_refused_by_the_ledger(name: str) -> None:
    noise = calibrate(CLAIMED, contexts=9, largest=0.1, adjacency=REPLACED)
    less = dataclasses.replace(noise, **{name: 0.999 * getattr(noise, name)})
    with pytest.raises(InvalidInput, match=r"^claimed must cover the allowance"):
        open_ledger(less, less.event(9, live=True))


@pytest.mark.parametrize("name", ["score", "description", "earnings"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_noise_that_is_none_is_refused(name: str, value: Any) -> None:
    noise = calibrate(CLAIMED, contexts=2, largest=0.1, adjacency=REPLACED)
    with pytest.raises(InvalidInput, match=f"^{name} must be a positive number"):
        dataclasses.replace(noise, **{name: value})


@pytest.mark.parametrize(("epsilon", "told"), [(1e9, "is out of reach"), (1e-7, "is too small")])
def test_a_budget_far_from_any_of_use_is_refused(epsilon: float, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        calibrate(EpsilonDelta(epsilon, 1e-10), contexts=2, largest=0.1, adjacency=REPLACED)
