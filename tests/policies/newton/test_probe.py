"""Probes: tilts have the belief's covariance, move those alone who would learn from it, and cost what they may."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.demand.features import by_name
from hushprice.demand.protocol import Demand
from hushprice.demand.welfare import clairvoyant_price
from hushprice.policies.newton.pricing import belief, probe
from hushprice.policies.newton.rules import NEAR, PRECISION, PROBE, REACH, references
from hushprice.types import FloatArray

LEAST = 40.0
GRID = np.linspace(0.0, 1.0, 1001)


def tilts(inverse: FloatArray, effect: FloatArray, reach: float, turns: int) -> FloatArray:
    d = effect.size
    out, work = np.empty((turns, d)), np.empty((2 * d + 1, d))
    for turn in range(turns):
        probe.tilt(inverse, effect, reach, turn, out[turn], work)
    return out


def some_inverse(d: int, seed: int = 0) -> FloatArray:
    root = np.random.default_rng(seed).normal(size=(d, d))
    return root @ root.T / d + 0.01 * np.eye(d)


def after_one_price(features: str, k: int, price: float, records: float = 1e4) -> FloatArray:
    """The inverse precision after many uniform customers at one price: level and slope are confounded."""
    chosen = by_name(features, k)
    precision = PRECISION * np.eye(chosen.dimension)
    for x in np.random.default_rng(1).uniform(-1.0, 1.0, (500, k)):
        u, v = chosen.parts(x)
        precision += records / 500 * np.outer(u + price * v, u + price * v)
    return np.linalg.inv(precision)


def begun(
    features: str,
    theta: FloatArray,
    inverse: FloatArray,
    batches: int = 5,
    share: float = PROBE,
    cost: float = 0.0,
) -> tuple[int, FloatArray]:
    """The end and the tilt of the batch after 10,000 records."""
    u, v = references(by_name(features, 1))
    d = theta.size
    out = np.full(d, 7.0)
    given = share, REACH, LEAST, NEAR, cost, theta, inverse, u, v, batches, 10_000, 15_000
    return int(probe.begin(0, 4.0, *given, out, np.empty(probe.work_shape(d)))), out


@pytest.mark.parametrize("d", [1, 2, 4])
def test_over_all_turns_tilts_have_the_covariance_of_the_belief(d: int) -> None:
    inverse = some_inverse(d)
    out = tilts(inverse, np.ones(d), 1.5, 2**d)
    np.testing.assert_allclose(out.T @ out / 2**d, 1.5**2 * inverse, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(out.sum(axis=0), 0.0, atol=1e-12)


def test_every_tilt_lies_on_the_surface_of_the_ellipsoid() -> None:
    inverse = some_inverse(3, seed=2)
    for out in tilts(inverse, np.array([0.0, 0.0, -1.0]), 2.0, 8):
        assert out @ np.linalg.solve(inverse, out) == pytest.approx(3 * 2.0**2)


def test_the_coefficient_of_the_price_changes_sides_every_turn_the_next_every_second() -> None:
    inverse, order = some_inverse(3, seed=3), [1, 2, 0]
    root = np.linalg.cholesky(inverse[np.ix_(order, order)])
    out = tilts(inverse, np.array([0.0, -0.5, 0.1]), 1.0, 8)[:, order]
    signs = np.linalg.solve(root, out.T)
    np.testing.assert_allclose(signs[0], [1, -1, 1, -1, 1, -1, 1, -1], rtol=1e-9)
    np.testing.assert_allclose(signs[1], [1, 1, -1, -1, 1, 1, -1, -1], rtol=1e-9)
    np.testing.assert_allclose(signs[2], [1, 1, 1, 1, -1, -1, -1, -1], rtol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_the_last_digits_of_a_belief_move_a_tilt_by_as_little(seed: int) -> None:
    """Also where most directions are known equally well, as before anybody has shown them."""
    draws = np.random.default_rng(seed)
    shown = np.linalg.qr(draws.normal(size=(12, 2)))[0]
    inverse = 0.5 * np.eye(12) - shown @ np.diag([0.3, 0.1]) @ shown.T
    jitter = 1e-15 * draws.normal(size=(12, 12))
    effect = -np.eye(12)[7]
    apart = tilts(inverse, effect, 2.0, 16) - tilts(inverse + jitter + jitter.T, effect, 2.0, 16)
    assert np.abs(apart).max() < 1e-12


def test_more_directions_than_a_turn_has_bits_and_no_belief_at_all() -> None:
    np.testing.assert_array_equal(np.abs(tilts(np.eye(70), np.eye(70)[0], 1.0, 2)), 1.0)
    assert not np.any(tilts(np.zeros((2, 2)), np.ones(2), 1.0, 1))


@pytest.mark.beyond_coverage
@pytest.mark.parametrize("demand", [Logistic(), Logistic(slope=9.0), Poisson(slope=3.0), Gaussian(noise=0.5)], ids=str)
@pytest.mark.parametrize(("seed", "cost"), [(0, 0.0), (1, 0.0), (2, 0.3), (3, 0.6)])
def test_who_is_moved_is_who_is_near_to_where_demand_is_known_best(demand: Demand, seed: int, cost: float) -> None:
    """Against best prices on a dense grid."""
    draws, prices = np.random.default_rng(seed), cost + (1.0 - cost) * GRID
    seen = set()
    for _ in range(25):
        a, b = draws.uniform(0.0, 0.6), -draws.uniform(0.1, 0.9)
        up, down = 0.2 * draws.normal(size=2)
        q2, pivot = draws.uniform(0.01, 1.0), draws.uniform(0.0, 1.2)
        price, moved = (
            prices[np.argmax((prices - cost) * demand.mean(left + slope * prices))]
            for left, slope in ((a, b), (a + up, b + down))
        )
        margin = 0.5 * abs(moved - price) - abs(price - pivot)
        if abs(margin) < 4e-3:  # the grid is no finer
            continue
        found = probe.moves(demand.family, float(demand.slope), 0.5, cost, a, b, -2.0 * q2 * pivot, q2, up, down)
        assert found == (margin > 0.0)
        seen.add(bool(found))
    assert False in seen


def test_nobody_is_moved_whose_slope_is_certain_or_whose_price_stays_at_the_edge() -> None:
    assert not probe.moves(0, 4.0, 1.0, 0.0, 0.0, -0.5, 0.0, 0.0, 0.0, 0.2)
    assert not probe.moves(0, 4.0, 1.0, 0.0, 0.0, -0.1, -0.2, 0.1, 0.0, 0.05)  # 1 is best with and without
    assert probe.moves(0, 4.0, 1.0, 0.0, 0.0, -0.1, -0.2, 0.1, 0.0, -0.5)  # and from 1 the way leads inwards


def test_no_more_lines_than_asked_for_are_moved_and_they_are_counted() -> None:
    a, b, up, down = np.zeros(3), np.full(3, -0.1), np.full(3, 0.1), np.full(3, -0.5)
    q1, q2 = np.array([-0.2, 0.0, -0.2]), np.full(3, 0.1)  # the second is known best at 0
    assert probe.move_lines(0, 4.0, 0.5, 0.0, 2, up, down, a, b, q1, q2) == 1
    np.testing.assert_allclose(a, [0.1, 0.0, 0.0])
    np.testing.assert_allclose(b, [-0.6, -0.1, -0.1])


@settings(deadline=None, derandomize=True)
@given(st.integers(1, 10**9), st.floats(0.0, 1e12), st.floats(0.01, 2.0), st.floats(0.1, 5.0))
def test_a_probe_is_no_longer_than_a_batch_and_costs_its_share(
    records: int, least: float, share: float, reach: float
) -> None:
    longest = math.ceil(0.5 * records)
    many = probe.length(records, longest, share, reach, least)
    assert 1 <= many <= longest
    assert many >= min(least, longest) - 1e-6 * longest
    assert many * probe.reach_of(records, many, share) ** 2 == pytest.approx(share * records)
    if many < longest:
        assert probe.reach_of(records, many, share) <= reach * (1.0 + 1e-9)


def test_confounded_prices_ask_for_a_probe_every_other_time() -> None:
    theta = np.array([0.1, 0.0, 0.95])
    u, v = by_name("intercept", 1).parts(np.zeros(1))
    best = float(clairvoyant_price(0, 4.0, float(theta @ u), float(theta @ v)))
    assert 0.3 < best < 0.7
    inverse = after_one_price("intercept", 1, best)
    end, out = begun("intercept", theta, inverse)
    assert end == 10_000 + PROBE * 10_000 / REACH**2
    assert abs(out @ v) == pytest.approx(REACH * math.sqrt(v @ inverse @ v), rel=0.05)
    np.testing.assert_allclose(begun("intercept", theta, inverse, batches=7)[1] @ v, -out @ v, rtol=0.05)
    for unasked in (begun("intercept", theta, inverse, batches=4), begun("intercept", theta, inverse, share=0.0)):
        assert unasked[0] == 15_000
        assert not np.any(unasked[1])


def test_a_cost_moves_the_price_at_which_a_probe_is_asked_for() -> None:
    theta, cost = np.array([0.1, 0.0, 0.95]), 0.4
    u, v = by_name("intercept", 1).parts(np.zeros(1))
    a, b = float(theta @ u), float(theta @ v)
    best = cost + (1.0 - cost) * float(clairvoyant_price(0, 4.0, a + b * cost, b * (1.0 - cost)))
    inverse = after_one_price("intercept", 1, best)
    assert begun("intercept", theta, inverse, cost=cost)[0] < 15_000
    assert begun("intercept", theta, inverse)[0] == 15_000


def test_a_probe_is_on_if_any_entry_of_its_tilt_is() -> None:
    assert not probe.is_on(np.zeros(3))
    assert all(probe.is_on(row) for row in -np.eye(3))


def test_everybody_at_one_asks_for_a_probe_that_leads_inwards_and_for_no_other() -> None:
    """Demand is known at price 1 and nowhere else: what was seen to last for a million customers."""
    inverse = after_one_price("intercept", 1, 1.0)
    theta = np.array([-0.3, 0.0, 0.2])
    ends = [begun("intercept", theta, inverse, batches=batches)[0] for batches in (5, 7, 9, 11)]
    assert sorted(set(ends)) == [10_000 + PROBE * 10_000 / REACH**2, 15_000]
    assert ends[:2] == ends[2:]


def test_the_map_without_intercept_asks_for_none() -> None:
    """There demand at price 0 is known from the map, so every price is far from where it is known best."""
    for price in (0.5, 0.8, 1.0):
        inverse = after_one_price("main", 1, price)
        for batches in (1, 3, 5, 7):
            end, out = begun("main", np.array([0.1, 0.7]), inverse, batches=batches)
            assert end == 15_000
            assert not np.any(out)


def test_a_batch_moved_as_a_whole_outweighs_noise_that_drowns_dispersion() -> None:
    """Why probes are batches: the slope's precision after 1,000 records at h = 0.05 either side, or all at one side."""
    chosen = by_name("intercept", 0)
    u, v = chosen.parts(np.zeros(0))
    before = np.linalg.inv(after_one_price("intercept", 0, 0.5))
    d, noise, sampling = 2, 8.0**2, 0.5

    def slopes_variance(prices: tuple[float, ...]) -> float:
        curvature = sum(0.7 * 1000 / len(prices) * np.outer(u + p * v, u + p * v) for p in prices)
        packed, gained = np.asarray(curvature)[np.triu_indices(d)], np.empty((d, d))
        belief.gain(packed, 1.0, 0.0, noise, sampling, 0.0, 0.0, before, gained, np.empty((2 * d + 1, d)))
        return float(v @ np.linalg.inv(before + gained) @ v)

    now = slopes_variance((0.5,))
    assert slopes_variance((0.45, 0.55)) > 0.98 * now
    assert slopes_variance((0.55,)) < 0.85 * now
