"""One trial of noisy-newton, compiled: the steps the engine calls, a block of periods at a time.

Between two looks at a batch nothing is released, so prices of a whole block are independent of each other. Records are
added to their batch's sums as they come and kept nowhere.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hushprice.mechanisms import toeplitz
from hushprice.numerics import tape
from hushprice.numerics.jit import step
from hushprice.numerics.linear import packed_size
from hushprice.policies.newton.pricing import belief, probe, schedule
from hushprice.policies.newton.pricing import dispersion as spread
from hushprice.policies.newton.private import scores
from hushprice.policies.newton.rules import BLOCKS, EARLY, GROWTH, KNOWN, NOISE_SHARE, PRECISION, SPARE
from hushprice.price_search import coefficients, one
from hushprice.records import hold_to_unit_ball
from hushprice.simulation.kernels.paper import DUE, OVER, STOPPED, arrive, respond
from hushprice.simulation.scratch import (
    CLIPPED,
    ESTIMATES,
    REGRET,
    REVENUE,
    START,
    STRETCH,
    SURPLUS,
    Kept,
    Stretch,
    World,
    luck,
    scratch,
)
from hushprice.types import FloatArray, IntArray


class NewtonPlan(NamedTuple):
    """The rules as the kernel takes them."""

    center: FloatArray
    price_effect: FloatArray  # v(0): how a price enters the features of the customer x = 0
    reference_u: FloatArray  # customers who decide about probes, a column each
    reference_v: FloatArray
    reference_price: float
    dispersion: float
    first: int
    cap: float
    sampling: float
    width: float
    spread: float
    probe: float
    reach: float
    least: float
    near: float
    trigger: float
    lowest: float
    levels: int
    score_noise: float
    curvature_noise: float
    drawn: float  # 1, or 0 where noise is left out
    poles: FloatArray  # a row a level, as are the next three
    zeros: FloatArray
    column: FloatArray
    row: FloatArray
    scales: FloatArray  # of the entries of a packed matrix: isotropic in Frobenius norm


@step
def toss(world: World, seed: int, trial: int, start: int, count: int, room: Stretch) -> None:
    """The coins by which prices are dispersed."""
    coin = luck(world, trial)
    for i in range(count):
        room.test[0, i] = tape.uniform(seed, coin, start + i, tape.EXPLORATION)


@step
def quote(
    world: World,
    plan: NewtonPlan,
    theta: FloatArray,
    inverse: FloatArray,
    tilt: FloatArray,
    ready: bool,
    count: int,
    room: Stretch,
) -> None:
    """Prices from the belief, or around the reference price where it is not worth using yet; `toss` comes first."""
    price, uniforms = room.out[0], room.test[0]
    if not ready:
        for i in range(count):
            moved = plan.reference_price + plan.dispersion * (2.0 * uniforms[i] - 1.0)
            price[i] = min(max(moved, 0.0), 1.0)
        return
    curve = room.curve
    coefficients.demand_line(theta, room.u, room.v, count, curve[0], curve[1])
    coefficients.bonus_curve(inverse, room.u, room.v, count, curve[2], curve[3], curve[4], curve[5:7])
    if probe.is_on(tilt):
        up, down = curve[5], curve[6]
        coefficients.demand_line(tilt, room.u, room.v, count, up, down)
        probe.move_lines(
            world.family, world.slope, plan.near, 0.0, count, up, down, curve[0], curve[1], curve[3], curve[4]
        )
    spread.spread_lines(plan.spread, count, uniforms, curve[0], curve[1], curve[3], curve[4])
    one.best_prices(
        world.family,
        world.slope,
        plan.width,
        count,
        curve[0],
        curve[1],
        curve[2],
        curve[3],
        curve[4],
        price,
        room.search,
    )


class Desk(NamedTuple):
    """Where one trial is: the batch at hand, the belief, and scratch."""

    place: IntArray
    phi: FloatArray  # of the stretch
    terms: FloatArray
    score: FloatArray
    noisy_score: FloatArray
    exact: FloatArray
    curvature: FloatArray
    running: FloatArray
    theta: FloatArray
    precision: FloatArray
    inverse: FloatArray
    tilt: FloatArray  # of the batch: zeros unless it is a probe
    gained: FloatArray
    work: FloatArray


# Desk.place: the period at hand; the batch's end, level and block; the next look; is the belief worth pricing by, and
# how often it moved, early how often; checkpoints passed.
PLACES = 9
PERIOD, END, LEVEL, BLOCK, LOOK, READY, MADE, SOON, PASSED = range(PLACES)


@step
def begin_probe(
    world: World,
    plan: NewtonPlan,
    theta: FloatArray,
    inverse: FloatArray,
    batches: int,
    records: int,
    end: int,
    tilt: FloatArray,
    work: FloatArray,
) -> int:
    """Where the batch that begins ends at the latest; its tilt, zero unless it is a probe, into `tilt`."""
    return probe.begin(
        world.family,
        world.slope,
        plan.probe,
        plan.reach,
        plan.least,
        plan.near,
        0.0,
        theta,
        inverse,
        plan.reference_u,
        plan.reference_v,
        batches,
        records,
        end,
        tilt,
        work,
    )


@step
def run_newton(
    world: World,
    plan: NewtonPlan,
    seed: int,
    trial: int,
    horizon: int,
    checkpoints: IntArray,
    regret_at: FloatArray,
    totals: FloatArray,
    estimate_periods: IntArray,
    prices: FloatArray,
    control: IntArray,
    counter: int,
) -> bool:
    """Run one trial; False when control[0] was raised meanwhile. The arguments are those of kernel.run_trial."""
    d = world.theta.size
    size = packed_size(d)
    desk = Desk(
        np.empty(PLACES, dtype=np.int64),
        np.empty((d, STRETCH)),
        np.empty((scores.ROWS, STRETCH)),
        np.empty(d),
        np.empty(d),
        np.empty(size),
        np.empty(size),
        np.empty((plan.poles.shape[1] + 2, size)),
        np.empty(d),
        np.empty((d, d)),
        np.empty((d, d)),
        np.empty(d),
        np.empty((d, d)),
        np.empty(probe.work_shape(d)),
    )
    room = scratch(world.stream.size, d)
    kept = checkpoints, regret_at, totals, estimate_periods, prices
    sit_down(plan, desk)
    while True:
        why = advance(world, plan, seed, trial, horizon, kept, control, counter, room, desk)
        if why != DUE:
            return why == OVER
        release(world, plan, seed, trial, desk, estimate_periods)


@step
def sit_down(plan: NewtonPlan, desk: Desk) -> None:
    """Before the first period: the first belief, and an empty batch."""
    d = desk.theta.size
    for j in range(d):
        desk.theta[j] = plan.center[j]
        desk.tilt[j] = 0.0
        for i in range(d):
            desk.precision[i, j] = PRECISION if i == j else 0.0
            desk.inverse[i, j] = 1.0 / PRECISION if i == j else 0.0
    for at in range(PLACES):
        desk.place[at] = 0
    desk.place[PERIOD] = 1
    _begin_batch(plan, desk, plan.first)


@step
def advance(
    world: World,
    plan: NewtonPlan,
    seed: int,
    trial: int,
    horizon: int,
    kept: Kept,
    control: IntArray,
    counter: int,
    room: Stretch,
    desk: Desk,
) -> int:
    """Go on until a release is due, to the horizon, or until control[0] is raised: says which.

    Stretches are as long as the room is wide.
    """
    checkpoints, regret_at, totals, _, prices = kept
    phi, terms, place = desk.phi, desk.terms, desk.place
    period, at, look, ready = place[PERIOD], place[PASSED], place[LOOK], place[READY] > 0
    mark = checkpoints[min(at, checkpoints.size - 1)]  # not read again in every period: a GPU would wait for it
    while period <= horizon:
        if control.size > 0 and control[0] != 0:
            return STOPPED
        count = 1  # known when compiled where rooms are one period wide: a GPU keeps such rooms in registers
        if phi.shape[1] > 1:
            count = min(min(phi.shape[1], horizon - period + 1), min(look, mark) - period + 1)
        toss(world, seed, trial, period, count, room)
        arrive(world, seed, trial, period, count, room)
        quote(world, plan, desk.theta, desk.inverse, desk.tilt, ready, count, room)
        respond(world, seed, trial, period, count, room)
        for j in range(desk.theta.size):
            row, left, right = phi[j], room.u[j], room.v[j]
            for i in range(count):
                row[i] = left[i] + room.out[0, i] * right[i]
        totals[CLIPPED] += hold_to_unit_ball(phi, 0, count)
        scores.weigh(
            world.family,
            world.slope,
            plan.lowest,
            world.bound,
            plan.cap,
            desk.theta,
            desk.inverse,
            phi,
            room.out[4],
            count,
            terms,
        )
        scores.add_up(phi, count, terms, desk.score, desk.exact)
        regret, revenue, surplus = 0.0, 0.0, 0.0
        for i in range(count):
            regret += room.line[3, i] - room.out[2, i]
            revenue += room.out[2, i]
            surplus += room.out[3, i]
        totals[REGRET] += regret
        totals[REVENUE] += revenue
        totals[SURPLUS] += surplus
        if not ready:
            totals[START] += regret
        if prices.size > 0:
            for i in range(count):
                prices[period - 1 + i] = room.out[0, i]
        period += count
        if period - 1 == mark:
            regret_at[at] = totals[REGRET]
            at += 1
            mark = checkpoints[min(at, checkpoints.size - 1)]
        if control.size > 0:
            control[counter] = period - 1
        if period > look and period <= horizon:
            place[PERIOD], place[PASSED] = period, at
            return DUE
    place[PERIOD], place[PASSED] = period, at
    totals[ESTIMATES] = place[MADE]
    return OVER


@step
def release(world: World, plan: NewtonPlan, seed: int, trial: int, desk: Desk, estimate_periods: IntArray) -> None:
    """Look at the batch after the period reached; end it and move the belief where it is time or the trigger asks."""
    place, level = desk.place, desk.place[LEVEL]
    records = place[PERIOD] - 1
    noise = plan.score_noise * plan.score_noise
    deviation = plan.curvature_noise * plan.column[level]
    error = plan.cap * deviation * plan.row[level]
    _look(plan, level, deviation, desk, seed, trial, records)
    ends = records >= place[END]
    if not ends and plan.trigger > 0.0 and place[SOON] < EARLY:
        belief.gain(
            desk.curvature,
            plan.cap,
            error,
            noise,
            plan.sampling,
            SPARE,
            NOISE_SHARE,
            desk.precision,
            desk.gained,
            desk.work,
        )
        ends = belief.multiplies(desk.precision, desk.gained, plan.trigger, desk.work)
        place[SOON] += 1 if ends else 0
    if not ends:
        place[LOOK] = min(records + place[BLOCK], place[END])
        return
    _add_noise(plan.score_noise * plan.drawn, seed, trial, records, desk)
    belief.update(
        desk.noisy_score,
        desk.curvature,
        plan.cap,
        error,
        noise,
        plan.sampling,
        NOISE_SHARE,
        desk.theta,
        desk.precision,
        desk.inverse,
        desk.work,
    )
    known = KNOWN / PRECISION * belief.squared_length(plan.price_effect)
    if belief.variance_along(desk.inverse, plan.price_effect) <= known:
        place[READY] = 1
    estimate_periods[place[MADE]] = records + 1
    place[MADE] += 1
    end = schedule.batch_end(records, plan.first, GROWTH)
    if place[READY] > 0:
        end = begin_probe(world, plan, desk.theta, desk.inverse, place[MADE], records, end, desk.tilt, desk.work)
    _begin_batch(plan, desk, end)


@step
def _begin_batch(plan: NewtonPlan, desk: Desk, end: int) -> None:
    """The next batch, which ends at `end` at the latest: how it is looked at, and empty sums."""
    place = desk.place
    records = place[PERIOD] - 1
    level = schedule.block_level(end - records, BLOCKS, plan.levels)
    block = schedule.block_length(end - records, level)
    place[END], place[LEVEL], place[BLOCK], place[LOOK] = end, level, block, min(records + block, end)
    for j in range(desk.score.size):
        desk.score[j] = 0.0
    for j in range(desk.exact.size):
        desk.exact[j] = 0.0
        for memory in range(desk.running.shape[0]):
            desk.running[memory, j] = 0.0


@step
def _look(plan: NewtonPlan, level: int, deviation: float, desk: Desk, seed: int, trial: int, records: int) -> None:
    """Release the batch's curvature so far."""
    out = desk.curvature  # the normals come there first
    tape.take_normals(seed, trial, records, tape.COVARIANCE_NOISE, out)
    scale = plan.drawn * deviation
    toeplitz.look(desk.exact, desk.running, plan.poles[level], plan.zeros[level], scale, plan.scales, out, out)


@step
def _add_noise(noise: float, seed: int, trial: int, records: int, desk: Desk) -> None:
    """Release a batch's score."""
    out = desk.noisy_score
    tape.take_normals(seed, trial, records, tape.ESTIMATE_NOISE, out)
    for j in range(out.size):
        out[j] = desk.score[j] + noise * out[j]
