"""alg:framework and the baselines on a GPU: one thread a trial between estimates, one block a trial for an estimate.

Trials ask for estimates at different periods. So all go on until each asks, and then the fits are made side by side,
every one by a whole block of threads.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, float32, float64, int64

from hushprice.numerics.linear import packed_size
from hushprice.optimizer.price import STACK
from hushprice.releasers import objective_perturbation
from hushprice.simulation import kernel as steps
from hushprice.simulation.contexts import Stream
from hushprice.simulation.gpu.fit import THREADS, minimize
from hushprice.simulation.gpu.shape import Shape
from hushprice.simulation.gpu.steps import bounded, narrowed, on_device, twins
from hushprice.simulation.kernel import DUE, Sitting
from hushprice.simulation.room import FAILED, TOTALS, Plan, Stretch, World

PLACES = 4
_HOT = ("width", "input_noise", "price")
_REGISTERS = 96


class Kernels(NamedTuple):
    """Compiled for one shape."""

    begin: Any
    advance: Any
    estimate: Any


@functools.cache
def kernels(shape: Shape) -> Kernels:
    """The three kernels."""
    d, k, family, feature_map, kind, single = shape
    number, size = (float32 if single else float64), packed_size(d)
    padded, small, rows = 4 * ((size + 3) // 4), 2 * d + 1, 5 * d + 6
    nan = np.float32(np.nan) if single else np.nan
    hot = twins(single)
    cold = twins(False, {objective_perturbation.minimize: minimize(d)})
    advance_one, estimate_one, sit_down = hot(steps.advance), cold(steps.estimate), cold(steps.sit_down)

    def begin(plan, state, totals):  # type: ignore[no-untyped-def]
        t = cuda.grid(1)
        if t >= totals.shape[0]:
            return
        place, current, theta, inverse, exact, running = state
        blank = cuda.local.array((1, 1), float64)
        sitting = Sitting(
            place[t], current[t], theta[t], inverse[t], exact[:, :, t], running[:, :, t], blank, blank, blank, blank,
            cuda.local.array(1, float64),
        )  # fmt: skip
        sit_down(plan, sitting)
        for i in range(TOTALS):
            totals[t, i] = 0.0

    def advance(  # type: ignore[no-untyped-def]
        world, plan, seed, first, horizon, checkpoints, regret_at, totals, prices, idle, state, phi, demand, fixed, due
    ):
        t = cuda.grid(1)
        if t >= totals.shape[0] or state[0][t, PLACES] == 0:
            return
        place, current, theta, inverse, exact, running = state
        local, stream = cuda.local.array, world.stream
        here = World(
            family, world.slope, world.bound, feature_map, world.theta,
            Stream(kind, k, stream.horizon, stream.table, stream.weights), 0, world.changed_x, nan, world.customers,
        )  # fmt: skip
        mine = Plan(
            plan.code, plan.exploration, plan.ridge, plan.width, plan.max_estimates, plan.scales, plan.estimate_noise,
            plan.estimate_ridge, plan.output_noise, plan.repair, plan.input_noise, fixed[t], plan.exact, plan.running,
            plan.poles, plan.zeros,
        )  # fmt: skip
        room = Stretch(
            local((k, 1), number), local((d, 1), number), local((d, 1), number),
            local((k, 1), number), local((d, 1), number), local((d, 1), number),
            local((4, 1), number), local((7, 1), number), local(1, number), local((5, 1), number),
            local((padded, 1), number), local((size, 1), float64), local((size, 1), float64), local((size, 1), float64),
            local((3, 1), float64), local(STACK, float64),
        )  # fmt: skip
        own_place, own_theta, own_inverse = local(PLACES, int64), local(d, number), local((d, d), number)
        own_current, own_totals = local(1, float64), local(TOTALS, float64)
        for i in range(d):
            own_theta[i] = theta[t, i]
            for j in range(d):
                own_inverse[i, j] = inverse[t, i, j]
        for i in range(PLACES):
            own_place[i] = place[t, i]
        for i in range(TOTALS):
            own_totals[i] = totals[t, i]
        own_current[0] = current[t, 0]
        blank = local((1, 1), float64)
        sitting = Sitting(
            own_place, own_current, own_theta, own_inverse, exact[:, :, t], running[:, :, t], blank, blank,
            local((small, d), float64), phi[t], demand[t],
        )  # fmt: skip
        kept = checkpoints, regret_at[t], own_totals, idle, prices
        why = advance_one(here, mine, seed, first + t, horizon, kept, idle, 0, room, sitting)
        for i in range(PLACES):
            place[t, i] = own_place[i]
        for i in range(TOTALS):
            totals[t, i] = own_totals[i]
        current[t, 0] = own_current[0]
        place[t, PLACES] = 1 if why == DUE else 0
        if why == DUE:
            due[0] = 1

    def estimate(world, plan, seed, first, totals, periods, state, phi, demand):  # type: ignore[no-untyped-def]
        t = cuda.blockIdx.x
        if state[0][t, PLACES] == 0:
            return
        place, current, theta, inverse, exact, running = state
        local, stream, blank = cuda.local.array, world.stream, cuda.local.array((1, 1), float64)
        here = World(
            family, world.slope, world.bound, feature_map, world.theta, stream, 0, world.changed_x, 0.0, world.customers
        )
        own_place, own_theta, own_inverse = local(PLACES, int64), local(d, float64), local((d, d), float64)
        for i in range(PLACES):
            own_place[i] = place[t, i]
        for i in range(d):
            own_theta[i] = theta[t, i]
        shared = cuda.shared.array(THREADS, float64)
        cuda.syncthreads()  # nobody writes before everybody has read
        sitting = Sitting(
            own_place, current[t], own_theta, own_inverse, exact[:, :, t], running[:, :, t], blank, blank,
            local((small, d), float64), phi[t], demand[t],
        )  # fmt: skip
        sound = estimate_one(here, plan, seed, first + t, sitting, periods[t], (shared, local((rows, d), float64)))
        if cuda.threadIdx.x == 0:
            for i in range(PLACES):
                place[t, i] = own_place[i]
            for i in range(d):
                theta[t, i] = own_theta[i]
                for j in range(d):
                    inverse[t, i, j] = own_inverse[i, j]
            if not sound:
                totals[t, FAILED] = 1.0
                place[t, PLACES] = 0

    return Kernels(cuda.jit(begin), bounded(advance, _REGISTERS), cuda.jit(estimate))


def state(trials: int, plan: Plan, dimension: int) -> tuple[Any, ...]:
    """Room on the device for where trials are: place, ln det, theta, inverse, and the covariance stream."""
    d, room = dimension, cuda.device_array
    place = cuda.to_device(np.ones((trials, PLACES + 1), dtype=np.int64))
    return (
        place,
        room((trials, 1)),
        room((trials, d)),
        room((trials, d, d)),
        room((*plan.exact.shape, trials)),
        room((*plan.running.shape, trials)),
    )


def plans(plan: Plan, single: bool) -> tuple[Plan, Plan]:
    """The plan for estimates, in double precision, and the one for periods."""
    hot = {name: narrowed(getattr(plan, name)) for name in _HOT} if single else {}
    whole = on_device(plan)
    return whole, whole._replace(**hot)
