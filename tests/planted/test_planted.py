"""Every planted bug is caught by its check, and the same check passes the sound code."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tests.planted import batch_bugs as batch
from tests.planted import batch_checks as batches
from tests.planted import (
    coin_bugs,
    coin_checks,
    fit_bugs,
    fit_checks,
    link_bugs,
    link_checks,
    note_bugs,
    note_checks,
    prior_bugs,
    prior_checks,
    service_bugs,
    service_checks,
    trust_bugs,
    trust_checks,
)
from tests.planted import count_bugs as count
from tests.planted import count_checks as counts
from tests.planted import customer_bugs as customer
from tests.planted import engine_checks as engine
from tests.planted import limit_bugs as limit
from tests.planted import log_bugs as log
from tests.planted import log_checks as logs
from tests.planted import moment_bugs as moment
from tests.planted import moment_checks as moments
from tests.planted import noise_bugs as noise
from tests.planted import pair_bugs as pair
from tests.planted import record_bugs as record
from tests.planted import release_checks as release
from tests.planted import watcher_checks as watcher
from tests.planted import world_checks as world
from tests.planted.planting import Bug

PLANTED: dict[Callable[[], None], dict[str, Bug]] = {  # check: what it must catch, by name
    trust_checks.devices_say_one_bit: {
        "trust: bits turned half as often": trust_bugs.turned_half_as_often,
        "trust: prices turned half as often": trust_bugs.price_turned_half_as_often,
    },
    trust_checks.shuffled_bits_hide: {
        "trust: a shuffler that adds no bits": trust_bugs.no_fair_bits,
        "trust: bits taken to hide among more": trust_bugs.hidden_among_more,
    },
    trust_checks.one_aggregator_learns_nothing: {
        "trust: shares not drawn": trust_bugs.shares_not_drawn,
        "trust: demand that is not held": trust_bugs.demand_not_held,
        "trust: noise split between two": trust_bugs.noise_halved,
    },
    trust_checks.bits_are_kept_no_more_often_than_claimed: {
        "trust: bits kept by the nearest float": trust_bugs.bits_kept_by_the_nearest_float,
    },
    trust_checks.every_customers_device_answers: {"trust: any numbers are taken": trust_bugs.any_numbers_are_taken},
    trust_checks.a_quote_gets_one_bit: {"trust: bits drawn again when asked again": trust_bugs.bits_drawn_again},
    trust_checks.aggregators_add_what_their_noise_was_bought_for: {
        "trust: shares of wider numbers are taken": trust_bugs.other_bounds_are_taken,
    },
    trust_checks.each_aggregator_adds_all_of_the_noise: {
        "trust: noise left to the other": trust_bugs.noise_left_to_the_other,
    },
    prior_checks.budgets_add_up: {
        "the budget of a fit forgotten": prior_bugs.fit_forgotten,
        "a fit counted as costing nothing": prior_bugs.fit_costs_nothing,
    },
    release.ideal_toeplitz_stream: {
        "sigma halved": noise.sigma_halved,
        "Toeplitz column norm taken of B": noise.column_norm_of_b,
        "off-diagonal noise at the wrong scale": noise.off_diagonal_noise_halved,
        "a record summed twice": record.summed_twice,
    },
    release.live_noise_has_its_scale: {"sigma halved in the live sampler": noise.live_sigma_halved},
    release.live_toeplitz_stream: {
        "sigma halved in the live stream": noise.live_stream_asks_for_half,
        "live noise reused": noise.live_noise_reused,
    },
    release.estimate_by_density: {
        "sigma halved in the estimate": noise.tilt_halved,
        "sensitivity of the gradient halved": noise.difference_halved,
        "output noise skipped": noise.output_noise_skipped,
        "solver stopped early": record.solver_stopped_early,
        "ridge too small": record.ridge_halved,
        "a record counted twice": record.counted_twice,
        "demand clipped at the wrong bound": record.demand_clipped_at_twice_the_bound,
    },
    release.ideal_tree_stream: {
        "sensitivity 1 instead of sqrt(2)": noise.sensitivity_one,
        "node noise reused": noise.node_noise_reused,
        "clip skipped": record.clip_skipped,
        "clipping per batch, seen by the stream": record.clipped_by_batch,
    },
    release.determinant_by_density: {"determinant left out of the estimate's loss": noise.determinant_forgotten},
    release.zero_out_stream: {"one tree level missed in the count": noise.level_missed},
    release.live_tree_stream: {"off-diagonal entries times 2 in the live stream": noise.off_diagonal_doubled},
    engine.restarts_change_nothing: {
        "noise redrawn on restart": noise.redrawn_on_restart,
        "spending forgotten in the file": record.spending_forgotten,
    },
    release.one_draw_a_record: {"noise redrawn when Lambda comes out indefinite": noise.redrawn_when_indefinite},
    release.streams_share_no_draw: {"two streams of noise share their draws": noise.streams_shared},
    release.live_noise_never_repeats: {"an 8-bit seed": noise.eight_bit_seed},
    release.live_noise_ignores_its_address: {"tilt drawn from the tape in live use": noise.tilt_from_the_tape},
    release.live_estimate_on_its_grid: {"a released float off its grid": noise.off_its_grid},
    release.live_stream_on_its_grid: {"a released covariance off its grid": noise.stream_off_its_grid},
    engine.each_slot_is_learned_once: {"late outcome learned twice": record.late_outcome_learned_twice},
    engine.silence_is_an_outcome: {"silent customers skipped": record.silence_skipped},
    release.clipped_one_by_one: {"clipping per batch instead of per record": record.clipped_by_batch},
    engine.prices_follow_releases: {
        "price leaked from a raw record": record.price_leaked,
        "refresh triggered by the raw covariance": record.raw_trigger,
    },
    engine.every_release_is_counted: {"ledger multiplying by 1": noise.multiplied_by_one},
    engine.the_ledger_covers_what_the_stream_reveals: {"adjacency swapped": noise.adjacency_swapped},
    engine.no_estimate_past_the_cap: {"a release past the cap": record.past_the_cap},
    engine.paid_before_drawn: {"charged after the draw": record.charged_after_the_draw},
    engine.unpaid_releases_are_refused: {"unpaid release accepted": record.unpaid_accepted},
    release.no_record_past_the_horizon: {
        "horizon exceeded": record.horizon_exceeded,
        "noise drawn past the horizon": record.drawn_past_the_horizon,
    },
    engine.refusals_quote_no_record: {"a refusal that quotes the record": record.refusal_tells},
    customer.a_loss_that_may_fail_is_refused: {"a customer's loss that may fail": customer.failures_forgotten},
    customer.customers_are_covered: {
        "a customer's records counted as one": customer.records_counted_as_one,
        "a customer's records counted by their root": customer.records_counted_by_their_root,
    },
    batches.scores_keep_to_their_share: {
        "sensitivity C of a score": batch.score_counted_as_zeroed_out,
        "a record in two score releases": batch.score_in_two_releases,
        "a record in three score releases": batch.score_in_three_releases,
        "a score of a demand that was not clipped": batch.demand_not_clipped,
        "score noise reused between batches": batch.score_noise_reused,
    },
    pair.every_pair_is_paid_for: {
        "worst pair taken as parallel": pair.worst_pair_taken_as_parallel,
        "worst pair taken as oblique": pair.worst_pair_taken_as_oblique,
    },
    batches.curvatures_keep_to_their_share: {
        "a record in two batches of curvature": batch.curvature_kept_over_a_batch,
        "a curvature without a cap": batch.cap_left_out,
        "a batch's noise without its column": batch.column_left_out,
    },
    batches.no_curvature_tells_what_was_bought: {"a weight that reads y": batch.weight_reads_demand},
    batches.batches_cut_by_releases_keep_to_their_share: {
        "a weight made for the nearer bound": batch.weight_of_the_nearer_bound,
        "curvature noise reused between blocks": batch.noise_reused_between_blocks,
    },
    batches.batches_end_where_releases_say: {"batches that end by exact sums": batch.ends_read_exact_sums},
    batches.probes_begin_where_releases_say: {"probes that read exact sums": batch.probes_read_exact_sums},
    service_checks.releases_wait_for_the_last_deadline: {
        "a product that is looked at once its outcomes are in": service_bugs.products_looked_at_when_outcomes_are_in,
        "a release as soon as all outcomes are in": service_bugs.release_when_outcomes_are_in,
    },
    service_checks.late_purchases_change_nothing: {
        "a late purchase that revises its slot": service_bugs.late_purchase_revises,
    },
    service_checks.restarts_draw_nothing_again: {
        "a batch drawn again after a restart": service_bugs.redrawn_after_restart,
    },
    coin_checks.coins_and_holdouts_are_not_the_records: {
        "a coin that a purchase turns": coin_bugs.coin_of_the_purchase,
        "buyers counted as the holdout": coin_bugs.holdout_of_the_purchase,
    },
    coin_checks.coins_are_not_the_clocks: {"a coin that the clock turns": coin_bugs.coin_of_the_clock},
    coin_checks.batches_end_by_slots_alone: {
        "slots without a record left out of their batch": coin_bugs.unreadable_slots_left_out,
    },
    coin_checks.a_restart_keeps_what_was_drawn: {
        "moments forgotten on restart": coin_bugs.release_forgotten_on_restart,
    },
    service_checks.over_cap_quotes_contribute_nothing: {
        "over-cap quotes counted by the store": service_bugs.over_cap_counted_by_the_store,
        "over-cap quotes counted by the learner": service_bugs.over_cap_counted_by_the_learner,
    },
    service_checks.retention_gives_no_second_cap: {
        "retention that forgets caps": service_bugs.retention_that_forgets_caps,
    },
    service_checks.charged_slots_are_not_learned_again: {
        "a restored backup taken for the truth": service_bugs.backup_taken_for_the_truth,
    },
    note_checks.lost_notes_are_noticed: {
        "a lost note taken for none yet": note_bugs.lost_note_taken_for_none_yet,
        "a quoter's note taken for a learner's": note_bugs.quoters_note_taken_for_a_learners,
    },
    note_checks.copies_are_noticed: {"a copy taken for the store": note_bugs.copy_taken_for_the_store},
    service_checks.colliding_numbers_are_charged: {
        "releases told apart by their numbers alone": service_bugs.releases_told_apart_by_number,
    },
    service_checks.releases_are_noted_before_they_are_shown: {
        "a certificate shown before releases are noted": service_bugs.certified_without_a_note,
        "a release shown before it is noted": service_bugs.shown_without_a_note,
    },
    service_checks.a_record_pays_for_overlapping_histories: {
        "a restore told too late taken for one in time": service_bugs.overlap_taken_for_a_restore_told_in_time,
        "overlapping histories free for records": service_bugs.overlaps_free_for_records,
    },
    service_checks.a_customer_pays_for_restored_backups: {
        "restored backups free for customers": service_bugs.restored_backups_free_for_customers,
    },
    world.everybody_sees_the_same_in_both_worlds: {
        "purchases in the metrics": world.purchases_in_the_metrics,
        "purchases in the log": world.purchases_in_the_log,
    },
    watcher.releases_keep_to_what_is_proven: {
        "noise a fifth too small": watcher.score_and_curvature_noise_a_fifth_smaller,
        "sensitivity a fifth too small": watcher.score_sensitivity_a_fifth_smaller,
        "a record added twice": watcher.record_added_twice,
        "a record in the next batch too": watcher.record_in_the_next_batch_too,
        "curvature not charged": watcher.curvature_not_charged,
    },
    watcher.live_releases_keep_to_what_is_proven: {
        "live noise a fifth too small": watcher.live_noise_a_fifth_smaller,
        "a record added twice, live": watcher.live_record_added_twice,
    },
    watcher.covariances_keep_to_what_is_proven: {
        "the stream's noise a fifth too small": watcher.stream_noise_a_fifth_smaller,
        "late covariances without noise": watcher.late_covariances_without_noise,
    },
    watcher.estimates_keep_to_what_is_proven: {
        "the estimate's noise a fifth too small": watcher.estimate_noise_a_fifth_smaller,
    },
    limit.purchases_take_no_quotes_token: {
        "an outcome that takes a quote's token": limit.outcome_takes_a_quotes_token,
    },
    limit.reports_take_no_quotes_token: {"a report that takes a quote's token": limit.report_takes_a_quotes_token},
    limit.purchases_take_no_other_outcomes_token: {
        "an outcome that takes another outcome's token": limit.outcome_takes_anothers_token,
    },
    limit.purchases_are_not_in_the_queue_of_quotes: {
        "outcomes in the queue of quotes": limit.outcomes_lengthen_the_queue,
    },
    limit.failed_outcomes_are_no_outage: {
        "a failed outcome that is taken for an outage": limit.outcome_says_the_store_is_away,
    },
    link_checks.purchases_take_no_place_of_a_quote: {
        "outcomes and quotes counted together": link_bugs.outcomes_counted_with_quotes,
    },
    link_checks.learners_at_odds_about_the_time_release_once: {
        "the last of two learners wins": link_bugs.last_learner_wins,
    },
    link_checks.a_learner_that_dies_again_and_again_stays_down: {
        "a learner that dies started for ever": link_bugs.restarted_for_ever,
    },
    logs.log_sums_keep_to_what_is_charged: {
        "logs: sensitivity of one row": log.sensitivity_of_one_row,
        "logs: a person replaced counted as zeroed out": log.replaced_counted_as_zeroed_out,
        "logs: a person's rows not bounded": log.rows_not_bounded,
        "logs: numbers below nought let in": log.numbers_below_nought,
        "logs: a row that is not held": log.length_not_held,
    },
    logs.a_sum_is_paid_for_once: {"logs: a sum released unpaid": log.released_unpaid},
    logs.a_row_adds_the_same_whoever_comes_with_it: {
        "logs: rows multiplied together": log.rows_multiplied_together,
    },
    moments.sums_keep_to_what_is_charged: {
        "moments: noise without sensitivity": moment.noise_without_sensitivity,
        "moments: sensitivity of one record": moment.sensitivity_of_one_record,
        "moments: a context held to a round ball": moment.context_held_to_a_round_ball,
        "moments: attributes published of a common batch": moment.attributes_of_a_common_batch,
        "moments: a side that reads the customer": moment.side_by_the_customer,
        "moments: a residual that is not held": moment.residual_not_held,
        "moments: a context that is not held": moment.context_not_held,
        "moments: a description not scaled": moment.description_not_scaled,
        "moments: a holdout that reads demand": moment.holdout_by_demand,
        "moments: a score of the holdout": moment.holdout_scored,
        "moments: a record added twice": moment.record_added_twice,
        "moments: a batch never emptied": moment.batch_never_emptied,
        "moments: noise drawn once for all batches": moment.noise_drawn_once,
        "moments: earnings not charged": moment.earnings_not_charged,
    },
    moments.sides_move_by_no_more_than_is_said: {"moments: two buyers forgotten": moment.two_buyers_forgotten},
    moments.live_sums_keep_to_what_is_charged: {
        "moments: a Laplace scale a fifth too small": moment.scale_a_fifth_too_small,
        "moments: live Laplace noise drawn once for all batches": moment.live_laplace_noise_drawn_once,
        "moments: earnings that are not held": moment.earnings_not_held,
        "moments: a record added twice, live": moment.live_record_added_twice,
        "moments: live noise drawn once for all batches": moment.live_noise_drawn_once,
    },
    moments.bounded_losses_are_charged: {
        "moments: a bounded loss not charged": moment.bounded_loss_not_charged,
        "moments: a bounded loss lost in composition": moment.bounded_loss_lost_in_composition,
        "moments: a customer's bounded loss that of one record": moment.bounded_loss_of_one_record,
    },
    moments.all_earnings_have_the_noise_that_is_charged: {
        "moments: the holdout's scale for all": moment.holdouts_scale_for_all,
    },
    moments.every_batch_has_noise_of_its_own: {
        "moments: noise that ignores its slot": moment.noise_of_the_first_slot,
    },
    moments.moment_releases_keep_to_what_is_proven: {
        "moments: noise a fifth too small": moment.noise_a_fifth_smaller,
        "moments: a record added twice, seen in runs": moment.record_added_twice,
        "moments: noise drawn once, seen in runs": moment.noise_drawn_once,
    },
    moments.what_a_record_adds_it_adds_alone: {
        "moments: rows multiplied together": moment.rows_multiplied_together,
    },
    moments.unreadable_records_keep_their_slots: {
        "moments: an unreadable record without a slot": moment.unreadable_record_without_a_slot,
    },
    service_checks.customers_priced_at_once_never_mix: {
        "scratch shared by customers priced at once": service_bugs.scratch_shared_by_customers,
    },
    fit_checks.fits_keep_to_what_is_charged: {
        "fit: description not held": fit_bugs.description_not_held,
        "fit: instruments not held": fit_bugs.instruments_not_held,
        "fit: description change halved": fit_bugs.description_change_halved,
        "fit: second description grows": fit_bugs.second_description_grows,
        "fit: score not divided": fit_bugs.score_not_divided,
        "fit: a customer's rows summed": fit_bugs.rows_summed_not_averaged,
        "fit: sigma halved": fit_bugs.noise_halved,
        "fit: last score not charged": fit_bugs.last_score_not_charged,
    },
    fit_checks.what_a_row_adds_to_a_fit_it_adds_alone: {
        "fit: rows rounded together": fit_bugs.rows_rounded_together,
    },
    fit_checks.a_row_of_a_long_block_adds_what_it_adds_once: {
        "fit: a row in two pieces": fit_bugs.row_in_two_pieces,
    },
    fit_checks.sums_of_a_fit_are_zero_at_the_truth: {"fit: weights by outcome": fit_bugs.weights_by_outcome},
    fit_checks.an_interrupted_fit_draws_nothing_twice: {
        "fit: releases forgotten": fit_bugs.releases_forgotten,
        "fit: releases not kept": fit_bugs.releases_not_kept,
    },
    fit_checks.one_output_is_for_one_process: {"fit: two processes at once": fit_bugs.two_at_once},
    fit_checks.plans_beyond_the_proof_are_refused: {"fit: any plan is added up": fit_bugs.any_plan_is_added_up},
    fit_checks.a_lock_that_is_gone_is_none: {"fit: a removed lock is held": fit_bugs.a_removed_lock_is_held},
    counts.people_move_counts_by_what_is_charged: {
        "a customer's rows not bounded": count.people_not_bounded,
        "one row of a customer too many": count.one_row_too_many,
        "a row counted twice": count.row_counted_twice,
    },
    counts.a_customer_is_bounded_in_a_log: {
        "a customer's rows not bounded in a log": count.people_not_bounded,
        "one row too many in a log": count.one_row_too_many,
    },
    counts.noisy_counts_have_the_noise_they_are_charged_for: {"noise of counts halved": count.noise_halved},
    counts.rare_texts_are_shown_no_more_often_than_charged: {
        "threshold for texts forgotten": count.threshold_forgotten,
    },
    counts.every_question_is_paid_before_it_is_answered: {"a question not paid for": count.question_not_paid},
    counts.two_rows_apart_are_told_apart_no_better_than_proven: {
        "replaced rows charged as removed": count.replaced_taken_for_zeroed,
    },
    counts.a_text_of_ones_own_is_charged_for: {"texts of one's own not charged": count.failure_forgotten},
}

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
    "sensitivity C of a score",
    "worst pair taken as parallel",
    "a record in two score releases",
    "a record in two batches of curvature",
    "a weight that reads y",
    "a batch's noise without its column",
    "curvature noise reused between blocks",
    "batches that end by exact sums",
    "probes that read exact sums",
    "a product that is looked at once its outcomes are in",
    "a release as soon as all outcomes are in",
    "a late purchase that revises its slot",
    "a batch drawn again after a restart",
    "over-cap quotes counted by the learner",
    "noise a fifth too small",
    "sensitivity a fifth too small",
    "a record added twice",
    "curvature not charged",
    "moments: noise without sensitivity",
    "moments: a residual that is not held",
    "moments: a context that is not held",
    "moments: a description not scaled",
    "moments: a record added twice",
    "moments: a holdout that reads demand",
    "moments: earnings that are not held",
    "moments: noise drawn once for all batches",
}


NAMES = [name for bugs in PLANTED.values() for name in bugs]


def test_the_list_is_complete() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert set(NAMES) >= REQUIRED
    assert len(REQUIRED) == 42


@pytest.fixture(scope="module")
def check(request: pytest.FixtureRequest) -> Iterator[Callable[[], None]]:
    """What must catch the bugs that are planted next; then, all of them gone, sound code must pass it."""
    yield request.param
    request.param()


# By check, so that each meets sound code once, after its last bug: nothing of any stays behind.
@pytest.mark.parametrize(
    ("check", "bug"),
    [pytest.param(check, bug, id=name) for check, bugs in PLANTED.items() for name, bug in bugs.items()],
    indirect=["check"],
    scope="module",
)
def test_the_bug_is_caught_and_sound_code_passes(check: Callable[[], None], bug: Bug) -> None:
    with bug(), pytest.raises(AssertionError):
        check()
