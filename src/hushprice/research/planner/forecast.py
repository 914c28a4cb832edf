"""One run of noisy-newton in expectation: every release is made, but few customers of a long batch are looked at.

Prices depend on releases alone, so within a batch customers are exchangeable. Of a batch of n customers at most SAMPLE
are drawn; what they lose, and the scores and curvatures they would give, stand for all n. A score's mean grows with n
and its deviation with the root of n, so the sampled customers' surprises y - f* count sqrt(n / SAMPLE) times and the
rest n / SAMPLE times. Noise, batch ends, the trigger and the belief are the policy's own. A batch no longer than SAMPLE
is played customer by customer. The work grows with the logarithm of the horizon.
"""

from __future__ import annotations

import math

import numpy as np

from hushprice.demand import family
from hushprice.mechanisms import toeplitz
from hushprice.numerics import tape
from hushprice.numerics.jit import step
from hushprice.policies.newton.pricing import belief, schedule, transition
from hushprice.policies.newton.pricing.transition import BATCH, END, LEARNED, LEVEL, READY
from hushprice.policies.newton.private import scores
from hushprice.simulation.kernels import newton
from hushprice.simulation.kernels.customers import arrive, draw_coins, respond
from hushprice.simulation.kernels.newton import NewtonTrial
from hushprice.simulation.kernels.newton_prices import NewtonPlan, quote
from hushprice.simulation.scratch import Stretch, new_stretch
from hushprice.simulation.world import KernelMarket, TrialInput, TrialOutput, customer_trial
from hushprice.types import FloatArray

SAMPLE = 256  # customers looked at in a batch; at most STRETCH
FAR = 0.5  # a batch that would multiply no precision by even this share of the trigger is not looked at on the way
LOOKS = 5
TOTALS = 3  # releases made; records before the first personal price, or -1; regret till then
RELEASES, PERSONAL, START = range(TOTALS)


def forecast(world: KernelMarket, plan: NewtonPlan, given: TrialInput, output: TrialOutput) -> None:
    """Expected cumulative regret at the checkpoints, the records before each release, and these TOTALS."""
    stretch, state = new_stretch(world.stream.size, world.theta.size), newton.new_trial(plan)
    newton.begin_trial(plan, state)
    _play(world, plan, given, output, stretch, state, np.empty_like(state.curvature))


@step
def _play(
    world: KernelMarket,
    plan: NewtonPlan,
    given: TrialInput,
    output: TrialOutput,
    stretch: Stretch,
    state: NewtonTrial,
    noise: FloatArray,
) -> None:
    """Batch after batch, from the first customer to the horizon."""
    progress, checkpoints, totals = state.progress, output.checkpoints, output.totals
    at, total = 0, 0.0
    totals[PERSONAL] = -1.0
    while True:
        records, ready = progress[BATCH], progress[READY] > 0
        n, lost = _batch(world, plan, given, stretch, state, noise)
        while at < checkpoints.size and checkpoints[at] <= records + n:
            output.regret_at[at] = total + lost * (checkpoints[at] - records)
            at += 1
        total += lost * n
        if not ready:
            totals[START] = total
        records += n
        if records >= given.horizon:
            break
        score, curvature = state.noisy_score, state.curvature
        scale = plan.batches.score_noise * plan.drawn
        newton.release_score(scale, given.seed, given.trial, records, state.score, score)
        if progress[LEARNED] < output.estimate_periods.size:
            output.estimate_periods[progress[LEARNED]] = records
        transition.accept(plan.batches, progress, state.believed, score, curvature, records, state.work)
        if not ready and progress[READY] > 0:
            totals[PERSONAL] = records
    totals[RELEASES] = progress[LEARNED]


@step
def _batch(
    world: KernelMarket, plan: NewtonPlan, given: TrialInput, stretch: Stretch, state: NewtonTrial, noise: FloatArray
) -> tuple[int, float]:
    """How many customers the batch has and what each loses; its score and its released curvature into `state`."""
    records, length = state.progress[BATCH], state.progress[END] - state.progress[BATCH]
    most = given.horizon - records
    count = min(min(length, SAMPLE), most)
    draw_coins(given.seed, customer_trial(world.customers, given.trial), records + 1, count, stretch.test[0])
    arrive(world, given.seed, given.trial, records + 1, count, stretch)
    quote(world, plan, state.believed, state.progress[READY] > 0, count, stretch)
    respond(world, given.seed, given.trial, records + 1, count, stretch)
    times = length / count
    _calm(world, stretch, count, 1.0 / math.sqrt(times))
    _sum(world, plan, count, stretch, state)
    n = min(_length(plan, given, count, state, noise), most)
    if n < length:  # fewer customers, so each of those drawn stands for fewer
        count = min(count, n)
        _calm(world, stretch, count, math.sqrt(times * count / n))
        times = n / count
        _sum(world, plan, count, stretch, state)
    lost = 0.0
    for i in range(count):
        lost += stretch.line[3, i] - stretch.out[2, i]
    for j in range(state.score.size):
        state.score[j] *= times
    for j in range(noise.size):
        state.curvature[j] = times * state.exact[j] + noise[j]
    return n, lost / count


@step
def _calm(world: KernelMarket, stretch: Stretch, count: int, share: float) -> None:
    """Multiply each customer's surprise y - f*. With 1 / sqrt(m), m times the score deviates as m customers' do."""
    z, demand = stretch.out[1], stretch.out[4]
    for i in range(count):
        expected = family.mean(world.family, world.slope, z[i])
        demand[i] = expected + share * (demand[i] - expected)


@step
def _sum(world: KernelMarket, plan: NewtonPlan, count: int, stretch: Stretch, state: NewtonTrial) -> None:
    """The sampled customers' score and curvature."""
    for j in range(state.score.size):
        state.score[j] = 0.0
    for j in range(state.exact.size):
        state.exact[j] = 0.0
    newton.learn(world, plan, state.believed, count, stretch, state.phi, state.terms)
    scores.add_up(state.phi, count, state.terms, state.score, state.exact)


@step
def _length(plan: NewtonPlan, given: TrialInput, count: int, state: NewtonTrial, noise: FloatArray) -> int:
    """After how many customers the batch ends, and into `noise` the noise of its last curvature.

    state.exact is the curvature of the `count` customers sampled. A batch is looked at 2^LOOKS times at most, fewer
    than the policy does; noise passes through the decoder of that many blocks, scaled to end with the policy's
    deviation.
    """
    rules, progress, believed, work, seen = plan.batches, state.progress, state.believed, state.work, state.curvature
    records, level, d = progress[BATCH], progress[LEVEL], believed.theta.size
    length = progress[END] - records
    deviation = rules.curvature_noise * rules.column[level] * rules.row[level]  # of the last release
    # With the whole batch's curvature and no noise; after a share s of the batch at most s times that is gained.
    near, most = False, work[3 * d + 1 : 4 * d + 1]
    if rules.trigger > 0.0:
        for j in range(seen.size):
            seen[j] = state.exact[j] * (length / count)
        variance = rules.score_noise * rules.score_noise
        belief.gain(seen, rules.cap, 0.0, variance, rules.sampling, 0.0, 0.0, believed.precision, most, work)
        near = belief.multiplies(believed.precision, most, FAR * rules.trigger, work)
    looks = min(level, LOOKS) if near else 0
    block = schedule.block_length(length, looks)
    state.running[:] = 0.0
    look = 0
    while look < length:
        look = min(look + block, length)
        tape.take_normals(given.seed, given.trial, records + look, tape.COVARIANCE_NOISE, noise)
        for j in range(seen.size):
            drawn = plan.drawn * deviation / rules.row[looks] * plan.scales[j] * noise[j]
            noise[j] = toeplitz.decode(state.running, plan.poles[looks], plan.zeros[looks], j, drawn)
            seen[j] = state.exact[j] * (look / count) + noise[j]
        if look < length and belief.multiplies(believed.precision, most, FAR * rules.trigger * length / look, work):
            if transition.ends(rules, progress, believed, seen, records + look, work):
                break
    return look
