"""alg:framework's prices for a stretch of simulated customers, and the records they make."""

from __future__ import annotations

from hushprice.demand import features
from hushprice.numerics.jit import merged, step
from hushprice.price_search import coefficients, many
from hushprice.records import hold_to_unit_ball
from hushprice.simulation import contexts
from hushprice.simulation.kernels.baselines import quote_blindly
from hushprice.simulation.scratch import Stretch
from hushprice.simulation.world import LEARNING, KernelMarket, KernelPolicy
from hushprice.types import FloatArray


@merged
def quote(
    world: KernelMarket,
    plan: KernelPolicy,
    theta: FloatArray,
    inverse: FloatArray,
    seed: int,
    trial: int,
    start: int,
    count: int,
    stretch: Stretch,
) -> None:
    """The policy's prices, from releases and the customers' own contexts alone."""
    if plan.code != LEARNING or start <= plan.exploration:
        quote_blindly(world, plan, seed, trial, start, count, stretch)
    if plan.code != LEARNING:
        return
    u, v = stretch.u, stretch.v
    if plan.input_noise > 0.0:
        contexts.perturb(stretch.x, plan.input_noise, seed, trial, start, count, stretch.seen_x)
        u, v = stretch.seen_u, stretch.seen_v
        features.fill(world.map, stretch.seen_x, count, u, v)
    if start > plan.exploration:
        curve, price = stretch.curve, stretch.out[0]
        a, b, q0, q1, q2 = curve[0], curve[1], curve[2], curve[3], curve[4]
        coefficients.demand_line(theta, u, v, count, a, b)
        coefficients.bonus_curve(inverse, u, v, count, q0, q1, q2, curve[5:7])
        many.best_prices(world.family, world.slope, plan.width, count, a, b, q0, q1, q2, price, stretch.search)


@merged
def remember(plan: KernelPolicy, start: int, count: int, stretch: Stretch, phi: FloatArray, demand: FloatArray) -> None:
    """Write the stretch's records into columns start - 1, ..., each held to the unit ball.

    They are made in stretch.seen_u, which nobody needs any more: what comes next reads them there. A GPU would wait for
    what it has just written to the records to come back.
    """
    u, v, made = stretch.u, stretch.v, stretch.seen_u
    if plan.input_noise > 0.0:
        u, v = stretch.seen_u, stretch.seen_v
    price = stretch.out[0]
    for j in range(made.shape[0]):  # known when compiled for a GPU, unlike that of phi
        row, left, right = made[j], u[j], v[j]
        for i in range(count):
            row[i] = left[i] + price[i] * right[i]
    _hold(plan, count, stretch)
    for j in range(made.shape[0]):
        record, row = phi[j, start - 1 : start - 1 + count], made[j]
        for i in range(count):
            record[i] = row[i]
    for i in range(count):
        demand[start - 1 + i] = stretch.out[4, i]


@step
def _hold(plan: KernelPolicy, count: int, stretch: Stretch) -> None:
    """Hold the records in stretch.seen_u to the unit ball."""
    norm2, clipped, made = stretch.curve[5], stretch.clipped, stretch.seen_u
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
