"""noisy-newton's prices for a stretch of simulated customers."""

from __future__ import annotations

from typing import NamedTuple

from hushprice.numerics.jit import merged
from hushprice.policies.newton.pricing import dispersion as spread
from hushprice.policies.newton.pricing import probe
from hushprice.policies.newton.pricing.transition import BatchRules, TiltedBelief
from hushprice.price_search import coefficients, many
from hushprice.simulation.scratch import Stretch
from hushprice.simulation.world import KernelMarket
from hushprice.types import FloatArray


class NewtonPlan(NamedTuple):
    """The rules as the kernels take them."""

    batches: BatchRules
    center: FloatArray
    reference_price: float
    dispersion: float
    width: float
    spread: float
    lowest: float
    drawn: float  # 1, or 0 where noise is left out
    poles: FloatArray  # a row a level
    zeros: FloatArray
    scales: FloatArray  # of the entries of a packed matrix: isotropic in Frobenius norm


@merged
def quote(
    world: KernelMarket, plan: NewtonPlan, believed: TiltedBelief, ready: bool, count: int, stretch: Stretch
) -> None:
    """Prices from the belief, or around the reference price where it is not worth using yet.

    The coins that disperse them are in the first row of stretch.test.
    """
    price, coins = stretch.out[0], stretch.test[0]
    if not ready:
        for i in range(count):
            moved = plan.reference_price + plan.dispersion * (2.0 * coins[i] - 1.0)
            price[i] = min(max(moved, 0.0), 1.0)
        return
    curve = stretch.curve
    a, b, q0, q1, q2, up, down = curve[0], curve[1], curve[2], curve[3], curve[4], curve[5], curve[6]
    coefficients.demand_line(believed.theta, stretch.u, stretch.v, count, a, b)
    coefficients.bonus_curve(believed.inverse, stretch.u, stretch.v, count, q0, q1, q2, curve[5:7])
    if probe.is_on(believed.tilt):
        coefficients.demand_line(believed.tilt, stretch.u, stretch.v, count, up, down)
        probe.move_lines(world.family, world.slope, plan.batches.near, 0.0, count, up, down, a, b, q1, q2)
    spread.spread_lines(plan.spread, count, coins, a, b, q1, q2)
    many.best_prices(world.family, world.slope, plan.width, count, a, b, q0, q1, q2, price, stretch.search)
