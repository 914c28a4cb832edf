"""Bounds on mu hold as often as they say, and are near the truth. Seeds are fixed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hushprice.policies.catalog import NAMES
from hushprice.privacy import gaussian
from hushprice.privacy.loss import Loss, Radial
from hushprice.research.audits.trade_off import (
    Separation,
    cuts_of,
    most_separation,
    promised_loss,
    refutes,
    separation,
)
from hushprice.simulation.run import prepare
from hushprice.types import FloatArray


def scores(mu: float, runs: int, seed: int) -> tuple[FloatArray, FloatArray]:
    draws = np.random.default_rng(seed).normal(size=(2, runs))
    return draws[0] + mu, draws[1]


@pytest.mark.parametrize("mu", [0.2, 1.0, 3.0])
def test_the_bound_comes_within_a_twelfth_of_mu_given_the_runs(mu: float) -> None:
    first, second = scores(mu, 200_000, 1)
    seen = separation(first, second, cuts_of(np.array([0.0, mu])), 0.99)
    assert 0.92 * mu < seen.low < mu < seen.high < 1.08 * mu
    assert 0.88 * gaussian.epsilon_of(1e-10, mu) < seen.epsilon_at(1e-10) < gaussian.epsilon_of(1e-10, mu)


def test_sound_noise_is_refuted_at_most_as_often_as_stated() -> None:
    """At confidence 0.9, 200 audits of noise that is exactly as stated: 34 or fewer (1 in 1,000)."""
    loss = Loss(mu_squared=0.25)
    refuted = 0
    for seed in range(200):
        first, second = scores(0.5, 500, seed)
        refuted += refutes(separation(first, second, cuts_of(np.array([-0.5, 1.0])), 0.9), loss)
    assert 2 <= refuted <= 34  # and the bound is not so loose that it never errs


def test_no_cut_sees_a_rare_leak_better_than_the_tails() -> None:
    """One run in fifty tells all: hardly anything in the middle, and plain at the end."""
    first, second = scores(0.0, 20_000, 3)
    first[::50] = 100.0
    cuts = cuts_of(np.concatenate([first[:2000], second[:2000]]))
    assert separation(first, second, cuts, 0.99).low > 0.3 > separation(first, second, cuts[:1], 0.99).low
    assert separation(first, second, cuts, 0.99).epsilon_floor(1e-6) > 1.0


def test_nothing_seen_is_zero_and_everything_seen_is_a_finite_bound() -> None:
    first, second = scores(0.0, 1000, 4)
    nothing = separation(first, second, np.array([0.0]), 0.99)
    assert nothing.low < 0.0 == nothing.mu_floor == nothing.epsilon_at(1e-6) == nothing.epsilon_floor(0.0)
    everything = separation(first + 100.0, second, np.array([50.0]), 0.99)
    assert everything.mu == math.inf
    assert 4.0 < everything.low < 10.0
    assert separation(first, second + 100.0, np.array([50.0]), 0.99).low == -math.inf


def test_a_curve_that_is_not_gaussian_is_held_to_its_word_everywhere() -> None:
    """The loss of the paper's estimates, and of one fourth of it: a test worth mu = 1 is allowed by the one alone."""
    first, second = scores(1.0, 40_000, 5)
    seen = separation(first, second, cuts_of(np.array([-1.0, 2.0])), 0.99)
    assert not refutes(seen, Loss(radials=(Radial(1, 1.0, 0.5, 2),)))
    assert refutes(seen, Loss(radials=(Radial(1, 0.2, 0.1, 2),)))
    leaking = Separation(0.0, 0.0, 0.0, 1.0, ((0.001, 0.7),))
    assert refutes(leaking, Loss(radials=(Radial(1, 0.2, 0.1, 2),)))
    assert not refutes(leaking, Loss(unbounded=True))


def test_most_separation_is_exact_for_gaussian_noise_and_a_bound_otherwise() -> None:
    assert most_separation(Loss(mu_squared=1.0)) == pytest.approx(math.erf(0.5 / math.sqrt(2)))
    assert most_separation(Loss(unbounded=True)) == 1.0
    assert 0.1 < most_separation(Loss(radials=(Radial(1, 0.2, 0.1, 2),))) < 0.3


@pytest.mark.parametrize("policy", NAMES)
def test_a_loss_is_known_of_policies_that_prove_one(policy: str) -> None:
    job = prepare(policy, horizon=200)
    loss = promised_loss(job.policy, live=False)
    assert (loss is not None) == (policy in ("noisy-newton", "paper"))
    if policy == "noisy-newton":
        assert loss is not None
        assert gaussian.epsilon_of(2 / 200**2, loss.mu) == pytest.approx(1.0, rel=1e-3)
