"""Every context stream against what its name promises.

Statistical tests have fixed seeds. A right stream fails one of them with probability 1e-3 (once, when the seed is
chosen); a wrong one must fail by p < 1e-9.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from hushprice.demand.families import Logistic
from hushprice.demand.features import main_effects
from hushprice.numerics import tape
from hushprice.simulation import contexts
from hushprice.simulation.market import Market

CALM, ALARM = 1e-3, 1e-9
SIZE = 50_000
SEED = 5
K = 3
Array = NDArray[np.float64]


def market(kind: str, k: int = K, **fields: Any) -> Market:
    if kind == "file":
        fields.setdefault("rows", np.linspace(-1.0, 1.0, 7 * k).reshape(7, k))
    return Market(demand=Logistic(), features=main_effects(k), theta=np.zeros(k + 1), contexts=kind, **fields)


def arrivals(chosen: Market, horizon: int, seed: int = SEED, trial: int = 0, pieces: int | None = None) -> Array:
    """(horizon, k): who arrives, filled `pieces` periods at a time."""
    stream = chosen.stream(horizon)
    pieces = pieces or horizon
    out = np.empty((horizon, stream.size))
    for start in range(1, horizon + 1, pieces):
        count = min(pieces, horizon - start + 1)
        room = np.full((stream.size, pieces), np.nan)
        contexts.fill(stream, seed, trial, start, count, room)
        out[start - 1 : start - 1 + count] = room[:, :count].T
    return out


def lit(rows: Array) -> NDArray[np.int64]:
    """Which entry is on in each period."""
    assert np.all((rows != 0.0).sum(axis=1) == 1)
    return np.argmax(rows != 0.0, axis=1)


@pytest.mark.parametrize("kind", contexts.KINDS)
@pytest.mark.parametrize("k", [0, 1, 2, 5])
def test_every_kind_stays_in_the_cube(kind: str, k: int) -> None:
    rows = arrivals(market(kind, k), 1000)
    assert rows.shape == (1000, k)
    assert np.all(np.abs(rows) <= 1.0)


@pytest.mark.parametrize("kind", contexts.KINDS)
def test_a_context_does_not_depend_on_how_periods_are_cut_into_pieces(kind: str) -> None:
    chosen = market(kind)
    whole = arrivals(chosen, 203)
    for pieces in (1, 7, 64):
        np.testing.assert_array_equal(arrivals(chosen, 203, pieces=pieces), whole)


@pytest.mark.parametrize("kind", ["uniform", "gaussian", "segments", "sorted", "blocks", "late"])
def test_seed_and_trial_each_change_who_arrives(kind: str) -> None:
    chosen = market(kind)
    rows = arrivals(chosen, 100)
    assert not np.array_equal(arrivals(chosen, 100, trial=1), rows)
    assert not np.array_equal(arrivals(chosen, 100, seed=6), rows)


@pytest.mark.parametrize("kind", ["uniform", "gaussian", "segments", "corners", "file"])
def test_a_longer_horizon_keeps_the_first_arrivals(kind: str) -> None:
    chosen = market(kind)
    np.testing.assert_array_equal(arrivals(chosen, 500)[:100], arrivals(chosen, 100))


def test_uniform_contexts_fill_the_cube_evenly_and_independently() -> None:
    rows = arrivals(market("uniform"), SIZE)
    for entry in rows.T:
        assert stats.kstest(entry, stats.uniform(-1.0, 2.0).cdf).pvalue > CALM
        assert stats.kstest(entry, stats.uniform(-0.95, 1.9).cdf).pvalue < ALARM
        assert stats.pearsonr(entry[1:], entry[:-1]).pvalue > CALM
    for one, other in itertools.combinations(rows.T, 2):
        assert stats.pearsonr(one, other).pvalue > CALM


def test_gaussian_contexts_are_clipped_normals_of_deviation_one_half() -> None:
    rows = arrivals(market("gaussian", correlation=0.4), SIZE)
    for entry in rows.T:
        at_the_edge = int((np.abs(entry) == 1.0).sum())
        assert stats.binomtest(at_the_edge, SIZE, 2 * stats.norm.sf(2.0)).pvalue > CALM
        inside = entry[np.abs(entry) < 1.0]
        assert stats.kstest(inside, stats.truncnorm(-2.0, 2.0, scale=0.5).cdf).pvalue > CALM
        assert stats.kstest(inside, stats.truncnorm(-1.8, 1.8, scale=1 / 1.8).cdf).pvalue < ALARM


@pytest.mark.parametrize("correlation", [-0.3, 0.0, 0.6])
def test_gaussian_entries_have_the_correlation_asked_for(correlation: float) -> None:
    # Two centred normals agree in sign with probability 1/2 + arcsin(r)/pi, and clipping changes no sign.
    rows = arrivals(market("gaussian", correlation=correlation), SIZE)
    for one, other in itertools.combinations(np.sign(rows).T, 2):
        agree = int((one == other).sum())
        assert stats.binomtest(agree, SIZE, 0.5 + math.asin(correlation) / math.pi).pvalue > CALM
        assert stats.binomtest(agree, SIZE, 0.5 + math.asin(correlation + 0.15) / math.pi).pvalue < ALARM


def test_segments_come_with_their_shares_and_nothing_else_comes() -> None:
    weights = (0.5, 0.3, 0.15, 0.05)
    points = [[1.0, -1.0, 0.0], [0.5, 0.5, 0.5], [-1.0, 0.0, 0.25], [0.0, 0.0, 1.0]]
    rows = arrivals(market("segments", weights=weights, points=points), SIZE)
    matches = (rows[:, None, :] == np.array(points)).all(axis=2)
    assert np.all(matches.sum(axis=1) == 1)
    counts = matches.sum(axis=0)
    assert stats.chisquare(counts, SIZE * np.array(weights)).pvalue > CALM
    assert stats.chisquare(counts, SIZE * np.array([0.47, 0.33, 0.15, 0.05])).pvalue < ALARM


@pytest.mark.parametrize("k", [1, 3, 25])
def test_default_segments_are_distinct_profiles_spread_over_both_sides(k: int) -> None:
    profiles = np.unique(arrivals(market("segments", k), 500), axis=0)
    assert profiles.shape == (4, k)
    assert profiles.min() < 0.0 < profiles.max()


def test_sorted_contexts_sweep_the_cube_once_in_alternating_directions() -> None:
    horizon = 400
    rows = arrivals(market("sorted"), horizon)
    sweeps = np.diff(rows * np.array([1.0, -1.0, 1.0]), axis=0)
    assert np.all(sweeps > 0.0)
    middle = 2.0 * (np.arange(horizon) + 0.5) / horizon - 1.0  # of the slice of the cube each period owns
    assert np.all(np.abs(rows * np.array([1.0, -1.0, 1.0]) - middle[:, None]) <= 1.0 / horizon)


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_corners_cycle_through_every_corner(k: int) -> None:
    rows = arrivals(market("corners", k), 3 * 2**k)
    corners = {tuple(corner) for corner in itertools.product((-1.0, 1.0), repeat=k)}
    assert {tuple(row) for row in rows[: 2**k]} == corners
    np.testing.assert_array_equal(rows, np.tile(rows[: 2**k], (3, 1)))


@pytest.mark.parametrize(("k", "horizon"), [(1, 10), (2, 1000), (4, 1000), (5, 35)])
def test_blocks_open_one_new_entry_in_each_equal_stretch(k: int, horizon: int) -> None:
    rows = arrivals(market("blocks", k), horizon)
    np.testing.assert_array_equal(lit(rows), np.repeat(np.arange(k), horizon // k))


@pytest.mark.parametrize("horizon", [5, 64, 65, 1000, 1024, 1025])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_late_opens_a_new_entry_right_after_each_of_the_last_doublings(k: int, horizon: int) -> None:
    on = lit(arrivals(market("late", k), horizon))
    doublings = [2**e for e in range(horizon.bit_length()) if 2**e < horizon]
    opened = np.flatnonzero(np.diff(on)) + 2  # the period whose entry differs from the period before
    assert on[0] == 0
    assert on[-1] == k - 1
    assert opened.tolist() == [each + 1 for each in doublings[len(doublings) - k + 1 :]]


@pytest.mark.parametrize("kind", ["blocks", "late"])
def test_a_lit_entry_is_uniform(kind: str) -> None:
    values = arrivals(market(kind), SIZE).sum(axis=1)
    assert stats.kstest(values, stats.uniform(-1.0, 2.0).cdf).pvalue > CALM
    assert stats.kstest(values, stats.uniform(-0.95, 1.9).cdf).pvalue < ALARM


def test_file_rows_come_in_order_and_start_again_from_the_top() -> None:
    table = np.random.default_rng(1).uniform(-1.0, 1.0, (7, K))
    rows = arrivals(market("file", rows=table), 20)
    np.testing.assert_array_equal(rows, np.tile(table, (3, 1))[:20])


def test_input_noise_is_laplace_of_the_given_scale_and_is_not_clipped() -> None:
    clean = arrivals(market("uniform"), SIZE).T.copy()
    seen = np.empty_like(clean)
    contexts.perturb(clean, 3.0, SEED, 0, 1, SIZE, seen)
    for noise in seen - clean:
        assert stats.kstest(noise, stats.laplace(scale=3.0).cdf).pvalue > CALM
        assert stats.kstest(noise, stats.laplace(scale=3.3).cdf).pvalue < ALARM
    assert stats.pearsonr((seen - clean)[0], clean[0]).pvalue > CALM
    assert stats.pearsonr((seen - clean)[0], (seen - clean)[1]).pvalue > CALM
    assert np.abs(seen).max() > 20.0


def test_input_noise_does_not_depend_on_how_periods_are_cut_into_pieces() -> None:
    clean = np.zeros((2, 30))
    whole, one = np.empty((2, 30)), np.empty((2, 1))
    contexts.perturb(clean, 1.0, SEED, 4, 1, 30, whole)
    for period in range(1, 31):
        contexts.perturb(clean[:, :1].copy(), 1.0, SEED, 4, period, 1, one)
        np.testing.assert_array_equal(one[:, 0], whole[:, period - 1])


@pytest.mark.parametrize("k", [1, 3, 4, 6])
def test_gaussian_contexts_are_the_factor_times_the_tape_digit_for_digit(k: int) -> None:
    count, factor = 40, market("gaussian", k, correlation=0.3).stream(40).table
    raw = np.empty((4 * ((k + 3) // 4), count))
    tape.fill_normals(SEED, 0, tape.CONTEXTS, 1, count, raw.shape[0], raw)
    expected = np.empty((count, k))
    for i, j in itertools.product(range(count), range(k)):
        total = 0.0
        for m in range(j + 1):
            total += factor[j, m] * raw[m, i]
        expected[i, j] = min(max(0.5 * total, -1.0), 1.0)
    assert arrivals(market("gaussian", k, correlation=0.3), count).tolist() == expected.tolist()
