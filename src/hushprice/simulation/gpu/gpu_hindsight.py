"""The best one price in hindsight on a GPU: a block of threads a trial, its customers shared out among them."""

from __future__ import annotations

from typing import Any

from numba import float64

from hushprice.demand import family, features
from hushprice.price_search import coefficients
from hushprice.simulation import contexts
from hushprice.simulation.gpu.cuda import TEAM, KernelDefinition, cuda
from hushprice.simulation.gpu.fit import total
from hushprice.simulation.gpu.kernel import Kernel
from hushprice.simulation.gpu.kernel_shape import KernelShape, with_constants
from hushprice.simulation.gpu.session import Workspace
from hushprice.simulation.gpu.substitutes import device_steps
from hushprice.simulation.hindsight import PRICES, narrow_many
from hushprice.simulation.world import customer_trial
from hushprice.types import FloatArray

_REGISTERS = 128  # a thread, as where prices are searched for


def revenue_kernel(shape: KernelShape) -> KernelDefinition:
    """`hindsight.revenue_curve` of every trial, for prices of its own: both are (trials, PRICES)."""
    d, k, constant = shape.dimension, shape.contexts, with_constants(shape._replace(single=False))
    double = device_steps(False)
    come, describe, line = double(contexts.fill), double(features.fill), double(coefficients.demand_line)
    demanded, whose = double(family.mean), double(customer_trial)

    def revenue(world, seed, first, horizon, prices, totals):  # type: ignore[no-untyped-def]
        t, local, shared = cuda.blockIdx.x, cuda.local.array, cuda.shared.array(TEAM, float64)
        x, u, v = local((k, 1), float64), local((d, 1), float64), local((d, 1), float64)
        a, b, sums = local(1, float64), local(1, float64), local(PRICES, float64)
        market = constant(world, world.theta)
        trial = whose(market.customers, first + t)
        for m in range(PRICES):
            sums[m] = 0.0
        for period in range(1 + cuda.threadIdx.x, horizon + 1, TEAM):
            come(market.stream, seed, trial, period, 1, x)
            describe(market.map, x, 1, u, v)
            line(market.theta, u, v, 1, a, b)
            for m in range(PRICES):
                p = prices[t, m]
                sums[m] += p * demanded(market.family, market.slope, a[0] + b[0] * p)
        for m in range(PRICES):
            sum_of_all = total(sums[m], shared)
            if cuda.threadIdx.x == 0:
                totals[t, m] = sum_of_all

    return KernelDefinition(revenue, _REGISTERS)


def best_prices(workspace: Workspace, kernel: Kernel, given: tuple[Any, ...], asked: Any, totals: Any) -> FloatArray:
    """Every trial's best price: the host narrows, the kernel says what prices earn, `given` its first arguments."""
    launch = kernel.prepare(workspace.team_each(asked.shape[0]), *given, asked, totals)

    def earned(prices: FloatArray) -> Any:
        workspace.copy(prices, asked)
        launch()
        return workspace.to_host(totals)

    return narrow_many(earned, asked.shape[0])
