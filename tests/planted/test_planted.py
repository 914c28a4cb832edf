"""Every planted bug is caught by its check, and the same check passes the sound code."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

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


class Planted(NamedTuple):
    """A bug by name, and the check that must catch it."""

    name: str
    bug: Bug
    check: Callable[[], None]


PLANTED = [
    Planted("trust: bits turned half as often", trust_bugs.turned_half_as_often, trust_checks.devices_say_one_bit),
    Planted(
        "trust: prices turned half as often", trust_bugs.price_turned_half_as_often, trust_checks.devices_say_one_bit
    ),
    Planted("trust: a shuffler that adds no bits", trust_bugs.no_fair_bits, trust_checks.shuffled_bits_hide),
    Planted("trust: bits taken to hide among more", trust_bugs.hidden_among_more, trust_checks.shuffled_bits_hide),
    Planted("trust: shares not drawn", trust_bugs.shares_not_drawn, trust_checks.one_aggregator_learns_nothing),
    Planted("trust: demand that is not held", trust_bugs.demand_not_held, trust_checks.one_aggregator_learns_nothing),
    Planted(
        "trust: bits kept by the nearest float",
        trust_bugs.bits_kept_by_the_nearest_float,
        trust_checks.bits_are_kept_no_more_often_than_claimed,
    ),
    Planted(
        "trust: any numbers are taken", trust_bugs.any_numbers_are_taken, trust_checks.every_customers_device_answers
    ),
    Planted("trust: bits drawn again when asked again", trust_bugs.bits_drawn_again, trust_checks.a_quote_gets_one_bit),
    Planted(
        "trust: shares of wider numbers are taken",
        trust_bugs.other_bounds_are_taken,
        trust_checks.aggregators_add_what_their_noise_was_bought_for,
    ),
    Planted("trust: noise split between two", trust_bugs.noise_halved, trust_checks.one_aggregator_learns_nothing),
    Planted(
        "trust: noise left to the other",
        trust_bugs.noise_left_to_the_other,
        trust_checks.each_aggregator_adds_all_of_the_noise,
    ),
    Planted("the budget of a fit forgotten", prior_bugs.fit_forgotten, prior_checks.budgets_add_up),
    Planted("a fit counted as costing nothing", prior_bugs.fit_costs_nothing, prior_checks.budgets_add_up),
    Planted("sigma halved", noise.sigma_halved, release.ideal_toeplitz_stream),
    Planted("sigma halved in the live sampler", noise.live_sigma_halved, release.live_noise_has_its_scale),
    Planted("sigma halved in the live stream", noise.live_stream_asks_for_half, release.live_toeplitz_stream),
    Planted("sigma halved in the estimate", noise.tilt_halved, release.estimate_by_density),
    Planted("sensitivity 1 instead of sqrt(2)", noise.sensitivity_one, release.ideal_tree_stream),
    Planted("sensitivity of the gradient halved", noise.difference_halved, release.estimate_by_density),
    Planted("determinant left out of the estimate's loss", noise.determinant_forgotten, release.determinant_by_density),
    Planted("one tree level missed in the count", noise.level_missed, release.zero_out_stream),
    Planted("Toeplitz column norm taken of B", noise.column_norm_of_b, release.ideal_toeplitz_stream),
    Planted("off-diagonal noise at the wrong scale", noise.off_diagonal_noise_halved, release.ideal_toeplitz_stream),
    Planted("off-diagonal entries times 2 in the live stream", noise.off_diagonal_doubled, release.live_tree_stream),
    Planted("node noise reused", noise.node_noise_reused, release.ideal_tree_stream),
    Planted("live noise reused", noise.live_noise_reused, release.live_toeplitz_stream),
    Planted("noise redrawn on restart", noise.redrawn_on_restart, engine.restarts_change_nothing),
    Planted("noise redrawn when Lambda comes out indefinite", noise.redrawn_when_indefinite, release.one_draw_a_record),
    Planted("output noise skipped", noise.output_noise_skipped, release.estimate_by_density),
    Planted("two streams of noise share their draws", noise.streams_shared, release.streams_share_no_draw),
    Planted("an 8-bit seed", noise.eight_bit_seed, release.live_noise_never_repeats),
    Planted("tilt drawn from the tape in live use", noise.tilt_from_the_tape, release.live_noise_ignores_its_address),
    Planted("a released float off its grid", noise.off_its_grid, release.live_estimate_on_its_grid),
    Planted("a released covariance off its grid", noise.stream_off_its_grid, release.live_stream_on_its_grid),
    Planted("solver stopped early", record.solver_stopped_early, release.estimate_by_density),
    Planted("ridge too small", record.ridge_halved, release.estimate_by_density),
    Planted("a record counted twice", record.counted_twice, release.estimate_by_density),
    Planted("a record summed twice", record.summed_twice, release.ideal_toeplitz_stream),
    Planted("late outcome learned twice", record.late_outcome_learned_twice, engine.each_slot_is_learned_once),
    Planted("silent customers skipped", record.silence_skipped, engine.silence_is_an_outcome),
    Planted("clip skipped", record.clip_skipped, release.ideal_tree_stream),
    Planted("demand clipped at the wrong bound", record.demand_clipped_at_twice_the_bound, release.estimate_by_density),
    Planted("clipping per batch instead of per record", record.clipped_by_batch, release.clipped_one_by_one),
    Planted("clipping per batch, seen by the stream", record.clipped_by_batch, release.ideal_tree_stream),
    Planted("price leaked from a raw record", record.price_leaked, engine.prices_follow_releases),
    Planted("refresh triggered by the raw covariance", record.raw_trigger, engine.prices_follow_releases),
    Planted("ledger multiplying by 1", noise.multiplied_by_one, engine.every_release_is_counted),
    Planted("adjacency swapped", noise.adjacency_swapped, engine.the_ledger_covers_what_the_stream_reveals),
    Planted("a release past the cap", record.past_the_cap, engine.no_estimate_past_the_cap),
    Planted("charged after the draw", record.charged_after_the_draw, engine.paid_before_drawn),
    Planted("unpaid release accepted", record.unpaid_accepted, engine.unpaid_releases_are_refused),
    Planted("spending forgotten in the file", record.spending_forgotten, engine.restarts_change_nothing),
    Planted("horizon exceeded", record.horizon_exceeded, release.no_record_past_the_horizon),
    Planted("noise drawn past the horizon", record.drawn_past_the_horizon, release.no_record_past_the_horizon),
    Planted("a refusal that quotes the record", record.refusal_tells, engine.refusals_quote_no_record),
    Planted("a customer's loss that may fail", customer.failures_forgotten, customer.a_loss_that_may_fail_is_refused),
    Planted("a customer's records counted as one", customer.records_counted_as_one, customer.customers_are_covered),
    Planted(
        "a customer's records counted by their root",
        customer.records_counted_by_their_root,
        customer.customers_are_covered,
    ),
    Planted("sensitivity C of a score", batch.score_counted_as_zeroed_out, batches.scores_keep_to_their_share),
    Planted("worst pair taken as parallel", pair.worst_pair_taken_as_parallel, pair.every_pair_is_paid_for),
    Planted("worst pair taken as oblique", pair.worst_pair_taken_as_oblique, pair.every_pair_is_paid_for),
    Planted("a record in two score releases", batch.score_in_two_releases, batches.scores_keep_to_their_share),
    Planted("a record in three score releases", batch.score_in_three_releases, batches.scores_keep_to_their_share),
    Planted(
        "a record in two batches of curvature",
        batch.curvature_kept_over_a_batch,
        batches.curvatures_keep_to_their_share,
    ),
    Planted("a weight that reads y", batch.weight_reads_demand, batches.no_curvature_tells_what_was_bought),
    Planted(
        "a weight made for the nearer bound",
        batch.weight_of_the_nearer_bound,
        batches.batches_cut_by_releases_keep_to_their_share,
    ),
    Planted("a curvature without a cap", batch.cap_left_out, batches.curvatures_keep_to_their_share),
    Planted("a score of a demand that was not clipped", batch.demand_not_clipped, batches.scores_keep_to_their_share),
    Planted("a batch's noise without its column", batch.column_left_out, batches.curvatures_keep_to_their_share),
    Planted(
        "curvature noise reused between blocks",
        batch.noise_reused_between_blocks,
        batches.batches_cut_by_releases_keep_to_their_share,
    ),
    Planted("score noise reused between batches", batch.score_noise_reused, batches.scores_keep_to_their_share),
    Planted("batches that end by exact sums", batch.ends_read_exact_sums, batches.batches_end_where_releases_say),
    Planted("probes that read exact sums", batch.probes_read_exact_sums, batches.probes_begin_where_releases_say),
    Planted(
        "a product that is looked at once its outcomes are in",
        service_bugs.products_looked_at_when_outcomes_are_in,
        service_checks.releases_wait_for_the_last_deadline,
    ),
    Planted(
        "a release as soon as all outcomes are in",
        service_bugs.release_when_outcomes_are_in,
        service_checks.releases_wait_for_the_last_deadline,
    ),
    Planted(
        "a late purchase that revises its slot",
        service_bugs.late_purchase_revises,
        service_checks.late_purchases_change_nothing,
    ),
    Planted(
        "a batch drawn again after a restart",
        service_bugs.redrawn_after_restart,
        service_checks.restarts_draw_nothing_again,
    ),
    Planted(
        "a coin that a purchase turns",
        coin_bugs.coin_of_the_purchase,
        coin_checks.coins_and_holdouts_are_not_the_records,
    ),
    Planted("a coin that the clock turns", coin_bugs.coin_of_the_clock, coin_checks.coins_are_not_the_clocks),
    Planted(
        "buyers counted as the holdout",
        coin_bugs.holdout_of_the_purchase,
        coin_checks.coins_and_holdouts_are_not_the_records,
    ),
    Planted(
        "slots without a record left out of their batch",
        coin_bugs.unreadable_slots_left_out,
        coin_checks.batches_end_by_slots_alone,
    ),
    Planted(
        "moments forgotten on restart",
        coin_bugs.release_forgotten_on_restart,
        coin_checks.a_restart_keeps_what_was_drawn,
    ),
    Planted(
        "over-cap quotes counted by the store",
        service_bugs.over_cap_counted_by_the_store,
        service_checks.over_cap_quotes_contribute_nothing,
    ),
    Planted(
        "over-cap quotes counted by the learner",
        service_bugs.over_cap_counted_by_the_learner,
        service_checks.over_cap_quotes_contribute_nothing,
    ),
    Planted(
        "retention that forgets caps",
        service_bugs.retention_that_forgets_caps,
        service_checks.retention_gives_no_second_cap,
    ),
    Planted(
        "a restored backup taken for the truth",
        service_bugs.backup_taken_for_the_truth,
        service_checks.charged_slots_are_not_learned_again,
    ),
    Planted(
        "releases told apart by their numbers alone",
        service_bugs.releases_told_apart_by_number,
        service_checks.colliding_numbers_are_charged,
    ),
    Planted(
        "a lost note taken for none yet", note_bugs.lost_note_taken_for_none_yet, note_checks.lost_notes_are_noticed
    ),
    Planted(
        "a quoter's note taken for a learner's",
        note_bugs.quoters_note_taken_for_a_learners,
        note_checks.lost_notes_are_noticed,
    ),
    Planted("a copy taken for the store", note_bugs.copy_taken_for_the_store, note_checks.copies_are_noticed),
    Planted(
        "a certificate shown before releases are noted",
        service_bugs.certified_without_a_note,
        service_checks.releases_are_noted_before_they_are_shown,
    ),
    Planted(
        "a release shown before it is noted",
        service_bugs.shown_without_a_note,
        service_checks.releases_are_noted_before_they_are_shown,
    ),
    Planted(
        "a restore told too late taken for one in time",
        service_bugs.overlap_taken_for_a_restore_told_in_time,
        service_checks.a_record_pays_for_overlapping_histories,
    ),
    Planted(
        "overlapping histories free for records",
        service_bugs.overlaps_free_for_records,
        service_checks.a_record_pays_for_overlapping_histories,
    ),
    Planted(
        "restored backups free for customers",
        service_bugs.restored_backups_free_for_customers,
        service_checks.a_customer_pays_for_restored_backups,
    ),
    Planted("purchases in the metrics", world.purchases_in_the_metrics, world.everybody_sees_the_same_in_both_worlds),
    Planted("purchases in the log", world.purchases_in_the_log, world.everybody_sees_the_same_in_both_worlds),
    Planted(
        "noise a fifth too small",
        watcher.score_and_curvature_noise_a_fifth_smaller,
        watcher.releases_keep_to_what_is_proven,
    ),
    Planted(
        "live noise a fifth too small",
        watcher.live_noise_a_fifth_smaller,
        watcher.live_releases_keep_to_what_is_proven,
    ),
    Planted(
        "sensitivity a fifth too small",
        watcher.score_sensitivity_a_fifth_smaller,
        watcher.releases_keep_to_what_is_proven,
    ),
    Planted("a record added twice", watcher.record_added_twice, watcher.releases_keep_to_what_is_proven),
    Planted(
        "a record added twice, live", watcher.live_record_added_twice, watcher.live_releases_keep_to_what_is_proven
    ),
    Planted(
        "a record in the next batch too", watcher.record_in_the_next_batch_too, watcher.releases_keep_to_what_is_proven
    ),
    Planted("curvature not charged", watcher.curvature_not_charged, watcher.releases_keep_to_what_is_proven),
    Planted(
        "the stream's noise a fifth too small",
        watcher.stream_noise_a_fifth_smaller,
        watcher.covariances_keep_to_what_is_proven,
    ),
    Planted(
        "late covariances without noise",
        watcher.late_covariances_without_noise,
        watcher.covariances_keep_to_what_is_proven,
    ),
    Planted(
        "the estimate's noise a fifth too small",
        watcher.estimate_noise_a_fifth_smaller,
        watcher.estimates_keep_to_what_is_proven,
    ),
    Planted(
        "an outcome that takes a quote's token",
        limit.outcome_takes_a_quotes_token,
        limit.purchases_take_no_quotes_token,
    ),
    Planted(
        "a report that takes a quote's token",
        limit.report_takes_a_quotes_token,
        limit.reports_take_no_quotes_token,
    ),
    Planted(
        "an outcome that takes another outcome's token",
        limit.outcome_takes_anothers_token,
        limit.purchases_take_no_other_outcomes_token,
    ),
    Planted(
        "outcomes in the queue of quotes",
        limit.outcomes_lengthen_the_queue,
        limit.purchases_are_not_in_the_queue_of_quotes,
    ),
    Planted(
        "a failed outcome that is taken for an outage",
        limit.outcome_says_the_store_is_away,
        limit.failed_outcomes_are_no_outage,
    ),
    Planted(
        "outcomes and quotes counted together",
        link_bugs.outcomes_counted_with_quotes,
        link_checks.purchases_take_no_place_of_a_quote,
    ),
    Planted(
        "the last of two learners wins",
        link_bugs.last_learner_wins,
        link_checks.learners_at_odds_about_the_time_release_once,
    ),
    Planted(
        "a learner that dies started for ever",
        link_bugs.restarted_for_ever,
        link_checks.a_learner_that_dies_again_and_again_stays_down,
    ),
    Planted("logs: sensitivity of one row", log.sensitivity_of_one_row, logs.log_sums_keep_to_what_is_charged),
    Planted(
        "logs: a person replaced counted as zeroed out",
        log.replaced_counted_as_zeroed_out,
        logs.log_sums_keep_to_what_is_charged,
    ),
    Planted("logs: a person's rows not bounded", log.rows_not_bounded, logs.log_sums_keep_to_what_is_charged),
    Planted("logs: numbers below nought let in", log.numbers_below_nought, logs.log_sums_keep_to_what_is_charged),
    Planted("logs: a row that is not held", log.length_not_held, logs.log_sums_keep_to_what_is_charged),
    Planted("logs: a sum released unpaid", log.released_unpaid, logs.a_sum_is_paid_for_once),
    Planted(
        "logs: rows multiplied together", log.rows_multiplied_together, logs.a_row_adds_the_same_whoever_comes_with_it
    ),
    Planted(
        "moments: noise without sensitivity", moment.noise_without_sensitivity, moments.sums_keep_to_what_is_charged
    ),
    Planted(
        "moments: sensitivity of one record", moment.sensitivity_of_one_record, moments.sums_keep_to_what_is_charged
    ),
    Planted("moments: two buyers forgotten", moment.two_buyers_forgotten, moments.sides_move_by_no_more_than_is_said),
    Planted(
        "moments: a Laplace scale a fifth too small",
        moment.scale_a_fifth_too_small,
        moments.live_sums_keep_to_what_is_charged,
    ),
    Planted(
        "moments: a context held to a round ball",
        moment.context_held_to_a_round_ball,
        moments.sums_keep_to_what_is_charged,
    ),
    Planted(
        "moments: attributes published of a common batch",
        moment.attributes_of_a_common_batch,
        moments.sums_keep_to_what_is_charged,
    ),
    Planted(
        "moments: a side that reads the customer", moment.side_by_the_customer, moments.sums_keep_to_what_is_charged
    ),
    Planted("moments: a bounded loss not charged", moment.bounded_loss_not_charged, moments.bounded_losses_are_charged),
    Planted(
        "moments: a bounded loss lost in composition",
        moment.bounded_loss_lost_in_composition,
        moments.bounded_losses_are_charged,
    ),
    Planted(
        "moments: a customer's bounded loss that of one record",
        moment.bounded_loss_of_one_record,
        moments.bounded_losses_are_charged,
    ),
    Planted(
        "moments: live Laplace noise drawn once for all batches",
        moment.live_laplace_noise_drawn_once,
        moments.live_sums_keep_to_what_is_charged,
    ),
    Planted("moments: a residual that is not held", moment.residual_not_held, moments.sums_keep_to_what_is_charged),
    Planted("moments: a context that is not held", moment.context_not_held, moments.sums_keep_to_what_is_charged),
    Planted("moments: a description not scaled", moment.description_not_scaled, moments.sums_keep_to_what_is_charged),
    Planted("moments: earnings that are not held", moment.earnings_not_held, moments.live_sums_keep_to_what_is_charged),
    Planted("moments: a holdout that reads demand", moment.holdout_by_demand, moments.sums_keep_to_what_is_charged),
    Planted("moments: a score of the holdout", moment.holdout_scored, moments.sums_keep_to_what_is_charged),
    Planted(
        "moments: the holdout's scale for all",
        moment.holdouts_scale_for_all,
        moments.all_earnings_have_the_noise_that_is_charged,
    ),
    Planted("moments: a record added twice", moment.record_added_twice, moments.sums_keep_to_what_is_charged),
    Planted(
        "moments: a record added twice, live",
        moment.live_record_added_twice,
        moments.live_sums_keep_to_what_is_charged,
    ),
    Planted("moments: a batch never emptied", moment.batch_never_emptied, moments.sums_keep_to_what_is_charged),
    Planted("moments: noise drawn once for all batches", moment.noise_drawn_once, moments.sums_keep_to_what_is_charged),
    Planted(
        "moments: live noise drawn once for all batches",
        moment.live_noise_drawn_once,
        moments.live_sums_keep_to_what_is_charged,
    ),
    Planted(
        "moments: noise that ignores its slot", moment.noise_of_the_first_slot, moments.every_batch_has_noise_of_its_own
    ),
    Planted("moments: earnings not charged", moment.earnings_not_charged, moments.sums_keep_to_what_is_charged),
    Planted(
        "moments: noise a fifth too small",
        moment.noise_a_fifth_smaller,
        moments.moment_releases_keep_to_what_is_proven,
    ),
    Planted(
        "moments: a record added twice, seen in runs",
        moment.record_added_twice,
        moments.moment_releases_keep_to_what_is_proven,
    ),
    Planted(
        "moments: noise drawn once, seen in runs",
        moment.noise_drawn_once,
        moments.moment_releases_keep_to_what_is_proven,
    ),
    Planted(
        "moments: rows multiplied together", moment.rows_multiplied_together, moments.what_a_record_adds_it_adds_alone
    ),
    Planted(
        "moments: an unreadable record without a slot",
        moment.unreadable_record_without_a_slot,
        moments.unreadable_records_keep_their_slots,
    ),
    Planted(
        "scratch shared by customers priced at once",
        service_bugs.scratch_shared_by_customers,
        service_checks.customers_priced_at_once_never_mix,
    ),
    Planted("fit: description not held", fit_bugs.description_not_held, fit_checks.fits_keep_to_what_is_charged),
    Planted("fit: instruments not held", fit_bugs.instruments_not_held, fit_checks.fits_keep_to_what_is_charged),
    Planted(
        "fit: description change halved", fit_bugs.description_change_halved, fit_checks.fits_keep_to_what_is_charged
    ),
    Planted(
        "fit: second description grows", fit_bugs.second_description_grows, fit_checks.fits_keep_to_what_is_charged
    ),
    Planted("fit: score not divided", fit_bugs.score_not_divided, fit_checks.fits_keep_to_what_is_charged),
    Planted(
        "fit: a customer's rows summed", fit_bugs.rows_summed_not_averaged, fit_checks.fits_keep_to_what_is_charged
    ),
    Planted("fit: sigma halved", fit_bugs.noise_halved, fit_checks.fits_keep_to_what_is_charged),
    Planted("fit: last score not charged", fit_bugs.last_score_not_charged, fit_checks.fits_keep_to_what_is_charged),
    Planted(
        "fit: rows rounded together", fit_bugs.rows_rounded_together, fit_checks.what_a_row_adds_to_a_fit_it_adds_alone
    ),
    Planted(
        "fit: a row in two pieces", fit_bugs.row_in_two_pieces, fit_checks.a_row_of_a_long_block_adds_what_it_adds_once
    ),
    Planted("fit: weights by outcome", fit_bugs.weights_by_outcome, fit_checks.sums_of_a_fit_are_zero_at_the_truth),
    Planted("fit: releases forgotten", fit_bugs.releases_forgotten, fit_checks.an_interrupted_fit_draws_nothing_twice),
    Planted("fit: releases not kept", fit_bugs.releases_not_kept, fit_checks.an_interrupted_fit_draws_nothing_twice),
    Planted("fit: two processes at once", fit_bugs.two_at_once, fit_checks.one_output_is_for_one_process),
    Planted("fit: any plan is added up", fit_bugs.any_plan_is_added_up, fit_checks.plans_beyond_the_proof_are_refused),
    Planted("fit: a removed lock is held", fit_bugs.a_removed_lock_is_held, fit_checks.a_lock_that_is_gone_is_none),
    Planted("a customer's rows not bounded", count.people_not_bounded, counts.people_move_counts_by_what_is_charged),
    Planted("a customer's rows not bounded in a log", count.people_not_bounded, counts.a_customer_is_bounded_in_a_log),
    Planted("one row of a customer too many", count.one_row_too_many, counts.people_move_counts_by_what_is_charged),
    Planted("one row too many in a log", count.one_row_too_many, counts.a_customer_is_bounded_in_a_log),
    Planted("a row counted twice", count.row_counted_twice, counts.people_move_counts_by_what_is_charged),
    Planted("noise of counts halved", count.noise_halved, counts.noisy_counts_have_the_noise_they_are_charged_for),
    Planted(
        "threshold for texts forgotten",
        count.threshold_forgotten,
        counts.rare_texts_are_shown_no_more_often_than_charged,
    ),
    Planted("a question not paid for", count.question_not_paid, counts.every_question_is_paid_before_it_is_answered),
    Planted(
        "replaced rows charged as removed",
        count.replaced_taken_for_zeroed,
        counts.two_rows_apart_are_told_apart_no_better_than_proven,
    ),
    Planted("texts of one's own not charged", count.failure_forgotten, counts.a_text_of_ones_own_is_charged_for),
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


def test_the_list_is_complete() -> None:
    names = [planted.name for planted in PLANTED]
    assert len(set(names)) == len(names)
    assert set(names) >= REQUIRED
    assert len(names) >= len(REQUIRED) == 42


@pytest.mark.parametrize("check", dict.fromkeys(planted.check for planted in PLANTED), ids=lambda check: check.__name__)
def test_sound_code_passes(check: Callable[[], None]) -> None:
    check()


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_the_bug_is_caught(planted: Planted) -> None:
    with planted.bug(), pytest.raises(AssertionError):
        planted.check()
    planted.check()  # and nothing of it stays behind
