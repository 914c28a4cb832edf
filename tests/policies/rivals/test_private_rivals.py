"""Rivals with pure privacy: what one record can move, what that costs, and planted bugs that are caught."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.policies.rivals.rival_runs import asked, frame, play

from hushprice.errors import BudgetExhausted, InvalidInput
from hushprice.policies.catalog import _module
from hushprice.policies.rival_parts.frame import Frame
from hushprice.policies.rival_parts.private import directions
from hushprice.policies.rival_parts.private.laplace_tree import LaplaceTree
from hushprice.policies.rival_parts.private.sales import SalesReleaser
from hushprice.policies.rival_parts.walk import Walk
from hushprice.policies.rivals.ldp_mab import private as bits
from hushprice.policies.rivals.ldp_mab.pricing import ReportedArms
from hushprice.policies.rivals.mishra import policy as mishra
from hushprice.policies.rivals.mishra.pricing import ARMS, BetaArms, TreeArms
from hushprice.policies.rivals.one_price.pricing import LEVELS, PriceList
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import BitReports, LaplaceSums, NotPrivate
from hushprice.research.audits import rivals as audits
from hushprice.research.audits.rivals import audit_rival

PURE = ("one-price", "mishra-ucb", "mishra-thompson", "ldp-mab", "ldp-sgd", "glm-pricing")


def made(name: str, at: Frame | None = None, **changes: Any) -> Any:
    return _module(name).rival(asked(name, **changes), at or frame(1, horizon=100))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("name", PURE)
def test_what_is_released_tells_what_is_charged_and_no_more(name: str, epsilon: float) -> None:
    policy = made(name, claimed=EpsilonDelta(epsilon, 1e-6))
    assert policy.claimed == EpsilonDelta(epsilon, 0.0)
    assert policy.proven.epsilon == pytest.approx(epsilon, rel=1e-8)
    (found,) = audit_rival(policy)
    assert found.holds
    if not name.startswith("mishra"):  # whose tree has more levels than these few records reach
        assert found.found == pytest.approx(epsilon, rel=0.01)


@pytest.mark.parametrize("name", PURE)
def test_without_noise_nothing_is_claimed_and_nothing_audited(name: str) -> None:
    policy = made(name, drawn=False)
    assert (policy.claimed, policy.proven, policy.events) == (None, None, ())
    assert audit_rival(policy) == []
    prices = play(policy.begin(frame(1, horizon=100), rng()), frame(1, horizon=100), np.array([0.1, 0.9]), 100, rng(1))
    assert np.all((prices >= 0.0) & (prices <= 1.0))


def test_a_count_that_forgets_to_clip_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "clip", lambda values, low, high: values)
    assert not audit_rival(made("one-price"))[0].holds


def test_a_sale_in_every_node_of_its_level_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tree that never empties a closed node puts a record into many nodes of a level."""

    class Leaking(LaplaceTree):
        def absorb(self, sales: Any) -> None:
            held = float(np.clip(sales, 0.0, 1.0)[0])
            self._count += 1
            self._exact[0] += held
            self.newest = self._exact[0]

    monkeypatch.setattr(audits, "LaplaceTree", Leaking)
    assert not audit_rival(made("mishra-ucb"))[0].holds
    assert not audit_rival(made("mishra-thompson"))[0].holds


def test_a_bit_that_is_kept_too_often_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = made("ldp-mab")
    monkeypatch.setattr(audits, "report", lambda b, event, r: bits.report(b, BitReports(keep=0.9), r))
    assert not audit_rival(policy)[0].holds


def test_a_direction_that_is_kept_too_often_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audits, "direction", lambda g, n, a, b, keep, out: directions.direction(g, n, a, b, 0.9, out))
    for name in ("ldp-sgd", "glm-pricing"):
        assert not audit_rival(made(name))[0].holds


def test_an_event_that_no_audit_knows_is_refused() -> None:
    policy = made("one-price")
    object.__setattr__(policy, "events", (NotPrivate(),))
    with pytest.raises(InvalidInput, match="no audit here knows"):
        audit_rival(policy)


def test_one_price_keeps_the_price_that_earned_most_and_releases_once() -> None:
    at = frame(0, horizon=100, dimension=1, doubts=(1.0,))
    shelf, releaser = PriceList(at), SalesReleaser(LEVELS, None, rng())
    assert shelf.explored == 20
    assert shelf.prices(0, 6).tolist() == [0.0, 0.25, 0.5, 0.75, 1.0, 0.0]
    releaser.absorb(shelf.levels(0, 20), np.tile([1.0, 1.0, 1.0, 0.5, 0.0], 4))
    shelf.accept(releaser.release())
    assert shelf.prices(20, 2).tolist() == [0.5, 0.5]  # 0.5 x 1 a customer beats 0.75 x 0.5
    with pytest.raises(BudgetExhausted):
        releaser.release()
    with pytest.raises(InvalidInput, match="must be finite"):
        releaser.absorb(np.zeros(1, dtype=int), np.array([math.nan]))
    assert "sensitive" in repr(releaser)


def test_a_tree_without_noise_gives_every_prefix_sum_and_draws_one_number_a_record() -> None:
    """Oracle: cumulative sums. NaN counts as no sale."""
    tree, sales = LaplaceTree(None, 7, rng()), rng(1).random(100)
    for count in range(100):
        tree.absorb(sales[count : count + 1])
        assert tree.release() == pytest.approx(sales[: count + 1].sum())
    tree.absorb(np.array([math.nan, 5.0]))
    assert tree.release() == pytest.approx(sales.sum() + 1.0)
    assert "sensitive" in repr(tree)


def test_the_noise_of_a_prefix_is_that_of_the_nodes_it_is_made_of() -> None:
    """After 7 records three nodes: variance 3 x 2 scale^2, within 15 % over 4,000 trees (deviation 3 %)."""
    event = LaplaceSums(levels=3, scale=2.0)
    found = []
    for trial in range(4000):
        tree = LaplaceTree(event, 3, rng(trial))
        tree.absorb(np.zeros(7))
        found.append(tree.release())
    assert np.var(found) == pytest.approx(3 * 2 * 4.0, rel=0.15)


def test_mishras_published_noise_counts_a_record_once_for_every_arm() -> None:
    loose, bonus = mishra.published(1.0, 1000)
    sharp, reach = mishra.tight(1.0, 1000)
    assert loose.scale == pytest.approx(ARMS * sharp.scale)
    assert bonus == pytest.approx(ARMS * math.log(1001.0) ** 2 * math.log(ARMS * 1000.0))
    assert reach < bonus
    policy = made("mishra-ucb", calibration="published")
    assert policy.proven.epsilon == pytest.approx(1.0 / ARMS)
    with pytest.raises(InvalidInput, match="calibration must be one of published, tight"):
        made("mishra-ucb", calibration="printed")


def test_the_arms_of_trees_are_ucb() -> None:
    """Oracle: the index by hand."""
    arms = TreeArms(frame(0, dimension=1, doubts=(1.0,)), 3.0)
    for arm in range(ARMS):
        assert arms.choose() == arm
        arms.accept(arm, 50 + arm, 40.0 - 4.0 * arm)
    pulls = 50.0 + np.arange(ARMS)
    mean = (40.0 - 4.0 * np.arange(ARMS)) / pulls + np.sqrt(2.0 * math.log(pulls.sum()) / pulls) + 3.0 / pulls
    assert arms.choose() == int(np.argmax(arms.levels * np.clip(mean, 0.0, 1.0)))


def test_thompsons_arms_are_drawn_from_the_posterior_of_noisy_counts() -> None:
    """Two arms with data, the rest known to sell nothing: how often each wins, beside draws of two Beta laws."""
    arms = BetaArms(frame(0, dimension=1, doubts=(1.0,)), rng(1), reach=0.0, deviation=0.0)
    for arm in range(ARMS):
        arms.accept(arm, 10_000, -50.0)  # a noisy count below 0 counts as 0
    arms.accept(8, 20, 9.0)
    arms.accept(9, 20, 8.0)
    wins = np.mean([arms.choose() == 9 for _ in range(4000)])
    draw = rng(2)
    wanted = np.mean(1.0 * draw.beta(9.0, 13.0, 40_000) > 0.9 * draw.beta(10.0, 12.0, 40_000))
    assert wins == pytest.approx(wanted, abs=0.04)  # five deviations


@pytest.mark.parametrize(
    ("deviation", "reach", "horizon", "wanted"),
    [
        (4.9, 1e9, 10**6, 100 * ARMS),  # 100 sales at even odds have a deviation of 5
        (1e9, 37.0, 10**6, 500 * ARMS),  # the best is 0.152 ahead of the next: 2 reach / pulls falls below that
        (1e9, 1e9, 10_000, 1000),  # a tenth of all
    ],
)
def test_arms_are_pulled_in_turn_until_noise_cannot_mislead(
    deviation: float, reach: float, horizon: int, wanted: int
) -> None:
    at = frame(0, dimension=1, doubts=(1.0,), horizon=horizon)
    arms = BetaArms(at, rng(1), reach=reach, deviation=deviation)
    pulled = np.zeros(ARMS)
    while pulled.sum() < wanted:
        arm = arms.choose()
        assert arm == np.argmin(pulled)
        pulled[arm] += 50
        arms.accept(arm, int(pulled[arm]), pulled[arm] * (0.8 if arm == ARMS - 1 else 0.72))
    assert arms.choose() == ARMS - 1  # 0.8 beside 0.9 x 0.72 and less


def test_the_deviation_of_a_sum_is_that_of_as_many_nodes_as_there_are_levels() -> None:
    assert mishra.deviation_of(None) == 0.0
    assert mishra.deviation_of(LaplaceSums(levels=8, scale=3.0)) == pytest.approx(12.0)


def test_reports_of_bits_are_put_right_on_average() -> None:
    """100,000 reports at epsilon 1: the mean is within five of its deviations, wrong once in two million runs."""
    keep = 1.0 / (1.0 + math.exp(-1.0))
    arms = ReportedArms(frame(0, dimension=1, doubts=(1.0,)), keep)
    bought = (rng(1).random(100_000) < 0.3).astype(float)
    arms.accept(4, bits.report(bought, BitReports(keep=keep), rng(2)))
    assert arms.means[4] == pytest.approx(0.3, abs=5.0 * 0.5 / (2.0 * keep - 1.0) / math.sqrt(100_000))
    assert bits.report(np.array([0.0, 1.0, 7.0, math.nan]), None, rng()).tolist() == [0.0, 1.0, 1.0, 0.0]


def test_local_arms_settle_on_the_best_price() -> None:
    at = frame(0, horizon=4000, dimension=1, doubts=(1.0,))
    rival = made("ldp-mab", at, drawn=False).begin(at, rng())
    prices = play(rival, at, np.array([0.5]), 4000, rng(3))  # log-odds -2 p: the best of ten is 0.6 or 0.7
    assert np.median(prices[-1000:]) in (0.5, 0.6, 0.7, 0.8)


@pytest.mark.parametrize("length", [0.0, 0.4, 1.0, 5.0])
def test_a_direction_stands_for_its_gradient_on_average(length: float) -> None:
    """50,000 draws in three dimensions: within five deviations in every entry, wrong once in 500,000 runs."""
    draws, keep, gradient = 50_000, 0.7, np.array([0.6, 0.0, -0.8]) * length
    normals, coins, out = rng(4).standard_normal((draws, 3)), rng(5).random((draws, 2)), np.empty((draws, 3))
    for i in range(draws):
        directions.direction(gradient, normals[i], coins[i, 0], coins[i, 1], keep, out[i])
    size = directions.radius_of(3, keep)
    held = gradient / max(length, 1.0)
    np.testing.assert_allclose(np.linalg.norm(out, axis=1), 1.0)
    np.testing.assert_allclose(size * out.mean(axis=0), held, atol=5.0 * size / math.sqrt(3.0 * draws))


def test_the_walk_steps_as_the_source_says_and_stays_in_its_ball() -> None:
    at = frame(1)
    walk = Walk(at, 2.0)
    walk.accept(np.array([[0.3, 0.0], [0.0, 0.1]]))
    first = np.array([-5.0 / 2.0 * 0.6, 0.0])
    np.testing.assert_allclose(walk.theta, first - 5.0 / 3.0 * (np.array([0.0, 0.2]) + 0.05 * first))
    walk.accept(np.tile([1.0, 0.0], (50, 1)))
    assert np.linalg.norm(walk.theta) <= 4.0 + 1e-9


def test_what_devices_send_is_the_gradient_at_the_public_theta() -> None:
    """With a coin that always keeps, 20,000 devices with one customer average to (f - y) psi."""
    psi, draws = np.array([0.3, -0.5]), 20_000
    coins = np.column_stack([rng(6).standard_normal((draws, 2)), rng(7).random((draws, 2))])
    out, theta = np.empty((draws, 2)), np.array([1.0, 2.0])
    directions.send(theta, np.tile(psi, (draws, 1)), np.full(draws, 0.2), np.ones(draws), coins, 1.0 - 1e-12, out)
    wanted = (1.0 / (1.0 + math.exp(-(0.2 + psi @ theta))) - 1.0) * psi
    size = directions.radius_of(2, 1.0)
    np.testing.assert_allclose(size * out.mean(axis=0), wanted, atol=5.0 * size / math.sqrt(2.0 * draws))
