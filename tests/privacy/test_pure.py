"""Losses that never pass a number (docs/proofs/pure.md): Laplace sums, bits, directions, and what they add to."""

from __future__ import annotations

import math
from typing import Any

import pytest

from hushprice.errors import InvalidInput
from hushprice.privacy import accountant
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import BitReports, DirectionReports, GaussianSums, LaplaceSums, NotPrivate, grid_of
from hushprice.privacy.ledger import Entry, Ledger
from hushprice.privacy.loss import Loss, compose, loss_of

BOTH = pytest.mark.parametrize("adjacency", list(Adjacency))


@BOTH
def test_a_sum_costs_one_over_its_scale_in_every_level(adjacency: Adjacency) -> None:
    event = LaplaceSums(levels=5, scale=20.0)
    assert loss_of(event, 3, adjacency).pure == pytest.approx(3 * 5 / 20.0, rel=1e-9)
    assert loss_of(event, 1, adjacency).pure >= 5 / 20.0  # errors fall on the private side


@BOTH
@pytest.mark.parametrize("event", [BitReports(keep=0.8), DirectionReports(dimension=3, keep=0.8)])
def test_a_report_costs_the_log_of_its_odds(event: Any, adjacency: Adjacency) -> None:
    assert loss_of(event, 1, adjacency).pure == pytest.approx(math.log(4.0), rel=1e-9)
    assert loss_of(event, 1, adjacency).pure >= math.log(4.0)


def test_gaussian_sums_cost_their_distance_over_their_noise_in_every_round() -> None:
    event = GaussianSums(rounds=9, noise=6.0, apart=1.5)
    assert loss_of(event, 1, Adjacency.REPLACE_ONE).mu == pytest.approx(3.0 * 1.5 / 6.0, rel=1e-9)
    assert loss_of(event, 4, Adjacency.ZERO_OUT).mu == pytest.approx(2.0 * 3.0 / 6.0, rel=1e-9)
    for bad in (0.9, 2.1, math.nan):
        with pytest.raises(InvalidInput, match="apart"):
            GaussianSums(rounds=1, noise=1.0, apart=bad)


@BOTH
def test_live_sums_pay_for_cutting_rounding_and_every_number_on_a_grid(adjacency: Adjacency) -> None:
    """Two cuts of 2^-40 and one grid step apart in two worlds, at most; charged are eight and two."""
    scale = 20.0
    rounded = (2.0 * grid_of(scale) + 2.0**-37) / scale
    real, live = (loss_of(LaplaceSums(levels=7, scale=scale, live=each), 3, adjacency).pure for each in (False, True))
    assert live - real == pytest.approx(3 * 7 * rounded, rel=1e-5)
    assert loss_of(LaplaceSums(levels=7, scale=scale, live=True), 3, adjacency).coordinates == 0
    given = {"rounds": 9, "noise": 6.0, "entries": 14}
    ideal, drawn = (loss_of(GaussianSums(**given, live=each), 1, adjacency) for each in (False, True))  # type: ignore[arg-type]
    moved = [math.sqrt(each.mu_squared / 9) * 6.0 for each in (ideal, drawn)]
    assert moved[1] - moved[0] == pytest.approx((2.0 * grid_of(6.0) + 2.0**-37) * math.sqrt(14.0), rel=1e-5)
    assert (ideal.coordinates, drawn.coordinates) == (0, 9 * 14)
    assert loss_of(GaussianSums(**given, live=True), 2, adjacency).coordinates == 2 * 9 * 14  # type: ignore[arg-type]


def test_a_pure_loss_adds_to_the_epsilon_of_the_rest_and_needs_no_delta() -> None:
    gaussian = Loss(mu_squared=0.3)
    both = compose([gaussian, Loss(pure=0.5), Loss(pure=0.25)])
    assert accountant.epsilon_of(both, 1e-6) == pytest.approx(0.75 + accountant.epsilon_of(gaussian, 1e-6))
    assert accountant.epsilon_of(Loss(pure=0.5), 0.0) == 0.5
    assert accountant.epsilon_of(Loss(pure=0.5), 1e-6) == 0.5
    assert accountant.epsilon_of(compose([Loss(pure=0.5), Loss(unbounded=True)]), 1e-6) == math.inf
    with pytest.raises(InvalidInput, match="delta"):
        accountant.epsilon_of(both, 0.0)
    with pytest.raises(InvalidInput, match="delta"):
        accountant.epsilon_of(Loss(), 0.0)


def test_a_moment_of_a_pure_loss_is_its_exponential_and_a_filter_counts_it() -> None:
    assert accountant.log_moment(Loss(pure=0.5), 3.0) == pytest.approx(1.5)
    assert accountant.fits(Loss(pure=0.1), 1.0, 1e-6)
    assert not accountant.fits(Loss(pure=1.1), 1.0, 1e-6)


def test_a_ledger_covers_pure_releases_at_delta_0() -> None:
    event = LaplaceSums(levels=1, scale=2.0)
    ledger = Ledger(adjacency=Adjacency.REPLACE_ONE, claimed=EpsilonDelta(0.6, 0.0), allowance=(Entry(event, 1),))
    assert ledger.proven is not None
    assert ledger.proven.epsilon == pytest.approx(0.5)
    with pytest.raises(InvalidInput, match="claimed must cover the allowance"):
        Ledger(adjacency=Adjacency.REPLACE_ONE, claimed=EpsilonDelta(0.4, 0.0), allowance=(Entry(event, 1),))
    with pytest.raises(InvalidInput):
        Ledger(adjacency=Adjacency.REPLACE_ONE, claimed=EpsilonDelta(0.6, 0.0), allowance=(Entry(NotPrivate(), 1),))


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, None])
def test_half_described_events_are_refused(bad: Any) -> None:
    with pytest.raises(InvalidInput, match="scale"):
        LaplaceSums(levels=1, scale=bad)
    with pytest.raises(InvalidInput, match="levels"):
        LaplaceSums(levels=bad, scale=1.0)
    with pytest.raises(InvalidInput, match="keep"):
        BitReports(keep=bad)
    with pytest.raises(InvalidInput, match="keep"):
        DirectionReports(dimension=2, keep=bad)
    with pytest.raises(InvalidInput, match="dimension"):
        DirectionReports(dimension=bad, keep=0.7)


@pytest.mark.parametrize("keep", [0.4, 1.0])
def test_a_coin_that_turns_over_more_often_than_not_or_never_is_refused(keep: float) -> None:
    with pytest.raises(InvalidInput, match="keep"):
        BitReports(keep=keep)
