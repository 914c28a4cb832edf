"""One trial, compiled: the same steps as the engine, many periods at a time.

Between two estimates prices do not depend on each other, so a stretch of periods is priced at once, then walked through
record by record; when a record triggers a new estimate, the rest of the stretch is thrown away and priced again. What
comes out does not depend on the length of the stretches.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hushprice.demand import family, features, welfare
from hushprice.mechanisms import toeplitz, tree
from hushprice.numerics import tape
from hushprice.numerics.jit import inlined, step
from hushprice.numerics.linear import log_determinants
from hushprice.policies.paper.pricing import refresh
from hushprice.policies.paper.private import covariance, solver
from hushprice.policies.paper.tolerance import TOLERANCE
from hushprice.price_search import coefficients, one
from hushprice.records import hold_to_unit_ball
from hushprice.simulation import contexts
from hushprice.simulation.kernels.price_codes import CLAIRVOYANT, FIXED, LEARNING, RANDOM
from hushprice.simulation.scratch import (
    CLIPPED,
    ESTIMATES,
    FAILED,
    INDEFINITE,
    REGRET,
    REVENUE,
    SURPLUS,
    Kept,
    Plan,
    Stretch,
    World,
    luck,
    scratch,
)
from hushprice.types import FloatArray, IntArray


@step
def arrive(world: World, seed: int, trial: int, start: int, count: int, room: Stretch) -> None:
    """Customers come; what a clairvoyant would charge them and earn.

    Where one number decides what a customer does it is drawn now, into the row of demands: a GPU draws all numbers of a
    period side by side.
    """
    drawn = luck(world, trial)
    if world.family == family.LOGISTIC:
        for i in range(count):
            room.out[4, i] = tape.uniform(seed, drawn, start + i, tape.DEMAND)
    contexts.fill(world.stream, seed, drawn, start, count, room.x)
    if start <= world.changed < start + count:
        for j in range(world.changed_x.size):
            room.x[j, world.changed - start] = world.changed_x[j]
    features.fill(world.map, room.x, count, room.u, room.v)
    a, b, best, worth = room.line[0], room.line[1], room.line[2], room.line[3]
    coefficients.demand_line(world.theta, room.u, room.v, count, a, b)
    for i in range(count):
        best[i] = welfare.clairvoyant_price(world.family, world.slope, a[i], b[i])
    for i in range(count):
        worth[i] = welfare.revenue(world.family, world.slope, a[i], b[i], best[i])


@step
def quote(
    world: World,
    plan: Plan,
    theta: FloatArray,
    inverse: FloatArray,
    seed: int,
    trial: int,
    start: int,
    count: int,
    room: Stretch,
) -> None:
    """The policy's prices, from releases and the customers' own contexts alone."""
    price = room.out[0]
    coin = luck(world, trial)
    if plan.code == RANDOM or (plan.code == LEARNING and start <= plan.exploration):
        for i in range(count):
            price[i] = tape.uniform(seed, coin, start + i, tape.EXPLORATION)
    elif plan.code == FIXED:
        for i in range(count):
            price[i] = plan.price
    elif plan.code == CLAIRVOYANT:
        for i in range(count):
            price[i] = room.line[2, i]
    if plan.code != LEARNING:
        return
    u, v = room.u, room.v
    if plan.input_noise > 0.0:
        contexts.perturb(room.x, plan.input_noise, seed, trial, start, count, room.seen_x)
        u, v = room.seen_u, room.seen_v
        features.fill(world.map, room.seen_x, count, u, v)
    if start > plan.exploration:
        curve = room.curve
        coefficients.demand_line(theta, u, v, count, curve[0], curve[1])
        coefficients.bonus_curve(inverse, u, v, count, curve[2], curve[3], curve[4], curve[5:7])
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


@step
def respond(world: World, seed: int, trial: int, start: int, count: int, room: Stretch) -> None:
    """Customers answer the prices; what that is worth."""
    answer = luck(world, trial)
    a, b = room.line[0], room.line[1]
    price, z, revenue, surplus, demand = room.out[0], room.out[1], room.out[2], room.out[3], room.out[4]
    for i in range(count):
        z[i] = a[i] + b[i] * price[i]
    for i in range(count):
        revenue[i] = price[i] * family.mean(world.family, world.slope, z[i])
    for i in range(count):
        surplus[i] = welfare.surplus(world.family, world.slope, z[i])
    if world.family == family.LOGISTIC:  # apart from the others, so that it vectorizes
        for i in range(count):
            demand[i] = family.draw(family.LOGISTIC, world.slope, world.bound, z[i], demand[i], 0.5)
    else:
        for i in range(count):
            first, second = tape.uniforms(seed, answer, start + i, tape.DEMAND, 0)
            demand[i] = family.draw(world.family, world.slope, world.bound, z[i], first, second)
    if start <= world.changed < start + count and not np.isnan(world.changed_demand):
        demand[world.changed - start] = world.changed_demand


@step
def remember(plan: Plan, start: int, count: int, room: Stretch, phi: FloatArray, demand: FloatArray) -> None:
    """Write the stretch's records into columns start - 1, ..., each held to the unit ball.

    They are made in room.seen_u, which nobody needs any more: what comes next reads them there. A GPU would wait for
    what it has just written to the records to come back.
    """
    u, v, made = room.u, room.v, room.seen_u
    if plan.input_noise > 0.0:
        u, v = room.seen_u, room.seen_v
    price = room.out[0]
    for j in range(made.shape[0]):  # known when compiled for a GPU, unlike that of phi
        row, left, right = made[j], u[j], v[j]
        for i in range(count):
            row[i] = left[i] + price[i] * right[i]
    _hold(plan, count, room)
    for j in range(made.shape[0]):
        kept, row = phi[j, start - 1 : start - 1 + count], made[j]
        for i in range(count):
            kept[i] = row[i]
    for i in range(count):
        demand[start - 1 + i] = room.out[4, i]


@step
def _hold(plan: Plan, count: int, room: Stretch) -> None:
    """Hold the records in room.seen_u to the unit ball."""
    norm2, clipped, made = room.curve[5], room.clipped, room.seen_u
    for i in range(count):
        norm2[i] = 0.0
        clipped[i] = 0.0
    if plan.input_noise > 0.0:
        return  # never private, and the paper's comparison does not clip
    for j in range(made.shape[0]):
        row = made[j]
        for i in range(count):
            norm2[i] += row[i] * row[i]
    most = 0.0
    for i in range(count):
        most = max(most, norm2[i])
    if most > 1.0:
        for i in range(count):
            clipped[i] = hold_to_unit_ball(made, i, 1)


class Sitting(NamedTuple):
    """Where one trial of alg:framework is, and its scratch."""

    place: IntArray  # period, estimates, checkpoints passed, period of the last estimate
    current: FloatArray  # ln det of Lambda at the last estimate
    theta: FloatArray
    inverse: FloatArray
    exact: FloatArray
    running: FloatArray
    exact_before: FloatArray  # shaped like exact and running; never used where stretches are one period long
    running_before: FloatArray
    small: FloatArray  # (2 d + 1, d)
    phi: FloatArray  # the records
    demand: FloatArray


PERIOD, MADE, PASSED, LAST = range(4)  # of Sitting.place
OVER, STOPPED, DUE = range(3)  # why `advance` came back


@step
def run_trial(
    world: World,
    plan: Plan,
    seed: int,
    trial: int,
    horizon: int,
    checkpoints: IntArray,
    regret_at: FloatArray,
    totals: FloatArray,
    estimate_periods: IntArray,
    prices: FloatArray,
    fit: FloatArray,
    control: IntArray,
    counter: int,
) -> bool:
    """Run one trial; False when control[0] was raised meanwhile or an estimate failed.

    `prices` is (T,) to keep every price, or empty; `fit` is the estimate's scratch; control[counter] counts periods.
    """
    d = world.theta.size
    room = scratch(world.stream.size, d)
    capacity = horizon if plan.code == LEARNING else 1
    sitting = Sitting(
        np.empty(4, dtype=np.int64),
        np.empty(1),
        np.empty(d),
        np.empty((d, d)),
        plan.exact.copy(),
        plan.running.copy(),
        plan.exact.copy(),
        plan.running.copy(),
        np.empty((2 * d + 1, d)),
        np.empty((d, capacity)),
        np.empty(capacity),
    )
    kept = checkpoints, regret_at, totals, estimate_periods, prices
    sit_down(plan, sitting)
    while True:
        why = advance(world, plan, seed, trial, horizon, kept, control, counter, room, sitting)
        if why != DUE:
            return why == OVER
        if not estimate(world, plan, seed, trial, sitting, estimate_periods, fit):
            totals[FAILED] = 1.0  # the gap itself stays there
            return False


@step
def sit_down(plan: Plan, sitting: Sitting) -> None:
    """Before the first period: theta = 0, Lambda = rho I, an empty covariance stream."""
    place, d = sitting.place, sitting.theta.size
    place[PERIOD], place[MADE], place[PASSED], place[LAST] = 1, 0, 0, 0
    sitting.current[0] = d * np.log(plan.ridge)
    for j in range(d):
        sitting.theta[j] = 0.0
        for i in range(d):
            sitting.inverse[i, j] = 1.0 / plan.ridge if i == j else 0.0
    _copy(plan.exact, sitting.exact)
    _copy(plan.running, sitting.running)


@step
def advance(
    world: World,
    plan: Plan,
    seed: int,
    trial: int,
    horizon: int,
    kept: Kept,
    control: IntArray,
    counter: int,
    room: Stretch,
    sitting: Sitting,
) -> int:
    """Go on until a period asks for an estimate, to the horizon, or until control[0] is raised: says which."""
    checkpoints, regret_at, totals, _, prices = kept
    place = sitting.place
    width, learns = room.out.shape[1], plan.code == LEARNING
    period, at = place[PERIOD], place[PASSED]
    mark = checkpoints[min(at, checkpoints.size - 1)]  # not read again in every period: a GPU would wait for it
    while period <= horizon:
        if control.size > 0 and control[0] != 0:
            return STOPPED
        count = 1  # known when compiled where rooms are one period wide: a GPU keeps such rooms in registers
        if width > 1:
            count = min(min(width, max(16, period // 4)), horizon - period + 1)
            count = min(count, mark - period + 1)
            if learns and period <= plan.exploration:
                count = min(count, plan.exploration - period + 1)
        arrive(world, seed, trial, period, count, room)
        quote(world, plan, sitting.theta, sitting.inverse, seed, trial, period, count, room)
        respond(world, seed, trial, period, count, room)
        done = count
        if learns and place[MADE] < plan.max_estimates:
            remember(plan, period, count, room, sitting.phi, sitting.demand)
            if plan.scales[0] > 0.0:
                tape.fill_normals(seed, trial, tape.COVARIANCE_NOISE, period, count, room.noise.shape[0], room.noise)
            covariance.outers(room.seen_u, 0, count, room.summands)
            done = _absorb(plan, period, count, room, sitting, totals)
            for i in range(done):
                totals[CLIPPED] += room.clipped[i]
        regret, revenue, surplus = totals[REGRET], totals[REVENUE], totals[SURPLUS]
        for i in range(done):
            regret += room.line[3, i] - room.out[2, i]
            revenue += room.out[2, i]
            surplus += room.out[3, i]
        totals[REGRET], totals[REVENUE], totals[SURPLUS] = regret, revenue, surplus
        if prices.size > 0:
            for i in range(done):
                prices[period - 1 + i] = room.out[0, i]
        period += done
        place[PERIOD] = period
        if control.size > 0:
            control[counter] = period - 1
        if done < count:
            return DUE
        if period - 1 == mark:
            regret_at[at] = totals[REGRET]
            at += 1
            place[PASSED] = at
            mark = checkpoints[min(at, checkpoints.size - 1)]
    totals[ESTIMATES] = place[MADE]
    return OVER


@step
def _absorb(plan: Plan, period: int, count: int, room: Stretch, sitting: Sitting, totals: FloatArray) -> int:
    """Add the stretch's records to the covariance stream; returns how many, up to the one that asks for an estimate."""
    exact, running, d = sitting.exact, sitting.running, sitting.theta.size
    if count > 1:
        _copy(exact, sitting.exact_before)
        _copy(running, sitting.running_before)
        _sum_up(plan, exact, running, period, count, room, room.released)
    else:  # what was known before the one record is known already
        for k in range(room.released.shape[0]):
            room.released[k, 0] = running[0, k]
    done = count
    if period > plan.exploration:
        asked = period == sitting.place[LAST]
        done, log_det = _first_doubling(plan, sitting.current[0], asked, count, room, sitting.small[:d], totals)
        sitting.current[0] = log_det
    if count > 1 and done < count:  # take the records after it back out of the sums
        _copy(sitting.exact_before, exact)
        _copy(sitting.running_before, running)
        _sum_up(plan, exact, running, period, done, room, room.pivots)
    elif count == 1 and done == 1:
        _add_one(plan, exact, running, period, room)
    return done


@step
def estimate(
    world: World,
    plan: Plan,
    seed: int,
    trial: int,
    sitting: Sitting,
    estimate_periods: IntArray,
    fit: FloatArray,
) -> bool:
    """The estimate that the period reached asks for; False where it missed its certified tolerance."""
    theta, small, place = sitting.theta, sitting.small, sitting.place
    period, d = place[PERIOD], theta.size
    refresh.confidence(sitting.running[0], d, plan.ridge, plan.repair, sitting.inverse, small)
    tilt = small[0]
    draw(plan.estimate_noise, seed, trial, period, tape.ESTIMATE_NOISE, tilt)
    records, demand = sitting.phi, sitting.demand
    gap = solver.minimize(world.family, world.slope, records, demand, period - 1, plan.estimate_ridge, tilt, theta, fit)
    return settle(plan, seed, trial, sitting, estimate_periods, gap)


@step
def settle(plan: Plan, seed: int, trial: int, sitting: Sitting, estimate_periods: IntArray, gap: float) -> bool:
    """Take the minimizer found as the estimate, with its output noise; False where its gap is too wide."""
    theta, tilt, place = sitting.theta, sitting.small[0], sitting.place
    period, d = place[PERIOD], theta.size
    if not gap <= TOLERANCE:
        return False
    draw(plan.output_noise, seed, trial, period, tape.OUTPUT_NOISE, tilt)
    for j in range(d):
        theta[j] += tilt[j]
    estimate_periods[place[MADE]] = period
    place[MADE] += 1
    place[LAST] = period
    return True


@inlined
def _copy(source: FloatArray, target: FloatArray) -> None:
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]


@step
def _first_doubling(
    plan: Plan, current: float, asked: bool, count: int, room: Stretch, square: FloatArray, totals: FloatArray
) -> tuple[int, float]:
    """How many periods of the stretch pass before one asks for an estimate (`count` if none does), and its ln det.

    The first period is not asked again where it has `asked` already.
    """
    d = room.u.shape[0]
    log_determinants(room.released, plan.ridge, d, count, room.test, room.pivots, square)
    for i in range(1 if asked else 0, count):
        if not room.test[2, i] > 0.0:
            totals[INDEFINITE] += 1.0
        if refresh.wants_estimate(room.test[0, i], room.test[1, i], current):
            return i, room.test[1, i]
    return count, current


@step
def _sum_up(
    plan: Plan, exact: FloatArray, running: FloatArray, period: int, count: int, room: Stretch, released: FloatArray
) -> None:
    """Add `count` records to the covariance stream; `released` gets what was known before each."""
    if plan.poles.size > 0:
        toeplitz.absorb_many(
            exact, running, plan.poles, plan.zeros, count, room.summands, room.noise, plan.scales, released
        )
    else:
        tree.absorb_many(exact, running, period, count, room.summands, room.noise, plan.scales, released)


@step
def _add_one(plan: Plan, exact: FloatArray, running: FloatArray, period: int, room: Stretch) -> None:
    """`_sum_up` for one record."""
    summand, noise = room.summands[:, 0], room.pivots[:, 0]
    for k in range(noise.size):
        noise[k] = plan.scales[k] * room.noise[k, 0]
    if plan.poles.size > 0:
        toeplitz.absorb(exact, running, plan.poles, plan.zeros, summand, noise)
    else:
        tree.absorb(exact, running, period, summand, noise)


@step
def draw(noise: float, seed: int, trial: int, period: int, stream: int, out: FloatArray) -> None:
    """Independent Gaussians of this deviation: w of alg:private-mle, line 3, and the output noise."""
    tape.take_normals(seed, trial, period, stream, out)
    for j in range(out.size):
        out[j] *= noise
