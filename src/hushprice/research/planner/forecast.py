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
from hushprice.numerics.linear import packed_size
from hushprice.policies.newton.pricing import belief, probe, schedule
from hushprice.policies.newton.private import scores
from hushprice.policies.newton.rules import BLOCKS, GROWTH, KNOWN, NOISE_SHARE, PRECISION, SPARE
from hushprice.records import hold_to_unit_ball
from hushprice.simulation.kernels.newton import NewtonPlan, begin_probe, quote, toss
from hushprice.simulation.kernels.paper import arrive, respond
from hushprice.simulation.scratch import STRETCH, Stretch, World, scratch
from hushprice.types import FloatArray, IntArray

SAMPLE = 256  # customers looked at in a batch; at most STRETCH
FAR = 0.5  # a batch that would multiply no precision by even this share of the trigger is not looked at on the way
LOOKS = 5
MARKS = 3
RELEASES, READY, START = range(MARKS)  # releases made; records before the first personal price, or -1; regret till then


@step
def forecast(
    world: World,
    plan: NewtonPlan,
    seed: int,
    trial: int,
    horizon: int,
    checkpoints: IntArray,
    regret_at: FloatArray,
    releases: IntArray,
    marks: FloatArray,
) -> None:
    """Expected cumulative regret at the checkpoints (the last is the horizon), and the records before each release."""
    d = world.theta.size
    size = packed_size(d)
    room = scratch(world.stream.size, d)
    phi, terms = np.empty((d, STRETCH)), np.empty((scores.ROWS, STRETCH))
    score, exact, noise = np.zeros(d), np.zeros(size), np.zeros(size)
    theta, precision, inverse = plan.center.copy(), np.zeros((d, d)), np.zeros((d, d))
    gained, work, tilt = np.empty((d, d)), np.empty(probe.work_shape(d)), np.zeros(d)
    for j in range(d):
        precision[j, j] = PRECISION
        inverse[j, j] = 1.0 / PRECISION
    known = KNOWN / PRECISION * belief.squared_length(plan.price_effect)
    ready, made, at, total, records = False, 0, 0, 0.0, 0
    marks[READY] = -1.0
    while records < horizon:
        length = schedule.batch_end(records, plan.first, GROWTH) - records
        if ready:
            length = begin_probe(world, plan, theta, inverse, made, records, records + length, tilt, work) - records
        level = schedule.block_level(length, BLOCKS, plan.levels)
        count = min(min(length, SAMPLE), horizon - records)
        toss(world, seed, trial, records + 1, count, room)
        arrive(world, seed, trial, records + 1, count, room)
        quote(world, plan, theta, inverse, tilt, ready, count, room)
        respond(world, seed, trial, records + 1, count, room)
        _features(room, count, phi)
        times = length / count
        _calm(world, room, count, 1.0 / math.sqrt(times))
        _sum(world, plan, theta, inverse, phi, room, count, score, exact, terms)
        n = _batch(plan, seed, trial, records, length, level, count, exact, noise, precision, gained, work)
        n = min(n, horizon - records)
        if n < length:  # fewer customers, so each of those drawn stands for fewer
            count = min(count, n)
            _calm(world, room, count, math.sqrt(times * count / n))
            times = n / count
            _sum(world, plan, theta, inverse, phi, room, count, score, exact, terms)
        lost = 0.0
        for i in range(count):
            lost += room.line[3, i] - room.out[2, i]
        lost /= count
        while at < checkpoints.size and checkpoints[at] <= records + n:
            regret_at[at] = total + lost * (checkpoints[at] - records)
            at += 1
        total += lost * n
        if not ready:
            marks[START] = total
        records += n
        if records >= horizon:
            break
        for j in range(d):
            score[j] *= times
        for j in range(size):
            exact[j] = times * exact[j] + noise[j]
        _add_noise(plan.score_noise * plan.drawn, seed, trial, records, score)
        error = plan.cap * plan.curvature_noise * plan.column[level] * plan.row[level]
        belief.update(
            score,
            exact,
            plan.cap,
            error,
            plan.score_noise * plan.score_noise,
            plan.sampling,
            NOISE_SHARE,
            theta,
            precision,
            inverse,
            work,
        )
        if made < releases.size:
            releases[made] = records
        made += 1
        if not ready and belief.variance_along(inverse, plan.price_effect) <= known:
            ready = True
            marks[READY] = records
    marks[RELEASES] = made


@step
def _features(room: Stretch, count: int, phi: FloatArray) -> None:
    """The customers' features at the prices they were quoted."""
    for j in range(phi.shape[0]):
        row, left, right = phi[j], room.u[j], room.v[j]
        for i in range(count):
            row[i] = left[i] + room.out[0, i] * right[i]
    hold_to_unit_ball(phi, 0, count)


@step
def _calm(world: World, room: Stretch, count: int, share: float) -> None:
    """Multiply each customer's surprise y - f*. With 1 / sqrt(m), m times the score deviates as m customers' do."""
    z, demand = room.out[1], room.out[4]
    for i in range(count):
        expected = family.mean(world.family, world.slope, z[i])
        demand[i] = expected + share * (demand[i] - expected)


@step
def _sum(
    world: World,
    plan: NewtonPlan,
    theta: FloatArray,
    inverse: FloatArray,
    phi: FloatArray,
    room: Stretch,
    count: int,
    score: FloatArray,
    curvature: FloatArray,
    terms: FloatArray,
) -> None:
    """The sampled customers' score and curvature."""
    for j in range(score.size):
        score[j] = 0.0
    for j in range(curvature.size):
        curvature[j] = 0.0
    scores.weigh(
        world.family,
        world.slope,
        plan.lowest,
        world.bound,
        plan.cap,
        theta,
        inverse,
        phi,
        room.out[4],
        count,
        terms,
    )
    scores.add_up(phi, count, terms, score, curvature)


@step
def _batch(
    plan: NewtonPlan,
    seed: int,
    trial: int,
    records: int,
    length: int,
    level: int,
    count: int,
    exact: FloatArray,
    noise: FloatArray,
    precision: FloatArray,
    gained: FloatArray,
    work: FloatArray,
) -> int:
    """After how many customers the batch ends, and into `noise` the noise of its last curvature.

    `exact` is the curvature of the `count` customers sampled. A batch is looked at 2^LOOKS times at most, fewer than
    the policy does; noise passes through the decoder of that many blocks, scaled to end with the policy's deviation.
    """
    size = exact.size
    variance = plan.score_noise * plan.score_noise
    deviation = plan.curvature_noise * plan.column[level] * plan.row[level]  # of the last release
    error = plan.cap * deviation
    seen, draws = np.empty(size), np.empty((4 * ((size + 3) // 4), 1))
    # With the whole batch's curvature and no noise; after a share s of the batch at most s times that is gained.
    near, most = False, np.empty_like(gained)
    if plan.trigger > 0.0:
        for j in range(size):
            seen[j] = exact[j] * (length / count)
        belief.gain(seen, plan.cap, 0.0, variance, plan.sampling, 0.0, 0.0, precision, most, work)
        near = belief.multiplies(precision, most, FAR * plan.trigger, work)
    looks = min(level, LOOKS) if near else 0
    block = schedule.block_length(length, looks)
    running = np.zeros((plan.poles.shape[1] + 2, size))
    look = 0
    while look < length:
        look = min(look + block, length)
        tape.fill_normals(seed, trial, tape.COVARIANCE_NOISE, records + look, 1, draws.shape[0], draws)
        for j in range(size):
            drawn = plan.drawn * deviation / plan.row[looks] * plan.scales[j] * draws[j, 0]
            noise[j] = toeplitz.decode(running, plan.poles[looks], plan.zeros[looks], j, drawn)
            seen[j] = exact[j] * (look / count) + noise[j]
        if look < length and belief.multiplies(precision, most, FAR * plan.trigger * length / look, work):
            belief.gain(seen, plan.cap, error, variance, plan.sampling, SPARE, NOISE_SHARE, precision, gained, work)
            if belief.multiplies(precision, gained, plan.trigger, work):
                break
    return look


@step
def _add_noise(noise: float, seed: int, trial: int, records: int, score: FloatArray) -> None:
    """Release a batch's score."""
    draws = np.empty((4 * ((score.size + 3) // 4), 1))
    tape.fill_normals(seed, trial, tape.ESTIMATE_NOISE, records, 1, draws.shape[0], draws)
    for j in range(score.size):
        score[j] += noise * draws[j, 0]
