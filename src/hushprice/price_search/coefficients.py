"""From a customer and the releases to the five numbers the price search needs."""

from __future__ import annotations

from hushprice.numerics.jit import step
from hushprice.types import FloatArray


@step
def demand_line(theta: FloatArray, u: FloatArray, v: FloatArray, count: int, a: FloatArray, b: FloatArray) -> None:
    """phi'theta = a + b p for each of `count` customers; u and v are (d, customers)."""
    for i in range(count):
        a[i] = 0.0
        b[i] = 0.0
    for j in range(theta.size):
        left, right, weight = u[j], v[j], theta[j]
        for i in range(count):
            a[i] += weight * left[i]
        for i in range(count):
            b[i] += weight * right[i]


@step
def bonus_curve(
    inverse: FloatArray,
    u: FloatArray,
    v: FloatArray,
    count: int,
    q0: FloatArray,
    q1: FloatArray,
    q2: FloatArray,
    work: FloatArray,
) -> None:
    """phi' inv(Lambda) phi = q0 + q1 p + q2 p^2 for each of `count` customers. work is (2, customers)."""
    d = inverse.shape[0]
    through_u, through_v = work[0], work[1]
    for i in range(count):
        q0[i] = 0.0
        q1[i] = 0.0
        q2[i] = 0.0
    for j in range(d):
        for i in range(count):
            through_u[i] = 0.0
            through_v[i] = 0.0
        for k in range(d):
            entry, left, right = inverse[j, k], u[k], v[k]
            for i in range(count):
                through_u[i] += entry * left[i]
            for i in range(count):
                through_v[i] += entry * right[i]
        left, right = u[j], v[j]
        for i in range(count):
            q0[i] += left[i] * through_u[i]
        for i in range(count):
            q1[i] += 2.0 * right[i] * through_u[i]
        for i in range(count):
            q2[i] += right[i] * through_v[i]
