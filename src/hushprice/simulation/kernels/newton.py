"""One trial of noisy-newton, compiled: the steps the live engine calls, a block of periods at a time.

Between two looks at a batch nothing is released, so prices of a whole block are independent of each other. Records are
added to their batch's sums as they come and kept nowhere.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hushprice.mechanisms import toeplitz
from hushprice.numerics import tape
from hushprice.numerics.jit import merged, step
from hushprice.numerics.linear import packed_size
from hushprice.policies.newton.pricing import probe, transition
from hushprice.policies.newton.pricing.transition import LEARNED, LEVEL, LOOK, READY, TiltedBelief
from hushprice.policies.newton.private import scores
from hushprice.records import hold_to_unit_ball
from hushprice.simulation.kernels.customers import arrive, draw_coins, respond
from hushprice.simulation.kernels.newton_prices import NewtonPlan, quote
from hushprice.simulation.scratch import STRETCH, Stretch, new_stretch
from hushprice.simulation.tally import CLIPPED, ESTIMATES, REGRET, REVENUE, START, SURPLUS
from hushprice.simulation.world import DUE, OVER, STOPPED, KernelMarket, TrialInput, TrialOutput, customer_trial
from hushprice.types import FloatArray, IntArray

# Progress has transition.py's entries, and behind them the period at hand and the checkpoints passed.
PERIOD, PASSED = transition.ENTRIES, transition.ENTRIES + 1
ENTRIES = transition.ENTRIES + 2


class NewtonTrial(NamedTuple):
    """Where one trial is: the batch at hand, the belief, and scratch."""

    progress: IntArray
    believed: TiltedBelief
    score: FloatArray  # the batch's exact sums
    exact: FloatArray
    noisy_score: FloatArray  # the batch's releases
    curvature: FloatArray
    running: FloatArray
    phi: FloatArray  # of the stretch
    terms: FloatArray
    work: FloatArray


def run_newton(world: KernelMarket, plan: NewtonPlan, given: TrialInput, output: TrialOutput) -> bool:
    """Run one trial; False when it was stopped meanwhile."""
    stretch, state = new_stretch(world.stream.size, world.theta.size), new_trial(plan)
    begin_trial(plan, state)
    return bool(advance(world, plan, given, output, stretch, state, 0) == OVER)


def new_trial(plan: NewtonPlan) -> NewtonTrial:
    """A trial's arrays."""
    d = plan.center.size
    size = packed_size(d)
    return NewtonTrial(
        np.empty(ENTRIES, dtype=np.int64),
        TiltedBelief(np.empty(d), np.empty((d, d)), np.empty((d, d)), np.empty(d)),
        np.empty(d),
        np.empty(size),
        np.empty(d),
        np.empty(size),
        np.empty((plan.poles.shape[1] + 2, size)),
        np.empty((d, STRETCH)),
        np.empty((scores.ROWS, STRETCH)),
        np.empty(probe.work_shape(d)),
    )


@step
def begin_trial(plan: NewtonPlan, state: NewtonTrial) -> None:
    """Before the first period: the first belief, and an empty batch."""
    transition.start(plan.batches, plan.center, state.progress, state.believed)
    state.progress[PERIOD] = 1
    state.progress[PASSED] = 0
    _empty(state.score, state.exact, state.running)


@step
def _empty(score: FloatArray, exact: FloatArray, running: FloatArray) -> None:
    """Nothing is in the batch yet."""
    for j in range(score.size):
        score[j] = 0.0
    for j in range(exact.size):
        exact[j] = 0.0
        for memory in range(running.shape[0]):
            running[memory, j] = 0.0


@step
def advance(
    world: KernelMarket,
    plan: NewtonPlan,
    given: TrialInput,
    output: TrialOutput,
    stretch: Stretch,
    state: NewtonTrial,
    pauses: int,
) -> int:
    """Go on to the horizon, or until the trial is stopped; with `pauses` until a release is due. Says which.

    A stretch of periods is at most as long as its scratch is wide.
    """
    checkpoints, totals, progress, control = output.checkpoints, output.totals, state.progress, given.control
    seed, trial, horizon = given.seed, given.trial, given.horizon
    period, at, look, ready = progress[PERIOD], progress[PASSED], progress[LOOK], progress[READY] > 0
    mark = checkpoints[min(at, checkpoints.size - 1)]  # not read again in every period: a GPU would wait for it
    while period <= horizon:
        if control.size > 0 and control[0] != 0:
            return STOPPED
        count = 1  # known when compiled where scratch is one period wide: a GPU keeps such scratch in registers
        if state.phi.shape[1] > 1:
            count = min(min(state.phi.shape[1], horizon - period + 1), min(look, mark) - period + 1)
        draw_coins(seed, customer_trial(world.customers, trial), period, count, stretch.test[0])
        arrive(world, seed, trial, period, count, stretch)
        quote(world, plan, state.believed, ready, count, stretch)
        respond(world, seed, trial, period, count, stretch)
        totals[CLIPPED] += learn(world, plan, state.believed, count, stretch, state.phi, state.terms)
        scores.add_up(state.phi, count, state.terms, state.score, state.exact)
        regret = _add_up(count, stretch.line[3], stretch.out, totals)
        if not ready:
            totals[START] += regret
        if output.prices.size > 0:
            for i in range(count):
                output.prices[period - 1 + i] = stretch.out[0, i]
        period += count
        if period - 1 == mark:
            output.regret_at[at] = totals[REGRET]
            at += 1
            mark = checkpoints[min(at, checkpoints.size - 1)]
        if control.size > 0:
            control[given.counter] = period - 1
        if period > look and period <= horizon:
            progress[PERIOD], progress[PASSED] = period, at
            if pauses == 0:
                release(plan, seed, trial, state, output.estimate_periods)
                look, ready = progress[LOOK], progress[READY] > 0
            else:
                return DUE
    progress[PERIOD], progress[PASSED] = period, at
    totals[ESTIMATES] = progress[LEARNED]
    return OVER


@merged
def learn(
    world: KernelMarket,
    plan: NewtonPlan,
    believed: TiltedBelief,
    count: int,
    stretch: Stretch,
    phi: FloatArray,
    terms: FloatArray,
) -> int:
    """What the stretch's records add to their batch, into `terms`; returns how many features had to be clipped."""
    for j in range(believed.theta.size):
        row, left, right = phi[j], stretch.u[j], stretch.v[j]
        for i in range(count):
            row[i] = left[i] + stretch.out[0, i] * right[i]
    clipped = hold_to_unit_ball(phi, 0, count)
    theta, inverse, cap, demand = believed.theta, believed.inverse, plan.batches.cap, stretch.out[4]
    scores.weigh(world.family, world.slope, plan.lowest, world.bound, cap, theta, inverse, phi, demand, count, terms)
    return clipped


@merged
def _add_up(count: int, best: FloatArray, out: FloatArray, totals: FloatArray) -> float:
    """The stretch's regret, revenue and surplus into the totals; returns its regret."""
    regret, revenue, surplus = 0.0, 0.0, 0.0
    for i in range(count):
        regret += best[i] - out[2, i]
        revenue += out[2, i]
        surplus += out[3, i]
    totals[REGRET] += regret
    totals[REVENUE] += revenue
    totals[SURPLUS] += surplus
    return regret


@merged
def release(plan: NewtonPlan, seed: int, trial: int, state: NewtonTrial, estimate_periods: IntArray) -> None:
    """Look at the batch after the period reached; end it and learn from it where it is time or the trigger asks."""
    progress, believed, rules = state.progress, state.believed, plan.batches
    records = progress[PERIOD] - 1
    _release_curvature(plan, progress[LEVEL], state, seed, trial, records)
    if not transition.ends(rules, progress, believed, state.curvature, records, state.work):
        transition.go_on(progress)
        return
    release_score(rules.score_noise * plan.drawn, seed, trial, records, state.score, state.noisy_score)
    estimate_periods[progress[LEARNED]] = records + 1
    transition.accept(rules, progress, believed, state.noisy_score, state.curvature, records, state.work)
    _empty(state.score, state.exact, state.running)


@merged
def _release_curvature(plan: NewtonPlan, level: int, state: NewtonTrial, seed: int, trial: int, records: int) -> None:
    """Release the batch's curvature so far."""
    out = state.curvature  # the normals come there first
    tape.take_normals(seed, trial, records, tape.COVARIANCE_NOISE, out)
    scale = plan.drawn * (plan.batches.curvature_noise * plan.batches.column[level])
    toeplitz.look(state.exact, state.running, plan.poles[level], plan.zeros[level], scale, plan.scales, out, out)


@merged
def release_score(noise: float, seed: int, trial: int, records: int, score: FloatArray, out: FloatArray) -> None:
    """Release the batch's score."""
    tape.take_normals(seed, trial, records, tape.ESTIMATE_NOISE, out)
    for j in range(out.size):
        out[j] = score[j] + noise * out[j]
