"""Trials of policies that learn nothing: random prices, one price for all, and the clairvoyant's."""

from __future__ import annotations

from hushprice.numerics.jit import merged, step
from hushprice.simulation.kernels.customers import arrive, draw_coins, respond
from hushprice.simulation.scratch import Stretch, new_stretch
from hushprice.simulation.tally import REGRET, REVENUE, SURPLUS
from hushprice.simulation.world import (
    CLAIRVOYANT,
    FIXED,
    OVER,
    STOPPED,
    KernelMarket,
    KernelPolicy,
    TrialInput,
    TrialOutput,
    customer_trial,
)
from hushprice.types import FloatArray


def run_baseline(world: KernelMarket, plan: KernelPolicy, given: TrialInput, output: TrialOutput) -> bool:
    """Run one trial; False when it was stopped meanwhile."""
    stretch = new_stretch(world.stream.size, world.theta.size)
    return bool(_play(world, plan, given, output, stretch) == OVER)


@step
def _play(world: KernelMarket, plan: KernelPolicy, given: TrialInput, output: TrialOutput, stretch: Stretch) -> int:
    """From the first period to the horizon, or until the trial is stopped: says which."""
    period, width = 1, stretch.out.shape[1]
    for at in range(output.checkpoints.size):
        mark = output.checkpoints[at]
        while period <= mark:
            if given.control[0] != 0:
                return STOPPED
            count = min(width, mark - period + 1)
            arrive(world, given.seed, given.trial, period, count, stretch)
            quote_blindly(world, plan, given.seed, given.trial, period, count, stretch)
            respond(world, given.seed, given.trial, period, count, stretch)
            add_up(count, stretch.line[3], stretch.out, output.totals)
            if output.prices.size > 0:
                for i in range(count):
                    output.prices[period - 1 + i] = stretch.out[0, i]
            period += count
            given.control[given.counter] = period - 1
        output.regret_at[at] = output.totals[REGRET]
    return OVER


@merged
def quote_blindly(
    world: KernelMarket, plan: KernelPolicy, seed: int, trial: int, start: int, count: int, stretch: Stretch
) -> None:
    """Prices that depend on nothing learned; alg:framework explores by random ones."""
    price = stretch.out[0]
    if plan.code == FIXED:
        for i in range(count):
            price[i] = plan.price
    elif plan.code == CLAIRVOYANT:
        for i in range(count):
            price[i] = stretch.line[2, i]
    else:
        draw_coins(seed, customer_trial(world.customers, trial), start, count, price)


@merged
def add_up(count: int, best: FloatArray, out: FloatArray, totals: FloatArray) -> None:
    """Regret, revenue and surplus of the first `count` periods into the totals, one by one."""
    regret, revenue, surplus = totals[REGRET], totals[REVENUE], totals[SURPLUS]
    for i in range(count):
        regret += best[i] - out[2, i]
        revenue += out[2, i]
        surplus += out[3, i]
    totals[REGRET], totals[REVENUE], totals[SURPLUS] = regret, revenue, surplus
