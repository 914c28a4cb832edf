"""Trials of a job on a GPU, in batches that fit its memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numba import cuda

from hushprice.errors import DidNotConverge
from hushprice.policies.protocol import FIXED, LEARNING, Policy
from hushprice.simulation import room
from hushprice.simulation.change import world_of
from hushprice.simulation.gpu import device, framework, newton
from hushprice.simulation.gpu.fit import THREADS
from hushprice.simulation.gpu.shape import shape_of
from hushprice.simulation.gpu.steps import narrowed, on_device
from hushprice.simulation.hindsight import best_fixed_price
from hushprice.simulation.trial import Job, Trial, newton_plan, plan_of
from hushprice.types import FloatArray, IntArray

Advance = Callable[[int], None]  # trials of the batch that are over, roughly: periods done
_BLOCK = 128  # threads


def run_batch(job: Job, policy: Policy, numbers: range, single: bool, advance: Advance) -> list[Trial]:
    """Those trials, all at once. Between two launches of kernels Ctrl-C gets through."""
    if policy.newton is not None:
        totals, regret_at, periods = _newton(job, policy, numbers, single, advance)
    else:
        totals, regret_at, periods = _framework(job, policy, numbers, single, advance)
    if np.any(totals[:, room.FAILED] > 0.0):
        raise DidNotConverge("an estimate did not reach its certified tolerance")
    none = np.zeros(0)
    return [Trial(totals[i], regret_at[i], periods[i], none) for i in range(len(numbers))]


def _newton(job: Job, policy: Policy, numbers: range, single: bool, advance: Advance) -> tuple[Any, Any, Any]:
    assert policy.newton is not None
    count, d, horizon = len(numbers), job.market.dimension, job.horizon
    world, plan = world_of(job.market, horizon, None, job.customers), newton_plan(policy.newton, job.market)
    sections = plan.poles.shape[1]
    begin, go_on, release = newton.kernels(shape_of(world, single), sections)
    whole, hot = newton.plans(plan, single)
    here = on_device(narrowed(world) if single else world)
    state, kept = newton.state(count, d, sections), _kept(job, count, newton.RELEASES)
    grid = (count + _BLOCK - 1) // _BLOCK, _BLOCK
    begin[grid](whole, state, kept.totals)
    for _ in _turns(kept, state[0], horizon, advance):
        go_on[grid](
            here, hot, job.seed, numbers.start, horizon, kept.checkpoints, kept.regret_at, kept.totals, kept.prices,
            kept.idle, state, kept.due,
        )  # fmt: skip
        release[grid](whole, job.seed, numbers.start, kept.periods, state)
    return kept.take()


def _framework(job: Job, policy: Policy, numbers: range, single: bool, advance: Advance) -> tuple[Any, Any, Any]:
    count, d, horizon = len(numbers), job.market.dimension, job.horizon
    world, plan = world_of(job.market, horizon, None, job.customers), plan_of(policy, horizon, job.market.dimension)
    kind = np.float32 if single else np.float64
    prices = np.full(count, 0.0 if policy.price is None else policy.price)
    if policy.code == FIXED and policy.price is None:
        stop = np.zeros(1, dtype=np.int64)
        prices[:] = [best_fixed_price(world, job.seed, job.luck(n), horizon, stop) for n in numbers]
    begin, go_on, estimate = framework.kernels(shape_of(world, single))
    whole, hot = framework.plans(plan, single)
    here = on_device(narrowed(world) if single else world)
    fitted = on_device(world)
    state, kept = framework.state(count, plan, d), _kept(job, count, max(plan.max_estimates, 1))
    capacity = horizon if policy.code == LEARNING else 1
    phi = cuda.device_array((count, d, capacity), dtype=kind)
    demand = cuda.device_array((count, capacity), dtype=kind)
    fixed = cuda.to_device(prices.astype(kind))
    grid = (count + _BLOCK - 1) // _BLOCK, _BLOCK
    begin[grid](whole, state, kept.totals)
    for _ in _turns(kept, state[0], horizon, advance):
        go_on[grid](
            here, hot, job.seed, numbers.start, horizon, kept.checkpoints, kept.regret_at, kept.totals, kept.prices,
            kept.idle, state, phi, demand, fixed, kept.due,
        )  # fmt: skip
        if policy.code == LEARNING:
            estimate[count, THREADS](
                fitted, whole, job.seed, numbers.start, kept.totals, kept.periods, state, phi, demand
            )
    return kept.take()


class _kept:
    """What trials leave, on the device."""

    def __init__(self, job: Job, count: int, estimates: int) -> None:
        checkpoints = job.checkpoints
        self.checkpoints = cuda.to_device(checkpoints)
        self.regret_at = cuda.to_device(np.zeros((count, checkpoints.size)))
        self.totals = cuda.device_array((count, room.TOTALS))
        self.periods = cuda.to_device(np.zeros((count, estimates), dtype=np.int64))
        self.prices, self.idle = cuda.device_array(0), cuda.device_array(0, dtype=np.int64)
        self.due = cuda.to_device(np.zeros(1, dtype=np.int64))

    def take(self) -> tuple[FloatArray, FloatArray, IntArray]:
        return self.totals.copy_to_host(), self.regret_at.copy_to_host(), self.periods.copy_to_host()


def _turns(kept: _kept, place: Any, horizon: int, advance: Advance) -> Iterator[None]:
    """Once more as long as some trial has a release or an estimate due."""
    none = np.zeros(1, dtype=np.int64)
    while True:
        kept.due.copy_to_device(none)
        yield
        if kept.due.copy_to_host()[0] == 0:
            return


def fits(job: Job, policy: Policy, single: bool) -> int:
    """How many trials fit the device's free memory."""
    d, checkpoints = job.market.dimension, job.checkpoints.size
    each = 8 * (checkpoints + newton.RELEASES + 8 * d * d + 200)
    if policy.newton is None:
        plan = plan_of(policy, job.horizon, d)
        each += 8 * (plan.exact.size + plan.running.size)
        if policy.code == LEARNING:
            each += (4 if single else 8) * (d + 1) * job.horizon
    return max(1, device.free_bytes() // each)
