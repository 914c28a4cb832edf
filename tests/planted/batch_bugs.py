"""Bugs in noisy-newton: how often a record counts in its batches, what its weight reads, and the noise of a batch."""

from __future__ import annotations

from tests.planted.planting import changed, edited

from hushprice.privacy import sensitivity

score_counted_as_zeroed_out = changed(
    sensitivity,
    "of_gradients",
    lambda real: lambda gradient, difference, adjacency: real(gradient, gradient, adjacency),
)
curvature_kept_over_a_batch = edited(
    ("state.exact[j] = 0.0", "state.exact[j] = state.exact[j] if state.progress[LEARNED] % 2 > 0 else 0.0")
)
score_in_two_releases = edited(
    ("state.score[j] = 0.0", "state.score[j] = state.score[j] if state.progress[LEARNED] % 2 > 0 else 0.0")
)
score_in_three_releases = edited(
    ("state.score[j] = 0.0", "state.score[j] = state.score[j] if state.progress[LEARNED] % 3 > 0 else 0.0")
)
weight_reads_demand = edited(("max(norm, _SHORT), lowest, bound, cap)", "max(norm, _SHORT), demand, demand, cap)"))
weight_of_the_nearer_bound = edited(("reach = max(f - lowest, bound - f)", "reach = min(f - lowest, bound - f)"))
cap_left_out = edited(("return largest if turn <= cap else", "return largest if True else"))
demand_not_clipped = edited(("min(max(demand, lowest), bound)", "demand"))
column_left_out = edited(("plan.batches.curvature_noise * plan.batches.column[level]", "plan.batches.curvature_noise"))
noise_reused_between_blocks = edited(
    ("trial, records, tape.COVARIANCE_NOISE", "trial, 1 + level, tape.COVARIANCE_NOISE")
)
score_noise_reused = edited(
    ("score_noise * plan.drawn, seed, trial, records,", "score_noise * plan.drawn, seed, trial, 1,")
)
ends_read_exact_sums = edited(("believed, state.curvature, records", "believed, state.exact, records"))
probes_read_exact_sums = edited(
    ("    transition.accept(", "    progress[LEARNED] += int(state.score[0] > 0.0)\n    transition.accept(")
)
