"""Public dispersion: prices are best for a demand line drawn near the believed one, so that slopes stay identified."""

from __future__ import annotations

import math

from hushprice.numerics.jit import step
from hushprice.types import FloatArray

_ROOT_3 = 1.7320508075688772  # a uniform on [-sqrt(3), sqrt(3)] has deviation 1


@step
def spread_lines(
    spread: float,
    count: int,
    uniforms: FloatArray,
    a: FloatArray,
    b: FloatArray,
    q1: FloatArray,
    q2: FloatArray,
) -> None:
    """Move each line a + b p by `spread` standard deviations of its slope, level and slope together.

    Under the belief (a, b) has covariance [[., q1/2], [q1/2, q2]]. Given the slope's deviation from its mean the level
    is expected to move by q1 / (2 q2) of it. A customer's own uniform decides, so this is post-processing of releases.
    """
    for i in range(count):
        if q2[i] > 0.0:
            moved = spread * _ROOT_3 * (2.0 * uniforms[i] - 1.0) * math.sqrt(q2[i])
            b[i] += moved
            a[i] += moved * 0.5 * q1[i] / q2[i]
