"""What releases say about theta*: a normal belief N(theta, inverse(precision)), updated batch by batch.

Everything here reads released values and public constants only. A batch gathered while theta was in force gives a
released score g and a curvature A (both noisy). With H the exact curvature, g is H (theta - theta*), plus sampling
noise of about `sampling` H, plus privacy noise sigma^2 I; and A misses H by noise of deviation `error`, which moves g
by about error times the distance to theta*. So, direction by direction of A,

    noise   = sigma^2 + sampling a + error^2 tr(inverse)
    precision += a^2 / noise,    theta -= inverse (a / noise) g

which is the Kalman filter's step. Eigenvalues of A are reduced by what noise alone would bring, so that a direction no
customer has shown gains no precision and does not drift. Last, theta is brought back to the unit ball by the shortest
way in the belief's own metric: well-known directions keep their values.
"""

from __future__ import annotations

import math

import numpy as np

from hushprice.numerics.jit import merged, step
from hushprice.numerics.linear import cholesky, eigen, solve_factored, unpack
from hushprice.types import FloatArray

_HALVINGS = 60


@merged
def reduced(value: float, error: float, dimension: int, share: float) -> float:
    """An eigenvalue of A with the square that noise adds to it taken out: sqrt(a^2 - share^2 d error^2), or 0."""
    if not value > 0.0:
        return 0.0
    return math.sqrt(max(0.0, value * value - share * share * dimension * error * error))


@step
def gain(
    released: FloatArray,
    cap: float,
    error: float,
    noise: float,
    sampling: float,
    spare: float,
    share: float,
    precision: FloatArray,
    out: FloatArray,
    work: FloatArray,
) -> None:
    """The precision a batch with this released curvature would add, into out (d, d). work is (2 d + 1, d).

    `noise` is the variance that no record brings; `spare` times error sqrt(d) is first taken off every eigenvalue.
    """
    d = precision.shape[0]
    matrix, vectors, values = work[:d], work[d : 2 * d], work[2 * d]
    unpack(released, d, matrix)
    eigen(matrix, d, values, vectors)
    for i in range(d):
        for j in range(d):
            out[i, j] = 0.0
    for e in range(d):
        a = reduced(cap * values[e] - spare * error * math.sqrt(d), error, d, share)
        added = a * a / (noise + sampling * a)
        for i in range(d):
            for j in range(d):
                out[i, j] += added * vectors[i, e] * vectors[j, e]


@step
def multiplies(precision: FloatArray, gained: FloatArray, factor: float, work: FloatArray) -> bool:
    """Would some direction's precision grow by more than `factor` times itself? work is (2 d, d).

    The largest eigenvalue of inverse(precision) gained is above the factor unless factor precision - gained is
    positive definite.
    """
    d = precision.shape[0]
    for i in range(d):
        for j in range(d):
            work[i, j] = factor * precision[i, j] - gained[i, j]
    return not cholesky(work[:d], d, work[d : 2 * d])


@step
def update(
    score: FloatArray,
    released: FloatArray,
    cap: float,
    error: float,
    noise: float,
    sampling: float,
    share: float,
    theta: FloatArray,
    precision: FloatArray,
    inverse: FloatArray,
    work: FloatArray,
) -> bool:
    """Learn from one batch's releases; False, and nothing changed, where they are not finite. work is (4 d + 3, d)."""
    d = theta.size
    for entry in released:
        if not np.isfinite(entry):
            return False
    vectors, values, push = work[d : 2 * d], work[2 * d], work[2 * d + 1]
    new, moved = work[2 * d + 3 : 3 * d + 3], work[2 * d + 2]
    variance = noise
    for i in range(d):
        variance += error * error * inverse[i, i]
    gain(released, cap, error, variance, sampling, 0.0, share, precision, new, work[: 2 * d + 1])
    for i in range(d):
        push[i] = 0.0
    for e in range(d):
        a = reduced(cap * values[e], error, d, share)
        along = 0.0
        for i in range(d):
            along += vectors[i, e] * score[i]
        for i in range(d):
            push[i] += a / (variance + sampling * a) * along * vectors[i, e]
    for i in range(d):
        for j in range(d):
            new[i, j] += precision[i, j]
    factor = work[3 * d + 3 : 4 * d + 3]
    if not cholesky(new, d, factor):
        return False
    solve_factored(factor, push, d, moved)
    finite = True
    for i in range(d):
        moved[i] = theta[i] - moved[i]
        finite = finite and np.isfinite(moved[i])
    if not finite:
        return False
    for i in range(d):
        theta[i] = moved[i]
        for j in range(d):
            precision[i, j] = new[i, j]
    for k in range(d):
        for i in range(d):
            push[i] = 1.0 if i == k else 0.0
        solve_factored(factor, push, d, moved)
        for i in range(d):
            inverse[i, k] = moved[i]
    hold_to_ball(theta, precision, work)
    return True


@merged
def hold_to_ball(theta: FloatArray, precision: FloatArray, work: FloatArray) -> None:
    """The point of the unit ball nearest to theta in the metric of the precision. work is (2 d + 2, d).

    It is (precision + nu I)^-1 precision theta, the nu >= 0 for which it has length 1: what is known least moves most.
    """
    d = theta.size
    norm2 = 0.0
    for i in range(d):
        norm2 += theta[i] * theta[i]
    if norm2 <= 1.0:
        return
    matrix, vectors, values, along = work[:d], work[d : 2 * d], work[2 * d], work[2 * d + 1]
    for i in range(d):
        for j in range(d):
            matrix[i, j] = precision[i, j]
    eigen(matrix, d, values, vectors)
    largest = 0.0
    for e in range(d):
        along[e] = 0.0
        for i in range(d):
            along[e] += vectors[i, e] * theta[i]
        largest = max(largest, values[e])
    low, high = 0.0, largest * np.sqrt(norm2)  # at `high` every entry has shrunk by at least the norm
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        total = 0.0
        for e in range(d):
            part = values[e] * along[e] / (values[e] + middle)
            total += part * part
        if total > 1.0:
            low = middle
        else:
            high = middle
    for i in range(d):
        theta[i] = 0.0
        for e in range(d):
            theta[i] += vectors[i, e] * values[e] * along[e] / (values[e] + high)


@merged
def variance_along(inverse: FloatArray, direction: FloatArray) -> float:
    """direction' inverse direction."""
    total = 0.0
    for i in range(direction.size):
        for j in range(direction.size):
            total += direction[i] * inverse[i, j] * direction[j]
    return total


@merged
def squared_length(direction: FloatArray) -> float:
    """||direction||^2."""
    total = 0.0
    for i in range(direction.size):
        total += direction[i] * direction[i]
    return total
