"""Rivals without privacy: each does what its source says, against an oracle of its own."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from tests.policies.rivals.rival_runs import asked, customers, frame, play, shop_frame

from hushprice.policies.catalog import _module
from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rival_parts.lasso import lasso
from hushprice.policies.rival_parts.logistic_fit import Rows
from hushprice.policies.rival_parts.optimist import Optimist
from hushprice.policies.rivals.ellipsoid.policy import EllipsoidCuts
from hushprice.policies.rivals.glm_ucb import policy as glm_ucb
from hushprice.policies.rivals.greedy_ils.policy import GreedyLeastSquares
from hushprice.policies.rivals.mle_cycle.policy import MleCycle
from hushprice.policies.rivals.rmlp.policy import EpisodicLasso
from hushprice.policies.rivals.thompson.policy import Thompson
from hushprice.policies.rivals.ucb_glm import policy as ucb_glm
from hushprice.policies.rivals.wang_optimism.policy import WangOptimism, usual_width
from hushprice.types import FloatArray

FRAMES = pytest.mark.parametrize("at", [frame(), shop_frame()], ids=["market", "shop"])
THETA = np.array([0.2, -0.3, 0.8])


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@FRAMES
def test_thompsons_mean_is_the_mode_of_prior_and_likelihood(at: Frame) -> None:
    """Oracle: a general minimizer, after the first refit; three Newton steps leave little."""
    rival, came = Thompson(at, rng()), customers(at, 20, rng(1))
    prices, bought = rival.prices(came), (rng(2).random(20) < 0.4).astype(float)
    assert np.all((prices >= at.lowest) & (prices <= at.highest))
    phi = came.features(prices)

    def loss(theta: FloatArray) -> float:
        z = at.offset(prices) + at.slope * phi @ theta
        return float(np.sum(np.logaddexp(0.0, z) - bought * z) + 0.5 * np.sum((theta / at.doubts) ** 2))

    rival.learn(came, prices, bought)
    np.testing.assert_allclose(rival.mean, minimize(loss, np.zeros(at.dimension)).x, atol=0.02)
    assert rival.due == 20


def test_optimists_explore_until_the_least_eigenvalue_is_large_and_then_stop() -> None:
    at = frame(1)
    rival = ucb_glm.UcbGlm(at, rng(), factor=1.0)
    while not rival.ready:
        before = rival.v.copy()
        play(rival, at, THETA[:2], rival.due, rng(rival.count))
    assert np.linalg.eigvalsh(before)[0] < 1.0 <= np.linalg.eigvalsh(rival.v)[0]
    prices = play(rival, at, THETA[:2], 5, rng(9))
    assert set(prices) <= set(at.grid)


def test_the_published_widths_are_the_sources_and_ceiling_prices_follow() -> None:
    """By hand, for d = 3, slope 4, S = 1: kappa = 4 e^-8/(1 + e^-8)^2, within one unit of the ball."""
    at = frame(2, horizon=1000)
    kappa = 4.0 * math.exp(-8.0) / (1.0 + math.exp(-8.0)) ** 2
    root = math.sqrt(1.5 * math.log(1.0 + 2000.0 / 3.0) + math.log(1000.0))
    assert ucb_glm.published_width(at) == pytest.approx(0.5 / kappa * root)
    assert ucb_glm.usual_width(at) == pytest.approx(0.5 * root)
    filippi = 2.0 * math.sqrt(3.0 + 2.0 * math.log(3.0)) / kappa * math.sqrt(6.0 * math.log(6.0 * 1000 / 0.1))
    assert glm_ucb.published_width(at) == pytest.approx(filippi)
    rival = ucb_glm.UcbGlm(at, rng(), factor=ucb_glm.published_width(at))
    assert np.all(play(rival, at, THETA, 600, rng(1))[-100:] == 1.0)


@pytest.mark.beyond_coverage
@pytest.mark.parametrize("name", ["ucb-glm", "glm-ucb", "wang-optimism"])
def test_optimists_find_the_truth(name: str) -> None:
    """Within 0.15 of theta in every direction that prices need, after 3,000 customers; seeds give 0.02 to 0.08."""
    at = frame(1, horizon=3000)
    rival = _module(name).rival(asked(name), at).begin(at, rng(3))
    assert isinstance(rival, Optimist)
    play(rival, at, THETA[1:], 3000, rng(4))
    came = customers(at, 200, rng(5))
    gap = at.best_prices(came, rival.theta) - at.best_prices(came, THETA[1:])
    assert np.abs(gap).mean() < 0.06


def test_the_widths_of_glm_ucb_grow_with_the_root_of_ln_t_and_wangs_is_about_sqrt_d() -> None:
    at = frame(1)
    rival = glm_ucb.GlmUcb(at, rng(), factor=2.0)
    rival.count = 400
    assert rival.width() == pytest.approx(2.0 * math.sqrt(math.log(400.0)))
    assert usual_width(at) == 0.5 * math.sqrt(2.0)
    wang = WangOptimism(at, rng(), factor=1.0)
    assert wang.ready
    assert np.linalg.norm(wang.theta) <= at.size
    with pytest.raises(NotImplementedError):
        Optimist(at, rng()).width()


@FRAMES
def test_greedy_least_squares_are_least_squares_and_its_price_the_best_for_them(at: Frame) -> None:
    rival = GreedyLeastSquares(at, rng(), dispersed=False)
    came = customers(at, 200, rng(1))
    prices, bought = rng(2).uniform(at.lowest, at.highest, 200), rng(3).random(200)
    bought += 0.4 * (1.0 - at.share(prices))
    rival.take(came, prices, bought)
    rival.count = 200
    rival.refit()
    rows = np.column_stack([np.ones(200), came.x.T, at.share(prices)])
    np.testing.assert_allclose(rival.coefficients, np.linalg.lstsq(rows, bought)[0], atol=1e-5)
    chosen, fine = rival.prices(came), np.linspace(at.lowest, at.highest, 2001)

    def earned(p: FloatArray) -> FloatArray:
        demand = np.column_stack([np.ones(200), came.x.T, at.share(p)]) @ rival.coefficients
        return (at.margin + p) * demand

    dense = np.max([earned(np.full(200, p)) for p in fine], axis=0)
    np.testing.assert_allclose(earned(chosen), dense, atol=1e-5)


def test_dispersed_prices_lie_a_distance_apart_that_shrinks_as_the_fourth_root() -> None:
    at = frame(1)
    calm, wide = (GreedyLeastSquares(at, rng(), dispersed=each) for each in (False, True))
    for rival in (calm, wide):
        rival.coefficients, rival.count = np.array([0.6, 0.0, -0.6]), 623
    came = customers(at, 1, rng(1))
    assert abs(wide.prices(came)[0] - calm.prices(came)[0]) == pytest.approx(624.0**-0.25 / 3.0**0.25)


def test_mle_cycle_tries_two_prices_and_keeps_one_for_as_many_customers_as_cycles() -> None:
    at = frame(1)
    rival = MleCycle(at, rng())
    prices = play(rival, at, THETA[1:], 2 + 1 + 2 + 2 + 2 + 3, rng(1))
    tried = np.isin(prices, [0.25, 0.75])
    assert np.flatnonzero(tried[[0, 1, 3, 4, 7, 8]]).size == 6
    assert prices[[0, 1, 3, 4, 7, 8]].tolist() == [0.25, 0.75] * 3
    assert len(set(prices[5:7])) == len(set(prices[9:12])) == 1
    assert rival._rows.count == 6  # the fit sees the tried prices alone


def test_mle_cycle_finds_the_one_best_price() -> None:
    """Log-odds are 1 - 4 p for everybody; after 6,000 customers 216 of them were tried. Seeds give 0.00 to 0.07."""
    at = frame(0, horizon=6000, dimension=1, doubts=(1.0,))

    rival = MleCycle(at, rng())
    chance = rng(6)
    while rival._cycle < 100:
        came = Customers(np.empty((0, rival.due)), np.zeros((1, rival.due)), np.zeros((1, rival.due)))
        prices = rival.prices(came)
        rival.learn(came, prices, (chance.random(came.size) < 1.0 / (1.0 + np.exp(4.0 * prices - 1.0))).astype(float))
    fine = np.linspace(0.0, 1.0, 1001)
    assert rival._kept == pytest.approx(fine[np.argmax(fine / (1.0 + np.exp(4.0 * fine - 1.0)))], abs=0.12)


def test_rmlp_explores_first_in_each_episode_and_fits_those_alone() -> None:
    at = frame(1)
    rival = EpisodicLasso(at, rng())
    play(rival, at, THETA[1:], 15, rng(1))  # episodes of 1, 2, 3, 4, 5
    assert rival._rows.count == 5
    assert rival.due == 1


def test_the_lasso_meets_its_optimality_conditions() -> None:
    """A coefficient off 0 has a gradient of -lambda times its sign, one at 0 a smaller one."""
    draw, rows = rng(8), Rows(4)
    phi = draw.normal(size=(300, 4))
    truth = np.array([1.0, -0.7, 0.0, 0.0])
    rows.add(phi, np.zeros(300), (draw.random(300) < 1.0 / (1.0 + np.exp(-phi @ truth))).astype(float))
    theta = lasso(rows, 1.0, np.zeros(4), steps=3000, factor=0.8)
    gradient = phi.T @ (1.0 / (1.0 + np.exp(-phi @ theta)) - rows.bought) / 300
    penalty = 0.8 * math.sqrt(math.log(4.0) / 300)
    moved = theta != 0.0
    assert moved[:2].all()
    np.testing.assert_allclose(gradient[moved], -penalty * np.sign(theta[moved]), atol=1e-8)
    assert np.all(np.abs(gradient[~moved]) <= penalty + 1e-8)


def test_a_cut_keeps_the_half_it_should_and_shrinks_the_volume_as_it_must() -> None:
    """Oracle: the volume falls by the central cut's factor, and every point of the kept half stays inside."""
    rival, d = EllipsoidCuts(frame(2), rng()), 3
    before, center, x = rival.shape.copy(), rival.center.copy(), np.array([0.3, -1.0, 0.5])
    rival.cut(x, 1.0)
    factor = (d * d / (d * d - 1.0)) ** d * (d - 1.0) / (d + 1.0)
    assert np.linalg.det(rival.shape) / np.linalg.det(before) == pytest.approx(factor)
    points = center + (rng(1).normal(size=(4000, 3)) * 0.4)
    inside = np.einsum("ij,jk,ik->i", points - center, np.linalg.inv(before), points - center) <= 1.0
    kept = points[inside & ((points - center) @ x >= 0.0)]
    far = np.einsum("ij,jk,ik->i", kept - rival.center, np.linalg.inv(rival.shape), kept - rival.center)
    assert len(kept) > 500
    assert far.max() <= 1.0 + 1e-9


def test_without_noise_the_ellipsoid_closes_in_on_every_customers_value() -> None:
    at = frame(1, horizon=400)
    rival, w = EllipsoidCuts(at, rng()), np.array([0.55, 0.2])
    draw = rng(2)
    for _ in range(400):
        came = customers(at, 1, draw)
        price = rival.prices(came)
        rival.learn(came, price, np.array([float(w[0] + w[1] * came.x[0, 0] >= price[0])]))
    came = customers(at, 100, draw)
    gaps = w[0] + w[1] * came.x[0] - rival.prices(came)
    assert gaps.min() > -1e-9  # never above a value once it is known
    assert gaps.max() < 4.0 / 400 + 1e-9
    rival.shape = 1e-12 * rival.shape
    rival._cut = np.array([1.0, 0.0])
    rival.learn(came, rival.prices(customers(at, 1, draw)), np.ones(1))
