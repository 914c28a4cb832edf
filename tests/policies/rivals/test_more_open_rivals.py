"""tang, ban-keskin, glm-pricing and private-bisection: what each learns, and the attack on the last."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.policies.rivals.rival_runs import asked, customers, frame, play, shop_frame

from hushprice.errors import InvalidInput
from hushprice.policies.catalog import _module
from hushprice.policies.rival_parts.rival_policy import OUTCOMES
from hushprice.policies.rivals.ban_keskin.policy import SparseGreedy
from hushprice.policies.rivals.glm_pricing.commit import ThenCommit, explored
from hushprice.policies.rivals.glm_pricing.policy import LocalCommit, OpenCommit
from hushprice.policies.rivals.private_bisection.policy import COPIES, Bisection
from hushprice.policies.rivals.tang.policy import ApproximateLeader, scale_of
from hushprice.policies.rivals.tang.pricing import STRONG, Leader
from hushprice.policies.rivals.tang.private import VectorTree, nodes_of
from hushprice.research.audits.eavesdropper import right_guesses

THETA = np.array([0.3, 0.9])


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def made(name: str, **changes: Any) -> Any:
    return _module(name).rival(asked(name, **changes), frame(1, horizon=3000))


def test_tang_says_what_it_protects_and_claims_nothing() -> None:
    policy = made("tang")
    assert (policy.protects, policy.claimed, policy.events) == (OUTCOMES, None, ())
    assert policy.reads_budget
    assert not made("tang", drawn=False).reads_budget
    at = policy.frame
    assert scale_of(at, 2.0, "tight") == 12 / 2.0
    assert scale_of(at, 2.0, "published") == pytest.approx(2.0 * (1.0 + 8.0 * STRONG) * 12 / 2.0)
    assert isinstance(made("tang", calibration="published").begin(at, rng()), ApproximateLeader)
    with pytest.raises(InvalidInput, match="calibration must be one of published, tight"):
        made("tang", calibration="printed")


def test_the_leader_minimizes_the_quadratics_and_learns() -> None:
    """Oracle: the mean of theta_s - g_s / H. Without noise, prices come near the best."""
    at = frame(1, horizon=3000)
    leader, given = Leader(at), rng(1).normal(size=(9, 2)) / 9.0
    thetas = rng(2).normal(size=(9, 2)) / 9.0
    leader.accept((given - STRONG * thetas).sum(axis=0), 9)
    np.testing.assert_allclose(leader.theta, (thetas - given / STRONG).mean(axis=0))
    trial = made("tang", drawn=False).begin(at, rng(3))
    play(trial, at, THETA, 3000, rng(4))
    came = customers(at, 200, rng(5))
    assert np.abs(trial.prices(came) - at.best_prices(came, THETA)).mean() < 0.2


def test_a_vector_trees_noise_is_that_of_its_nodes_and_drawn_once() -> None:
    """Seven leaves are three nodes; a node's length has mean d scale, within five deviations over 3,000 trees."""
    assert nodes_of(7) == [(0, 7), (1, 3), (2, 1)]
    tree = VectorTree(2, 3.0, rng(1))
    tree.absorb(np.ones((7, 2)))
    first = tree.release()
    np.testing.assert_array_equal(tree.release(), first)
    tree.absorb(np.ones((1, 2)))
    assert list(tree._drawn) == [(0, 7), (1, 3), (2, 1)]
    tree.release()
    assert list(tree._drawn) == [(3, 1)]
    lengths = []
    for trial in range(3000):
        tree = VectorTree(2, 3.0, rng(trial))
        tree.absorb(np.zeros((1, 2)))
        lengths.append(np.linalg.norm(tree.release()))
    assert np.mean(lengths) == pytest.approx(6.0, abs=5.0 * 3.0 * math.sqrt(2.0 / 3000))
    quiet = VectorTree(2, 0.0, rng())
    quiet.absorb(np.full((5, 2), 0.5))
    assert quiet.release().tolist() == [2.5, 2.5]
    assert "sensitive" in repr(quiet)


def test_sparse_prices_experiment_at_squares_and_learn_between() -> None:
    at = frame(1, horizon=3000)
    trial = SparseGreedy(at, rng())
    prices = play(trial, at, THETA, 3 + 5 + 7, rng(1))
    assert prices[[0, 1, 3, 4, 8, 9]].tolist() == [0.25, 0.75] * 3
    play(trial, at, THETA, 2985, rng(2))
    came = customers(at, 200, rng(3))
    assert np.abs(at.best_prices(came, trial.theta) - at.best_prices(came, THETA)).mean() < 0.1
    assert np.linalg.norm(trial.theta) <= at.size + 1e-12


def test_exploring_and_committing_fits_once() -> None:
    at = frame(1, horizon=3000)
    assert explored(at, None) == math.ceil(math.sqrt(2.0 * 3000 * math.log(3001.0)))
    assert explored(at, 10.0) == math.ceil(0.2 * math.sqrt(3000 * math.log(3001.0)))
    assert explored(at, 0.01) == 1500
    trial = made("glm-pricing-open").begin(at, rng(1))
    assert isinstance(trial, OpenCommit)
    play(trial, at, THETA, 100, rng(4))  # before the fit
    assert not trial.theta.any()
    play(trial, at, THETA, 1900, rng(2))
    came = customers(at, 200, rng(3))
    assert np.abs(trial.prices(came) - at.best_prices(came, THETA)).mean() < 0.15
    for part in ("greedy", "take"):
        with pytest.raises(NotImplementedError):
            getattr(ThenCommit(at, rng(), 5), part)(*[came, None, None][: 1 if part == "greedy" else 3])


def test_locally_the_walks_second_half_is_averaged() -> None:
    at = frame(1, horizon=400)
    trial, seen = LocalCommit(at, rng(1), keep=0.9, first=10), []
    step, draw = trial.walk.accept, rng(2)
    trial.walk.accept = lambda sent: (step(sent), seen.append(trial.walk.theta))[0]  # type: ignore[method-assign]
    play(trial, at, THETA, 20, draw)
    assert len(seen) == 10
    np.testing.assert_allclose(trial.mean, np.mean(seen[5:], axis=0))


@pytest.mark.parametrize("at", [frame(1, horizon=20_000), shop_frame(1, horizon=20_000)], ids=["market", "shop"])
@pytest.mark.parametrize("copies", [1, COPIES])
def test_a_search_ends_near_the_best_single_price(at: Any, copies: int) -> None:
    """Demand is what it is on average, so answers are right."""
    trial = Bisection(at, rng(), copies=copies)

    def demand(prices: Any) -> Any:
        return 1.0 / (1.0 + np.exp(3.0 * at.share(prices) - 0.5))

    while trial.kept is None:
        came = customers(at, min(trial.due, 4000), rng(1))
        prices = trial.prices(came)
        trial.learn(came, prices, demand(prices))
    fine = np.linspace(at.lowest, at.highest, 2001)
    best = np.max((at.margin + fine) * demand(fine))
    assert (at.margin + trial.kept) * demand(trial.kept) > (0.97 if copies == 1 else 0.93) * best
    came = customers(at, 3, rng(2))
    assert trial.prices(came).tolist() == [trial.kept] * 3
    trial.learn(came, trial.prices(came), np.ones(3))
    assert trial.due == 2**62


def test_who_sees_prices_and_no_answers_is_right_as_often_as_the_copies_allow() -> None:
    """200 shops with a best price anywhere: 1 in 4 within a range, five deviations 0.15; without copies always."""
    hidden, told = (right_guesses(copies, shops=200, seed=3) for copies in (COPIES, 1))
    assert hidden == pytest.approx(0.25, abs=0.16)
    assert told > 0.9
