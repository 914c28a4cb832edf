"""Public and private customers together: who is which, what a private record may touch, and what is made of both."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.policies.rivals.rival_runs import asked, customers, frame, play, shop_frame

from hushprice.policies.catalog import _module
from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rival_parts.private.directions import radius_of
from hushprice.policies.rivals.glm_pricing import mixed
from hushprice.policies.rivals.glm_pricing.commit import explored
from hushprice.policies.rivals.glm_pricing.mixed import EVERY, MixedCommit
from hushprice.policies.rivals.glm_pricing.pricing import MixedBelief
from hushprice.privacy.budget import EpsilonDelta
from hushprice.types import FloatArray

KEEP = 1.0 / (1.0 + math.exp(-1.0))
THETA = np.array([0.3, 0.9])


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def explored_by(at: Frame, change: slice) -> MixedCommit:
    """A trial whose exploration is over; the customers in `change` bought where they did not."""
    trial = MixedCommit(at, rng(1), keep=KEEP, epsilon=1.0)
    came = customers(at, trial.due, rng(2))
    prices = trial.prices(came)
    bought = (rng(3).random(came.size) < 0.5).astype(float)
    bought[change] = 1.0 - bought[change]
    for part in (slice(0, 7), slice(7, None)):  # in pieces, as blocks of a simulation end
        piece = Customers(*(each[:, part] for each in came))
        trial.learn(piece, prices[part], bought[part])
    return trial


def test_public_records_are_those_of_every_tenth_slot_and_no_private_one_is_among_them() -> None:
    """So a private record moves nothing of the public fit, and the count of steps is public too."""
    at = frame(1, horizon=2000)
    plain = explored_by(at, slice(0, 0))
    assert plain.public.count == math.ceil(plain.first / EVERY)
    assert plain.due == 2**62
    private, public = explored_by(at, slice(3, 4)), explored_by(at, slice(10, 11))
    np.testing.assert_array_equal(private.public.bought, plain.public.bought)
    assert not np.array_equal(public.public.bought, plain.public.bought)
    assert private.belief.weight == plain.belief.weight


def test_a_private_record_reaches_the_belief_by_its_direction_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """With every direction replaced by one and the same, private outcomes change nothing; in a planted bug they do."""

    def mute(*given: Any) -> None:
        given[-1][:] = 0.1

    at = frame(1, horizon=2000)
    everybody = slice(1, None, EVERY)  # of those in slots 1, 11, 21, ..., nobody is public
    assert not np.array_equal(explored_by(at, everybody).belief.theta, explored_by(at, slice(0, 0)).belief.theta)
    monkeypatch.setattr(mixed, "send", mute)
    np.testing.assert_array_equal(explored_by(at, everybody).belief.theta, explored_by(at, slice(0, 0)).belief.theta)

    class Leaking(MixedCommit):  # a planted bug: private rows in the public fit
        def take(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
            self.public.add_customers(self.frame, customers, prices, demands)
            super().take(customers, prices, demands)

    monkeypatch.setitem(globals(), "MixedCommit", Leaking)
    assert not np.array_equal(explored_by(at, everybody).belief.theta, explored_by(at, slice(0, 0)).belief.theta)


def test_more_explore_than_openly_and_fewer_than_locally() -> None:
    at = frame(1, horizon=10**6)
    assert explored(at, None) < explored(at, 0.3, 0.1) < explored(at, 0.3)
    assert explored(at, 0.3, 1.0) == explored(at, None)
    root = math.sqrt(10**6 * math.log(10**6 + 1.0))
    assert explored(at, 0.3, 0.1) == math.ceil(math.sqrt(2.0 / (0.1 + 0.9 * 0.045)) * root)


def test_a_step_is_shorter_the_more_was_heard_and_the_public_fit_counts() -> None:
    """Oracle: theta_n = theta_0 - sum of C^-1 B z_i / (weight + i), which no ball holds here."""
    at = frame(1, slope=50.0)
    belief = MixedBelief(at, 2.0)
    curvature, start = np.array([[0.2, 0.05], [0.05, 0.1]]), np.array([0.5, -0.4])
    belief.begin(start, curvature, 100)
    assert belief.weight == pytest.approx(100 * 2.0**2 / 0.3)
    sent = rng(4).normal(size=(30, 2)) / 4.0
    for each in sent:
        belief.accept(each)
    moved = 2.0 * np.linalg.solve(curvature, sent.T) / (belief.weight + 1.0 + np.arange(30))
    np.testing.assert_allclose(belief.theta, start - moved.sum(axis=1))
    belief.begin(np.array([900.0, 0.0]), curvature, 100)
    assert np.linalg.norm(belief.theta) == pytest.approx(50.0 * at.size)


@pytest.mark.parametrize("at", [frame(1, horizon=20_000), shop_frame(1, horizon=20_000)], ids=["market", "shop"])
def test_prices_come_near_the_best_and_nothing_is_claimed(at: Frame) -> None:
    policy = _module("glm-pricing-mixed").rival(asked("glm-pricing-mixed", claimed=EpsilonDelta(4.0, 0.0)), at)
    assert (policy.claimed, policy.events, policy.reads_budget) == (None, (), True)
    assert "nine customers in ten" in policy.protects
    theta = THETA if at.today is None else np.array([0.3, 0.2, 0.5, -0.2])
    trial = policy.begin(at, rng(5))
    play(trial, at, theta, trial.due, rng(6))
    came = customers(at, 300, rng(7))
    best, worst = at.best_prices(came, theta), rng(8).uniform(at.lowest, at.highest, 300)
    assert np.abs(trial.prices(came) - best).mean() < 0.4 * np.abs(worst - best).mean()
    assert trial.belief.weight >= trial.public.count * min(1.0, radius_of(2, KEEP))
