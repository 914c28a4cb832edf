"""ldp-glm, almost-free and offline-private: what a record adds, what it costs, and what is made of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.policies.rivals.rival_runs import asked, customers, frame, play, shop_frame

from hushprice.errors import InvalidInput
from hushprice.policies.catalog import _module
from hushprice.policies.rival_parts.logistic_fit import Rows, fit
from hushprice.policies.rival_parts.private.sums import NoisySums
from hushprice.policies.rivals.almost_free.pricing import WeightedBelief
from hushprice.policies.rivals.almost_free.private import epoch_sum
from hushprice.policies.rivals.ldp_glm.policy import published
from hushprice.policies.rivals.ldp_glm.pricing import ReportedBelief
from hushprice.policies.rivals.ldp_glm.private import APART, report_rows
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.research.audits.rivals import audit_rival
from hushprice.types import FloatArray

NAMES = ("ldp-glm", "almost-free", "offline-private")
THETA = np.array([0.3, 0.9])


def made(name: str, **changes: Any) -> Any:
    return _module(name).rival(asked(name, **changes), frame(1, horizon=3000))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_what_is_released_tells_what_is_charged_and_all_of_it(name: str, adjacency: Adjacency) -> None:
    policy = made(name, adjacency=adjacency)
    (found,) = audit_rival(policy)
    assert found.holds
    assert found.found == pytest.approx(found.allowed, rel=1e-6)
    if name == "ldp-glm" and adjacency is Adjacency.ZERO_OUT:
        assert policy.proven.epsilon < 1.0  # its noise is for replaced records either way
    else:
        assert policy.proven.epsilon == pytest.approx(1.0, rel=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_without_noise_prices_come_near_the_best_and_nothing_is_claimed(name: str) -> None:
    policy = made(name, drawn=False)
    assert (policy.claimed, policy.proven, policy.events) == (None, None, ())
    at = policy.frame
    trial = policy.begin(at, rng(1))
    prices = play(trial, at, THETA, 3000, rng(2))
    came = customers(at, 300, rng(3))
    gap = np.abs(trial.prices(came) - at.best_prices(came, THETA))
    assert np.mean(gap) < (0.35 if name == "ldp-glm" else 0.15)  # whose steps of T^-1/2 are short for this horizon
    assert np.all((prices >= 0.0) & (prices <= 1.0))


def test_the_parts_of_a_local_report_are_bounded_whatever_the_record() -> None:
    """Longest and furthest apart over 4,000 pairs, some at the corners: never more than the event says."""
    draw = rng(4)
    psi = draw.normal(size=(4000, 3))
    psi /= np.maximum(np.linalg.norm(psi, axis=1), 1.0)[:, None]
    rows = report_rows(psi, draw.normal(size=4000), draw.integers(-3, 4, 4000), 5.0 * draw.normal(size=3), 2.0)
    assert np.linalg.norm(rows, axis=1).max() <= 1.0 + 1e-12
    apart = np.linalg.norm(rows[:2000] - rows[2000:], axis=1)
    assert apart.max() <= APART / math.sqrt(3.0) + 1e-12
    square = math.sqrt(3.0) * rows[:, :6]
    np.testing.assert_allclose(np.linalg.norm(square, axis=1), np.sum(psi**2, axis=1))


def test_the_local_belief_is_the_sources_regression() -> None:
    """Oracle: ridge regression of psi'theta_t on psi, and the descent's one step, without noise."""
    at = frame(1, horizon=400)
    belief, psi = ReportedBelief(at, 0.0, sharp=True), rng(5).normal(size=(200, 2)) / 3.0
    belief.theta = np.array([0.5, -1.0])
    bought = (rng(6).random(200) < 0.5).astype(float)
    belief.accept(report_rows(psi, np.zeros(200), bought, belief.theta, belief.ball))
    v = psi.T @ psi + np.eye(2)
    np.testing.assert_allclose(belief.mean, np.linalg.solve(v, psi.T @ (psi @ [0.5, -1.0])))
    error = 1.0 / (1.0 + np.exp(-psi @ [0.5, -1.0])) - bought
    np.testing.assert_allclose(belief.theta, np.array([0.5, -1.0]) - psi.T @ error / 20.0)
    mean = belief.mean
    belief.accept(-100.0 * np.ones((1, 7)))  # noise beyond its bound: what prices are made of stays
    assert belief.mean is mean


def test_the_published_local_noise_is_looser_and_its_bound_wider() -> None:
    assert published(EpsilonDelta(1.0, 1e-6)) == pytest.approx(6.0 * math.sqrt(2.0 * math.log(3.75e6)))
    policy = made("ldp-glm", calibration="published")
    assert policy.proven.epsilon < 0.5
    loose, sharp = (ReportedBelief(policy.frame, 3.0, sharp=each) for each in (False, True))
    for belief in (loose, sharp):
        belief.accept(np.zeros((100, 7)))
    assert loose.reach() == pytest.approx(0.5 + 30.0 * (4.0 * math.sqrt(2.0) + 2.0 * math.log(2.0 * 3000**2)))
    assert loose.reach() > 2.0 * sharp.reach()
    with pytest.raises(InvalidInput, match="calibration must be one of published, tight"):
        made("ldp-glm", calibration="printed")


def test_weights_make_the_mean_of_weighted_records_the_identity() -> None:
    """Thirty epochs on records that are ten times as long one way: E[U psi psi' U / ||U psi||] comes to I."""
    at, draw = frame(1, horizon=1000), rng(7)
    rows = Rows(2)
    rows.add(draw.normal(size=(3000, 2)) * [0.3, 0.03], np.zeros(3000), np.zeros(3000))
    belief = WeightedBelief(at, 0.0)
    for _ in range(30):
        belief.theta = np.zeros(2)
        belief.accept(epoch_sum(rows, 1.0, belief.theta, belief.u, NoisySums(None, draw)), 3000)
    weighted = rows.phi @ belief.u
    mean = (weighted / np.linalg.norm(weighted, axis=1)[:, None]).T @ weighted / 3000
    np.testing.assert_allclose(mean, np.eye(2), atol=1e-6)


def test_epochs_steps_end_where_the_likelihood_does_and_noise_beyond_the_curvature_hardly_moves_them() -> None:
    at, draw, rows = frame(1, horizon=1000), rng(8), Rows(2)
    phi = draw.normal(size=(2000, 2)) / 2.0
    rows.add(phi, np.zeros(2000), (draw.random(2000) < 1.0 / (1.0 + np.exp(-phi @ [0.5, -1.0]))).astype(float))
    belief = WeightedBelief(at, 0.0)
    totals: list[FloatArray] = []
    for _ in range(40):
        totals.append(epoch_sum(rows, 1.0, belief.theta, belief.u, NoisySums(None, draw)))
        belief.accept(totals[-1], 2000)
    np.testing.assert_allclose(belief.theta, fit(rows, 1.0, np.zeros(2), ridge=1e-9), atol=0.08)  # weighted, not ML
    np.testing.assert_allclose(totals[-1][:2], 0.0, atol=1e-6)
    noisy = WeightedBelief(at, 1e6)
    noisy.accept(totals[0], 2000)
    assert np.abs(noisy.theta).max() < 1e-3


def test_an_offline_fit_without_noise_is_the_maximum_of_the_likelihood() -> None:
    """Oracle: the fit of rivals without privacy. Newton's steps from 0, with an offset; the ridge moves it by 1e-6."""
    at, draw = frame(1, horizon=4000), rng(13)
    policy = _module("offline-private").rival(asked("offline-private", drawn=False), at)
    trial, rows = policy.begin(at, rng(14)), Rows(2)
    came = customers(at, 400, draw)
    prices = trial.prices(came)
    bought = (draw.random(400) < 1.0 / (1.0 + np.exp(-at.slope * came.features(prices) @ THETA))).astype(float)
    rows.add_customers(at, came, prices, bought)
    trial.learn(came, prices, bought)
    np.testing.assert_allclose(trial.theta, at.slope * fit(rows, at.slope, np.zeros(2), ridge=1e-9), atol=1e-3)


def test_an_offline_fit_is_made_once_and_prices_stay() -> None:
    at = shop_frame(1, horizon=600)
    trial = _module("offline-private").rival(asked("offline-private"), at).begin(at, rng(9))
    play(trial, at, np.array([0.2, 0.1, 0.5, 0.0]), 60, rng(10))
    kept = trial.theta.copy()
    came = customers(at, 5, rng(11))
    before = trial.prices(came)
    play(trial, at, np.zeros(4), 200, rng(12))
    np.testing.assert_array_equal(trial.theta, kept)
    np.testing.assert_array_equal(trial.prices(came), before)
    assert trial.due == 2**62
