"""PrivateMLE by objective perturbation (alg:private-mle).

The release is the exact minimizer over ||theta|| <= radius of

    F(theta) = sum_t -ln p(y_t | phi_t, theta) + ridge/2 ||theta||^2 + w'theta,     w ~ N(0, nu^2 I).

The privacy proof is about that minimizer, so the solver must come close to it and say how close. It runs Newton's
method on the constrained problem until a certified bound on F(theta) - min F is below a public tolerance:

    F(theta) - min F <= ||g + k theta||^2 / (2 (ridge + k)) + k/2 (radius^2 - ||theta||^2),     any k >= 0,

by duality, because F + k/2 (||.||^2 - radius^2) is (ridge + k)-strongly convex and never above F on the ball. The
number of steps and the gap depend on raw records: both stay in this layer.

A full Newton step is kept when it halves the smallest certified gap seen. Otherwise the damped step ln(1 + d)/d with
d = slope ||step|| is taken; it decreases F for generalized self-concordant losses (Sun and Tran-Dinh, "Generalized
self-concordant functions", 2019), so the method converges from anywhere. docs/proofs/private_mle_solver.md has both.
"""

from __future__ import annotations

import numpy as np

from hushprice.demand.family import GAUSSIAN, derivatives
from hushprice.numerics.jit import step
from hushprice.numerics.linear import cholesky, solve_factored
from hushprice.types import FloatArray

RADIUS = 2.0  # alg:private-mle, line 4
TOLERANCE = 1e-10  # public bound on F(theta) - min F
MAX_PASSES = 200
_BLOCK = 128  # records accumulated side by side: vector units without reassociating a sum, so digits never change


@step
def score(
    family: int,
    slope: float,
    phi: FloatArray,
    demand: FloatArray,
    count: int,
    theta: FloatArray,
    gradient: FloatArray,
    hessian: FloatArray,
    work: FloatArray,
) -> None:
    """Gradient and Hessian of -sum ln p over the first `count` records; phi is (d, records), one row a feature.

    work holds (d + d (d + 1)/2 + 3) rows of _BLOCK running sums.
    """
    d = theta.size
    sums = d + d * (d + 1) // 2
    z, residual, weight = work[sums], work[sums + 1], work[sums + 2]
    for row in range(sums):
        for i in range(_BLOCK):
            work[row, i] = 0.0
    for start in range(0, count, _BLOCK):
        size = min(_BLOCK, count - start)
        for i in range(size):
            z[i] = 0.0
        for j in range(d):
            column = phi[j, start : start + size]
            at = theta[j]
            for i in range(size):
                z[i] += at * column[i]
        y = demand[start : start + size]
        for i in range(size):
            f, s, _ = derivatives(family, slope, z[i])
            residual[i] = slope * (f - y[i])
            weight[i] = slope * s
        row = d
        for j in range(d):
            left = phi[j, start : start + size]
            sum_j = work[j]
            for i in range(size):
                sum_j[i] += residual[i] * left[i]
            for i in range(size):
                z[i] = weight[i] * left[i]
            for k in range(j, d):
                right = phi[k, start : start + size]
                sum_jk = work[row]
                for i in range(size):
                    sum_jk[i] += z[i] * right[i]
                row += 1
    row = d
    for j in range(d):
        gradient[j] = _total(work[j])
        for k in range(j, d):
            hessian[j, k] = _total(work[row])
            hessian[k, j] = hessian[j, k]
            row += 1


@step
def _total(values: FloatArray) -> float:
    """Sum in a fixed order."""
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total


@step
def certified_gap(theta: FloatArray, gradient: FloatArray, ridge: float, radius: float) -> float:
    """The bound on F(theta) - min F of the module's text, at the multiplier that makes g + k theta shortest."""
    inner = 0.0
    norm2 = 0.0
    for j in range(theta.size):
        inner += gradient[j] * theta[j]
        norm2 += theta[j] * theta[j]
    k = max(0.0, -inner / norm2) if norm2 > 0.0 else 0.0
    slack = max(0.0, radius * radius - norm2)
    held = 0.0
    free = 0.0
    for j in range(theta.size):
        held += (gradient[j] + k * theta[j]) ** 2
        free += gradient[j] ** 2
    return min(free / (2.0 * ridge), held / (2.0 * (ridge + k)) + 0.5 * k * slack)


@step
def constrained_step(
    theta: FloatArray, gradient: FloatArray, hessian: FloatArray, radius: float, target: FloatArray, work: FloatArray
) -> None:
    """Minimize g's + s'Hs/2 over ||theta + s|| <= radius; theta + s goes into `target` (H positive definite)."""
    d = theta.size
    shifted, factor, right = work[:d], work[d : 2 * d], work[2 * d]
    for i in range(d):
        right[i] = -gradient[i]
        for j in range(d):
            right[i] += hessian[i, j] * theta[j]
    shift = 0.0
    for _ in range(60):  # Newton on 1/||target|| - 1/radius, which is concave in the shift: monotone from the left
        for i in range(d):
            for j in range(d):
                shifted[i, j] = hessian[i, j]
            shifted[i, i] += shift
        cholesky(shifted, d, factor)
        solve_factored(factor, right, d, target)
        norm = np.sqrt(_dot(target, target))
        if norm <= radius * (1.0 + 1e-15):
            break
        solve_factored(factor, target, d, shifted[0])
        following = shift + (norm - radius) / radius * norm * norm / _dot(target, shifted[0])
        if not following > shift:
            break
        shift = following
    norm = np.sqrt(_dot(target, target))
    if norm > radius:
        for i in range(d):
            target[i] *= radius / norm


@step
def _dot(a: FloatArray, b: FloatArray) -> float:
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@step
def _evaluate(
    family: int,
    slope: float,
    phi: FloatArray,
    demand: FloatArray,
    count: int,
    ridge: float,
    tilt: FloatArray,
    theta: FloatArray,
    gradient: FloatArray,
    hessian: FloatArray,
    work: FloatArray,
) -> None:
    """Gradient and Hessian of F at theta."""
    score(family, slope, phi, demand, count, theta, gradient, hessian, work)
    for j in range(theta.size):
        gradient[j] += ridge * theta[j] + tilt[j]
        hessian[j, j] += ridge


def scratch(dimension: int) -> FloatArray:
    """Scratch for `minimize`: running sums of `score`, two gradients and Hessians, and the small solves."""
    return np.zeros((8 * dimension + dimension * (dimension + 1) // 2 + 16, max(_BLOCK, dimension)))


@step
def minimize(
    family: int,
    slope: float,
    phi: FloatArray,
    demand: FloatArray,
    count: int,
    ridge: float,
    tilt: FloatArray,
    theta: FloatArray,
    work: FloatArray,
) -> float:
    """Move theta (a feasible warm start) to the minimizer of F; returns the certified gap, which callers must check."""
    d = theta.size
    radius = RADIUS
    sums = d + d * (d + 1) // 2 + 3
    gradient = work[sums, :d]
    hessian = work[sums + 1 : sums + 1 + d, :d]
    solves = work[sums + 1 + d : sums + 2 + 3 * d, :d]
    target = work[sums + 2 + 3 * d, :d]
    new_gradient = work[sums + 3 + 3 * d, :d]
    new_hessian = work[sums + 4 + 3 * d : sums + 4 + 4 * d, :d]
    concordance = 0.0 if family == GAUSSIAN else slope
    _evaluate(family, slope, phi, demand, count, ridge, tilt, theta, gradient, hessian, work)
    gap = certified_gap(theta, gradient, ridge, radius)
    least = gap
    for _ in range(MAX_PASSES):
        if gap <= TOLERANCE:
            break
        constrained_step(theta, gradient, hessian, radius, target, solves)
        _evaluate(family, slope, phi, demand, count, ridge, tilt, target, new_gradient, new_hessian, work)
        gap = certified_gap(target, new_gradient, ridge, radius)
        if not gap <= 0.5 * least:
            length = 0.0
            for j in range(d):
                length += (target[j] - theta[j]) ** 2
            damping = concordance * np.sqrt(length)
            share = np.log1p(damping) / damping if damping > 0.0 else 1.0
            for j in range(d):
                target[j] = theta[j] + share * (target[j] - theta[j])
            _evaluate(family, slope, phi, demand, count, ridge, tilt, target, new_gradient, new_hessian, work)
            gap = certified_gap(target, new_gradient, ridge, radius)
        least = min(least, gap)
        for j in range(d):
            theta[j] = target[j]
            gradient[j] = new_gradient[j]
            for k in range(d):
                hessian[j, k] = new_hessian[j, k]
    return gap
