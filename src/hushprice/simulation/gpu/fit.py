"""Passes over all records of a trial, made by all threads of a block together.

Every thread of the block runs the same solver on the same numbers; only sums over records are shared out. Records are
added up in another order than on a CPU, so a fit may differ in its last digits.
"""

from __future__ import annotations

import math
from typing import Any

from numba import float64

from hushprice.demand import family
from hushprice.numerics.linear import packed_size
from hushprice.policies.paper.private import likelihood as passes
from hushprice.policies.paper.private import solver
from hushprice.simulation.gpu.cuda import TEAM, cuda, device_step
from hushprice.simulation.gpu.substitutes import device_steps

RECORDS = passes.BLOCK  # summed before the next ones, as on a CPU


@device_step()
def _record(nth, every):  # type: ignore[no-untyped-def]
    """The nth record of those that count: of every so many blocks of them the first, as on a CPU."""
    return nth // RECORDS * (every * RECORDS) + nth % RECORDS


@cuda.jit(device=True)
def total(mine, shared):  # type: ignore[no-untyped-def]
    """The sum of what the threads of a team have, for all of them."""
    i, step = cuda.threadIdx.x, TEAM // 2
    shared[i] = mine
    cuda.syncthreads()
    while step > 0:
        if i < step:
            shared[i] += shared[i + step]
        cuda.syncthreads()
        step //= 2
    result = shared[0]
    cuda.syncthreads()  # before anybody writes again
    return result


@cuda.jit(device=True)
def _largest(mine, shared):  # type: ignore[no-untyped-def]
    """The largest of what the threads of a team have, for all of them."""
    i, step = cuda.threadIdx.x, TEAM // 2
    shared[i] = mine
    cuda.syncthreads()
    while step > 0:
        if i < step:
            shared[i] = max(shared[i], shared[i + step])
        cuda.syncthreads()
        step //= 2
    result = shared[0]
    cuda.syncthreads()
    return result


def minimize(d: int) -> Any:
    """`solver.minimize` for a block of threads; its `fit` is memory that they share and memory of each one's own."""
    descend = device_steps(False, {passes.score: _score(d), passes.longest: _longest(d)})(solver.descend)

    @cuda.jit(device=True)
    def together(family, slope, phi, demand, count, ridge, tilt, theta, fit):  # type: ignore[no-untyped-def]
        return descend(family, slope, phi, demand, count, ridge, tilt, theta, fit[0], fit[1])

    return together


def _score(d: int) -> Any:
    """`likelihood.score` for a block of threads."""
    numbers, derivatives = d + packed_size(d), device_steps(False)(family.derivatives)

    @cuda.jit(device=True)
    def score(family, slope, phi, demand, count, theta, gradient, hessian, shared, every=1):  # type: ignore[no-untyped-def]
        local, nth = cuda.local.array, cuda.threadIdx.x
        record = _record(nth, every)
        sums, x, ahead, bought = local(numbers, float64), local(d, float64), local(d, phi.dtype), demand[0]
        for i in range(numbers):
            sums[i] = 0.0
        if record < count:
            bought = demand[record]
            for j in range(d):
                ahead[j] = phi[j, record]
        while record < count:
            y = bought
            for j in range(d):
                x[j] = ahead[j]
            nth += TEAM
            record = _record(nth, every)
            if record < count:  # read while the one before it is computed with
                bought = demand[record]
                for j in range(d):
                    ahead[j] = phi[j, record]
            z = 0.0
            for j in range(d):
                z += theta[j] * x[j]
            f, s, _ = derivatives(family, slope, z)
            residual, weight = slope * (f - y), slope * s
            at = d
            for j in range(d):
                sums[j] += residual * x[j]
                for m in range(j, d):
                    sums[at] += weight * x[j] * x[m]
                    at += 1
        at = d
        for j in range(d):
            gradient[j] = total(sums[j], shared)
            for m in range(j, d):
                hessian[j, m] = total(sums[at], shared)
                hessian[m, j] = hessian[j, m]
                at += 1

    return score


def _longest(d: int) -> Any:
    """`likelihood.longest` for a block of threads."""

    @cuda.jit(device=True)
    def longest(phi, count, shared):  # type: ignore[no-untyped-def]
        largest = 0.0
        for record in range(cuda.threadIdx.x, count, TEAM):
            norm2 = 0.0
            for j in range(d):
                norm2 += phi[j, record] * phi[j, record]
            largest = max(largest, norm2)
        return math.sqrt(_largest(largest, shared))

    return longest
