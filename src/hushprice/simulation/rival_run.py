"""One trial of a rival in a market: its own Python between refits, the compiled customers around it."""

from __future__ import annotations

import numpy as np

from hushprice.errors import InvalidInput
from hushprice.policies.rival_parts.frame import Customers
from hushprice.policies.rival_parts.rival_policy import RivalPolicy
from hushprice.simulation.kernels.baselines import add_up
from hushprice.simulation.kernels.customers import arrive, respond
from hushprice.simulation.scratch import new_stretch
from hushprice.simulation.tally import REGRET
from hushprice.simulation.world import KernelMarket, TrialInput, TrialOutput

_STREAM = 0x7269  # sets a rival's own randomness apart from other generators with the same seed


def run_rival(world: KernelMarket, policy: RivalPolicy, given: TrialInput, output: TrialOutput) -> bool:
    """Run one trial; False when it was stopped meanwhile. A rival's randomness depends on (seed, trial) alone.

    Stretches end where the rival says, and not at checkpoints, so that how often regret is noted changes no digit.
    """
    stretch = new_stretch(world.stream.size, world.theta.size)
    rival = policy.begin(policy.frame, np.random.default_rng((given.seed, given.trial, _STREAM)))
    period, passed, marks = 1, 0, output.checkpoints
    while period <= given.horizon:
        if given.control[0] != 0:
            return False
        count = min(stretch.out.shape[1], given.horizon - period + 1, rival.due)
        arrive(world, given.seed, given.trial, period, count, stretch)
        came = Customers(stretch.x[:, :count], stretch.u[:, :count], stretch.v[:, :count])
        prices = rival.prices(came)
        if not ((prices >= 0.0) & (prices <= 1.0)).all():  # NaN fails
            raise InvalidInput(f"policy {policy.name!r} left [0, 1] with a price")
        stretch.out[0, :count] = prices
        respond(world, given.seed, given.trial, period, count, stretch)
        rival.learn(came, prices, stretch.out[4, :count].copy())
        lost = stretch.line[3, :count] - stretch.out[2, :count]
        regret = np.cumsum(np.concatenate([output.totals[REGRET : REGRET + 1], lost]))
        add_up(count, stretch.line[3], stretch.out, output.totals)
        if output.prices.size > 0:
            output.prices[period - 1 : period - 1 + count] = prices
        while passed < marks.size and marks[passed] < period + count:
            output.regret_at[passed] = regret[marks[passed] - period + 1]
            passed += 1
        period += count
        given.control[given.counter] = period - 1
    return True
