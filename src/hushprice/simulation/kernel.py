"""One trial, compiled: the same steps as the engine, many periods at a time.

Between two estimates prices do not depend on each other, so a stretch of periods is priced at once, then walked through
record by record; when a record triggers a new estimate, the rest of the stretch is thrown away and priced again. What
comes out does not depend on the length of the stretches.
"""

from __future__ import annotations

import numpy as np

from hushprice.accounting.inexact import TOLERANCE
from hushprice.demand import family, features, welfare
from hushprice.numerics import tape
from hushprice.numerics.jit import step
from hushprice.numerics.linear import log_determinants
from hushprice.optimizer import coefficients, lanes, refresh
from hushprice.policies.protocol import CLAIRVOYANT, FIXED, LEARNING, RANDOM
from hushprice.releasers import covariance, objective_perturbation, toeplitz, tree
from hushprice.sensitive.records import hold_to_unit_ball
from hushprice.simulation import contexts
from hushprice.simulation.room import (
    CLIPPED,
    ESTIMATES,
    FAILED,
    INDEFINITE,
    REGRET,
    REVENUE,
    STRETCH,
    SURPLUS,
    Plan,
    Stretch,
    World,
    luck,
    scratch,
)
from hushprice.types import FloatArray, IntArray


@step
def arrive(world: World, seed: int, trial: int, start: int, count: int, room: Stretch) -> None:
    """Customers come; what a clairvoyant would charge them and earn."""
    contexts.fill(world.stream, seed, luck(world, trial), start, count, room.x)
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
        lanes.best_prices(
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
            first = tape.uniform(seed, answer, start + i, tape.DEMAND)
            demand[i] = family.draw(family.LOGISTIC, world.slope, world.bound, z[i], first, 0.5)
    else:
        for i in range(count):
            first, second = tape.uniforms(seed, answer, start + i, tape.DEMAND, 0)
            demand[i] = family.draw(world.family, world.slope, world.bound, z[i], first, second)
    if start <= world.changed < start + count and not np.isnan(world.changed_demand):
        demand[world.changed - start] = world.changed_demand


@step
def remember(plan: Plan, start: int, count: int, room: Stretch, phi: FloatArray, demand: FloatArray) -> None:
    """Write the stretch's records into columns start - 1, ..., each held to the unit ball."""
    u, v = room.u, room.v
    if plan.input_noise > 0.0:
        u, v = room.seen_u, room.seen_v
    price = room.out[0]
    for j in range(phi.shape[0]):
        row, left, right = phi[j, start - 1 : start - 1 + count], u[j], v[j]
        for i in range(count):
            row[i] = left[i] + price[i] * right[i]
    for i in range(count):
        demand[start - 1 + i] = room.out[4, i]
    norm2, clipped = room.curve[5], room.clipped
    for i in range(count):
        norm2[i] = 0.0
        clipped[i] = 0.0
    if plan.input_noise > 0.0:
        return  # never private, and the paper's comparison does not clip
    for j in range(phi.shape[0]):
        row = phi[j, start - 1 : start - 1 + count]
        for i in range(count):
            norm2[i] += row[i] * row[i]
    most = 0.0
    for i in range(count):
        most = max(most, norm2[i])
    if most > 1.0:
        for i in range(count):
            clipped[i] = hold_to_unit_ball(phi, start - 1 + i, 1)


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
    d, k = world.theta.size, world.stream.size
    room = scratch(k, d)
    learns = plan.code == LEARNING
    capacity = horizon if learns else 1
    phi, demand = np.empty((d, capacity)), np.empty(capacity)
    exact, running = plan.exact.copy(), plan.running.copy()
    theta, inverse = np.zeros(d), np.zeros((d, d))
    small = np.empty((2 * d + 1, d))
    for j in range(d):
        inverse[j, j] = 1.0 / plan.ridge
    current = d * np.log(plan.ridge)  # ln det of Lambda = rho I
    exact_before, running_before = exact.copy(), running.copy()
    estimates, at, estimated_at, log_det = 0, 0, 0, 0.0
    period = 1
    while period <= horizon:
        if control[0] != 0:
            return False
        count = min(min(STRETCH, max(16, period // 4)), horizon - period + 1)
        count = min(count, checkpoints[at] - period + 1)
        if learns and period <= plan.exploration:
            count = min(count, plan.exploration - period + 1)
        arrive(world, seed, trial, period, count, room)
        quote(world, plan, theta, inverse, seed, trial, period, count, room)
        respond(world, seed, trial, period, count, room)
        done = count
        if learns and estimates < plan.max_estimates:
            remember(plan, period, count, room, phi, demand)
            if plan.scales[0] > 0.0:
                tape.fill_normals(seed, trial, tape.COVARIANCE_NOISE, period, count, room.noise.shape[0], room.noise)
            exact_before[:], running_before[:] = exact, running
            covariance.outers(phi, period - 1, count, room.summands)
            _sum_up(plan, exact, running, period, count, room, room.released)
            if period > plan.exploration:
                done, log_det = _first_doubling(plan, current, period == estimated_at, count, room, totals)
            if done < count:  # take the records after it back out of the sums
                exact[:], running[:] = exact_before, running_before
                _sum_up(plan, exact, running, period, done, room, room.pivots)
                current = log_det
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
        if done < count:
            refresh.confidence(running[0], d, plan.ridge, plan.repair, inverse, small)
            tilt = small[0]
            draw(plan.estimate_noise, seed, trial, period, tape.ESTIMATE_NOISE, tilt)
            gap = objective_perturbation.minimize(
                world.family, world.slope, phi, demand, period - 1, plan.estimate_ridge, tilt, theta, fit
            )
            if not gap <= TOLERANCE:
                totals[FAILED] = 1.0  # the gap itself stays here
                return False
            draw(plan.output_noise, seed, trial, period, tape.OUTPUT_NOISE, tilt)
            for j in range(d):
                theta[j] += tilt[j]
            estimate_periods[estimates] = period
            estimates += 1
            estimated_at = period
        elif period - 1 == checkpoints[at]:
            regret_at[at] = totals[REGRET]
            at += 1
        control[counter] = period - 1
    totals[ESTIMATES] = estimates
    return True


@step
def _first_doubling(
    plan: Plan, current: float, asked: bool, count: int, room: Stretch, totals: FloatArray
) -> tuple[int, float]:
    """How many periods of the stretch pass before one asks for an estimate (`count` if none does), and its ln det.

    The first period is not asked again where it has `asked` already.
    """
    d = room.u.shape[0]
    log_determinants(room.released, plan.ridge, d, count, room.test, room.pivots)
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
def draw(noise: float, seed: int, trial: int, period: int, stream: int, out: FloatArray) -> None:
    """Independent Gaussians of this deviation: w of alg:private-mle, line 3, and the output noise."""
    draws = np.empty((4 * ((out.size + 3) // 4), 1))
    tape.fill_normals(seed, trial, stream, period, 1, draws.shape[0], draws)
    for j in range(out.size):
        out[j] = noise * draws[j, 0]
