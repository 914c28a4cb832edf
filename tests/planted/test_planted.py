"""Every planted bug is caught by its check, and the same check passes the sound code."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest
from tests.planted import bugs, checks
from tests.planted.bugs import Bug


class Planted(NamedTuple):
    """A bug by name, and the check that must catch it."""

    name: str
    bug: Bug
    check: Callable[[], None]


PLANTED = [
    Planted("sigma halved", bugs.sigma_halved, checks.ideal_toeplitz_stream),
    Planted("sigma halved in the live sampler", bugs.live_sigma_halved, checks.live_noise_has_its_scale),
    Planted("sigma halved in the live stream", bugs.live_stream_asks_for_half, checks.live_toeplitz_stream),
    Planted("sigma halved in the estimate", bugs.tilt_halved, checks.estimate_by_density),
    Planted("sensitivity 1 instead of sqrt(2)", bugs.sensitivity_one, checks.ideal_tree_stream),
    Planted("sensitivity of the gradient halved", bugs.difference_halved, checks.estimate_by_density),
    Planted("determinant left out of the estimate's loss", bugs.determinant_forgotten, checks.determinant_by_density),
    Planted("one tree level missed in the count", bugs.level_missed, checks.zero_out_stream),
    Planted("Toeplitz column norm taken of B", bugs.column_norm_of_b, checks.ideal_toeplitz_stream),
    Planted("off-diagonal noise at the wrong scale", bugs.off_diagonal_noise_halved, checks.ideal_toeplitz_stream),
    Planted("off-diagonal entries times 2 in the live stream", bugs.off_diagonal_doubled, checks.live_tree_stream),
    Planted("node noise reused", bugs.node_noise_reused, checks.ideal_tree_stream),
    Planted("live noise reused", bugs.live_noise_reused, checks.live_toeplitz_stream),
    Planted("noise redrawn on restart", bugs.redrawn_on_restart, checks.restarts_change_nothing),
    Planted("noise redrawn when Lambda comes out indefinite", bugs.redrawn_when_indefinite, checks.one_draw_a_record),
    Planted("output noise skipped", bugs.output_noise_skipped, checks.estimate_by_density),
    Planted("two streams of noise share their draws", bugs.streams_shared, checks.streams_share_no_draw),
    Planted("an 8-bit seed", bugs.eight_bit_seed, checks.live_noise_never_repeats),
    Planted("tilt drawn from the tape in live use", bugs.tilt_from_the_tape, checks.live_noise_ignores_its_address),
    Planted("a released float off its grid", bugs.off_its_grid, checks.live_estimate_on_its_grid),
    Planted("a released covariance off its grid", bugs.stream_off_its_grid, checks.live_stream_on_its_grid),
    Planted("solver stopped early", bugs.solver_stopped_early, checks.estimate_by_density),
    Planted("ridge too small", bugs.ridge_halved, checks.estimate_by_density),
    Planted("a record counted twice", bugs.counted_twice, checks.estimate_by_density),
    Planted("a record summed twice", bugs.summed_twice, checks.ideal_toeplitz_stream),
    Planted("late outcome learned twice", bugs.late_outcome_learned_twice, checks.each_slot_is_learned_once),
    Planted("silent customers skipped", bugs.silence_skipped, checks.silence_is_an_outcome),
    Planted("clip skipped", bugs.clip_skipped, checks.ideal_tree_stream),
    Planted("demand clipped at the wrong bound", bugs.demand_clipped_at_twice_the_bound, checks.estimate_by_density),
    Planted("clipping per batch instead of per record", bugs.clipped_by_batch, checks.clipped_one_by_one),
    Planted("clipping per batch, seen by the stream", bugs.clipped_by_batch, checks.ideal_tree_stream),
    Planted("price leaked from a raw record", bugs.price_leaked, checks.prices_follow_releases),
    Planted("refresh triggered by the raw covariance", bugs.raw_trigger, checks.prices_follow_releases),
    Planted("ledger multiplying by 1", bugs.multiplied_by_one, checks.every_release_is_counted),
    Planted("adjacency swapped", bugs.adjacency_swapped, checks.the_ledger_covers_what_the_stream_reveals),
    Planted("a release past the cap", bugs.past_the_cap, checks.no_estimate_past_the_cap),
    Planted("charged after the draw", bugs.charged_after_the_draw, checks.paid_before_drawn),
    Planted("unpaid release accepted", bugs.unpaid_accepted, checks.unpaid_releases_are_refused),
    Planted("spending forgotten in the file", bugs.spending_forgotten, checks.restarts_change_nothing),
    Planted("horizon exceeded", bugs.horizon_exceeded, checks.no_record_past_the_horizon),
    Planted("noise drawn past the horizon", bugs.drawn_past_the_horizon, checks.no_record_past_the_horizon),
    Planted("a refusal that quotes the record", bugs.refusal_tells, checks.refusals_quote_no_record),
]

REQUIRED = {
    "sigma halved",
    "sensitivity 1 instead of sqrt(2)",
    "one tree level missed in the count",
    "node noise reused",
    "noise redrawn on restart",
    "solver stopped early",
    "a record counted twice",
    "clip skipped",
    "price leaked from a raw record",
    "an 8-bit seed",
    "ledger multiplying by 1",
    "refresh triggered by the raw covariance",
    "noise redrawn when Lambda comes out indefinite",
    "a release past the cap",
    "a released float off its grid",
    "clipping per batch instead of per record",
}


def test_the_list_is_complete() -> None:
    names = [planted.name for planted in PLANTED]
    assert len(set(names)) == len(names)
    assert set(names) >= REQUIRED
    assert len(names) >= len(REQUIRED) == 16


@pytest.mark.parametrize("check", dict.fromkeys(planted.check for planted in PLANTED), ids=lambda check: check.__name__)
def test_sound_code_passes(check: Callable[[], None]) -> None:
    check()


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_the_bug_is_caught(planted: Planted) -> None:
    with planted.bug(), pytest.raises(AssertionError):
        planted.check()
    planted.check()  # and nothing of it stays behind
