"""noisy-newton on a GPU, one thread a trial, in turns: all trials go on until a release is due, then all release.

Releases are rare and need many registers; periods are many and need few. Apart, each kernel gets what it needs.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, float32, float64, int64

from hushprice.numerics.linear import packed_size
from hushprice.optimizer.price import STACK
from hushprice.policies.newton import DOUBLINGS, EARLY
from hushprice.releasers import scores
from hushprice.simulation import newton as steps
from hushprice.simulation.contexts import Stream
from hushprice.simulation.gpu.shape import Shape
from hushprice.simulation.gpu.steps import bounded, narrowed, on_device, twins
from hushprice.simulation.kernel import DUE
from hushprice.simulation.newton import PLACES, Desk, NewtonPlan
from hushprice.simulation.room import TOTALS, Stretch, World

RELEASES = EARLY + DOUBLINGS  # of a trial, at most
_HOT = ("reference_price", "dispersion", "cap", "sampling", "width", "spread", "lowest")  # read in every period
_REGISTERS = 80  # a thread; with more, fewer threads hide each other's waiting


class Kernels(NamedTuple):
    """Compiled for one shape."""

    begin: Any
    advance: Any
    release: Any


@functools.cache
def kernels(shape: Shape, sections: int) -> Kernels:
    """The three kernels; `sections` is the number of the strategy's poles."""
    d, k, family, feature_map, kind, single = shape
    number, size, memories, small = (float32 if single else float64), packed_size(d), sections + 2, 4 * d + 3
    rows, nan = scores.ROWS, (np.float32(np.nan) if single else np.nan)
    hot, cold = twins(single), twins(False)
    advance_one, release_one, sit_down = hot(steps.advance), cold(steps.release), cold(steps.sit_down)

    def begin(plan, state, totals):  # type: ignore[no-untyped-def]
        t = cuda.grid(1)
        if t >= totals.shape[0]:
            return
        place, score, exact, running, theta, precision, inverse = state
        none, blank = cuda.local.array(1, float64), cuda.local.array((1, 1), float64)
        desk = Desk(
            place[t], blank, blank, score[t], none, exact[t], none, running[t], theta[t], precision[t], inverse[t],
            blank, blank,
        )  # fmt: skip
        sit_down(plan, desk)
        for i in range(TOTALS):
            totals[t, i] = 0.0

    def advance(world, plan, seed, first, horizon, checkpoints, regret_at, totals, prices, idle, state, due):  # type: ignore[no-untyped-def]
        t = cuda.grid(1)
        if t >= totals.shape[0] or state[0][t, PLACES] == 0:
            return
        place, score, exact, _, theta, _, inverse = state
        local = cuda.local.array
        stream = world.stream
        here = World(
            family, world.slope, world.bound, feature_map, world.theta,
            Stream(kind, k, stream.horizon, stream.table, stream.weights), 0, world.changed_x, nan, world.customers,
        )  # fmt: skip
        none, blank, double_none, double_blank = (
            local(1, number),
            local((1, 1), number),
            local(1, float64),
            local((1, 1), float64),
        )
        room = Stretch(
            local((k, 1), number), local((d, 1), number), local((d, 1), number), blank, blank, blank,
            local((4, 1), number), local((7, 1), number), none, local((5, 1), number), blank, blank, blank, blank,
            local((3, 1), number), local(STACK, float64),
        )  # fmt: skip
        own_place, own_theta, own_inverse = local(PLACES, int64), local(d, number), local((d, d), number)
        own_score, own_exact, own_totals = local(d, float64), local(size, float64), local(TOTALS, float64)
        for i in range(d):
            own_theta[i], own_score[i] = theta[t, i], score[t, i]
            for j in range(d):
                own_inverse[i, j] = inverse[t, i, j]
        for i in range(size):
            own_exact[i] = exact[t, i]
        for i in range(PLACES):
            own_place[i] = place[t, i]
        for i in range(TOTALS):
            own_totals[i] = totals[t, i]
        desk = Desk(
            own_place, local((d, 1), number), local((rows, 1), number), own_score, double_none, own_exact, double_none,
            double_blank, own_theta, double_blank, own_inverse, double_blank, double_blank,
        )  # fmt: skip
        kept = checkpoints, regret_at[t], own_totals, idle, prices
        why = advance_one(here, plan, seed, first + t, horizon, kept, idle, 0, room, desk)
        for i in range(d):
            score[t, i] = own_score[i]
        for i in range(size):
            exact[t, i] = own_exact[i]
        for i in range(PLACES):
            place[t, i] = own_place[i]
        for i in range(TOTALS):
            totals[t, i] = own_totals[i]
        place[t, PLACES] = 1 if why == DUE else 0
        if why == DUE:
            due[0] = 1

    def release(plan, seed, first, periods, state):  # type: ignore[no-untyped-def]
        t = cuda.grid(1)
        if t >= periods.shape[0] or state[0][t, PLACES] == 0:
            return
        place, score, exact, running, theta, precision, inverse = state
        local, blank = cuda.local.array, cuda.local.array((1, 1), float64)
        desk = Desk(
            place[t], blank, blank, score[t], local(d, float64), exact[t], local(size, float64), running[t], theta[t],
            precision[t], inverse[t], local((d, d), float64), local((small, d), float64),
        )  # fmt: skip
        release_one(plan, seed, first + t, desk, periods[t])

    del memories
    return Kernels(cuda.jit(begin), bounded(advance, _REGISTERS), cuda.jit(release))


def state(trials: int, dimension: int, sections: int) -> tuple[Any, ...]:
    """Room on the device for where trials are: place, score, exact, running, theta, precision, inverse."""
    d, size, room = dimension, packed_size(dimension), cuda.device_array
    place = cuda.to_device(np.ones((trials, PLACES + 1), dtype=np.int64))  # the last entry: does it go on?
    sums = room((trials, d)), room((trials, size)), room((trials, sections + 2, size))
    return (place, *sums, room((trials, d)), room((trials, d, d)), room((trials, d, d)))


def plans(plan: NewtonPlan, single: bool) -> tuple[NewtonPlan, NewtonPlan]:
    """The plan for releases, in double precision, and the one for periods."""
    hot = {name: narrowed(getattr(plan, name)) for name in _HOT} if single else {}
    whole = on_device(plan)
    return whole, whole._replace(**hot)
