"""One trial of alg:framework, compiled: the same steps as the live engine, many periods at a time.

Between two estimates prices do not depend on each other, so a stretch of periods is priced at once, then walked through
record by record; when a record triggers a new estimate, the rest of the stretch is thrown away and priced again. What
comes out does not depend on the length of the stretches.
"""

from __future__ import annotations

import numpy as np

from hushprice.numerics import tape
from hushprice.numerics.jit import merged, step
from hushprice.policies.paper.pricing import refresh
from hushprice.policies.paper.private import covariance, solver
from hushprice.policies.paper.tolerance import TOLERANCE
from hushprice.simulation.kernels.baselines import add_up
from hushprice.simulation.kernels.customers import arrive, respond
from hushprice.simulation.kernels.paper_covariance import (
    LAST,
    MADE,
    PASSED,
    PERIOD,
    PROGRESS,
    PaperTrial,
    absorb,
    copy_into,
)
from hushprice.simulation.kernels.paper_prices import quote, remember
from hushprice.simulation.scratch import Stretch, new_stretch
from hushprice.simulation.tally import CLIPPED, ESTIMATES, FAILED, REGRET
from hushprice.simulation.world import DUE, LEARNING, OVER, STOPPED, KernelMarket, KernelPolicy, TrialInput, TrialOutput
from hushprice.types import FloatArray, IntArray


def run_paper(world: KernelMarket, plan: KernelPolicy, given: TrialInput, output: TrialOutput) -> bool:
    """Run one trial; False when it was stopped meanwhile or an estimate failed."""
    d = world.theta.size
    state = PaperTrial(
        np.empty(PROGRESS, dtype=np.int64),
        np.empty(1),
        np.empty(d),
        np.empty((d, d)),
        plan.exact.copy(),
        plan.running.copy(),
        plan.exact.copy(),
        plan.running.copy(),
        np.empty((2 * d + 1, d)),
        np.empty((d, given.horizon)),
        np.empty(given.horizon),
        solver.scratch(d),
    )
    begin_trial(plan, state)
    return bool(advance(world, plan, given, output, new_stretch(world.stream.size, d), state, 0) == OVER)


@step
def begin_trial(plan: KernelPolicy, state: PaperTrial) -> None:
    """Before the first period: theta = 0, Lambda = rho I, an empty covariance stream."""
    progress, d = state.progress, state.theta.size
    progress[PERIOD], progress[MADE], progress[PASSED], progress[LAST] = 1, 0, 0, 0
    state.current[0] = d * np.log(plan.ridge)
    for j in range(d):
        state.theta[j] = 0.0
        for i in range(d):
            state.inverse[i, j] = 1.0 / plan.ridge if i == j else 0.0
    copy_into(plan.exact, state.exact)
    copy_into(plan.running, state.running)


@step
def advance(
    world: KernelMarket,
    plan: KernelPolicy,
    given: TrialInput,
    output: TrialOutput,
    stretch: Stretch,
    state: PaperTrial,
    pauses: int,
) -> int:
    """Go on to the horizon, or until the trial is stopped or an estimate fails; with `pauses` until one is due."""
    checkpoints, totals, progress, control = output.checkpoints, output.totals, state.progress, given.control
    seed, trial, horizon = given.seed, given.trial, given.horizon
    width, learns = stretch.out.shape[1], plan.code == LEARNING
    period, at = progress[PERIOD], progress[PASSED]
    mark = checkpoints[min(at, checkpoints.size - 1)]  # not read again in every period: a GPU would wait for it
    while period <= horizon:
        if control.size > 0 and control[0] != 0:
            return STOPPED
        count = 1  # known when compiled where scratch is one period wide: a GPU keeps such scratch in registers
        if width > 1:
            count = min(min(width, max(16, period // 4)), horizon - period + 1)
            count = min(count, mark - period + 1)
            if learns and period <= plan.exploration:
                count = min(count, plan.exploration - period + 1)
        arrive(world, seed, trial, period, count, stretch)
        quote(world, plan, state.theta, state.inverse, seed, trial, period, count, stretch)
        respond(world, seed, trial, period, count, stretch)
        done = count
        if learns and progress[MADE] < plan.max_estimates:
            done = learn(plan, seed, trial, period, count, stretch, state, totals)
        add_up(done, stretch.line[3], stretch.out, totals)
        if output.prices.size > 0:
            for i in range(done):
                output.prices[period - 1 + i] = stretch.out[0, i]
        period += done
        progress[PERIOD] = period
        if control.size > 0:
            control[given.counter] = period - 1
        if done < count:
            if pauses == 0:
                if not estimate(world, plan, seed, trial, state, output.estimate_periods):
                    totals[FAILED] = 1.0  # the gap itself stays there
                    return STOPPED
            else:
                return DUE
        elif period - 1 == mark:
            output.regret_at[at] = totals[REGRET]
            at += 1
            progress[PASSED] = at
            mark = checkpoints[min(at, checkpoints.size - 1)]
    totals[ESTIMATES] = progress[MADE]
    return OVER


@merged
def learn(
    plan: KernelPolicy,
    seed: int,
    trial: int,
    period: int,
    count: int,
    stretch: Stretch,
    state: PaperTrial,
    totals: FloatArray,
) -> int:
    """Remember the stretch's records and add them to the covariance; returns how many come before an estimate."""
    remember(plan, period, count, stretch, state.phi, state.demand)
    if plan.scales[0] > 0.0:
        rows = stretch.noise.shape[0]
        tape.fill_normals(seed, trial, tape.COVARIANCE_NOISE, period, count, rows, stretch.noise)
    covariance.outers(stretch.seen_u, 0, count, stretch.summands)
    done = absorb(plan, period, count, stretch, state, totals)
    for i in range(done):
        totals[CLIPPED] += stretch.clipped[i]
    return done


@merged
def estimate(
    world: KernelMarket,
    plan: KernelPolicy,
    seed: int,
    trial: int,
    state: PaperTrial,
    estimate_periods: IntArray,
) -> bool:
    """The estimate that the period reached asks for; False where it missed its certified tolerance."""
    theta, small, progress = state.theta, state.small, state.progress
    period, d = progress[PERIOD], theta.size
    refresh.confidence(state.running[0], d, plan.ridge, plan.repair, state.inverse, small)
    tilt = small[0]
    draw(plan.estimate_noise, seed, trial, period, tape.ESTIMATE_NOISE, tilt)
    records, demand = state.phi, state.demand
    gap = solver.minimize(
        world.family, world.slope, records, demand, period - 1, plan.estimate_ridge, tilt, theta, state.fit
    )
    return settle(plan, seed, trial, state, estimate_periods, gap)


@step
def settle(
    plan: KernelPolicy, seed: int, trial: int, state: PaperTrial, estimate_periods: IntArray, gap: float
) -> bool:
    """Take the minimizer found as the estimate, with its output noise; False where its gap is too wide."""
    theta, tilt, progress = state.theta, state.small[0], state.progress
    period, d = progress[PERIOD], theta.size
    if not gap <= TOLERANCE:
        return False
    draw(plan.output_noise, seed, trial, period, tape.OUTPUT_NOISE, tilt)
    for j in range(d):
        theta[j] += tilt[j]
    estimate_periods[progress[MADE]] = period
    progress[MADE] += 1
    progress[LAST] = period
    return True


@step
def draw(noise: float, seed: int, trial: int, period: int, stream: int, out: FloatArray) -> None:
    """Independent Gaussians of this deviation: w of alg:private-mle, line 3, and the output noise."""
    tape.take_normals(seed, trial, period, stream, out)
    for j in range(out.size):
        out[j] *= noise
