"""When to ask for a fresh estimate (alg:framework, lines 6-8), and what the price needs of a released covariance.

Everything here reads released values only. A released covariance plus ridge may be indefinite, because its noise can
exceed what was learned. The doubling test always compares determinants as released, sign included: a negative one is
never larger. What the price then does with an indefinite matrix is part of a calibration, and it is counted:

- FLOOR (`printed`): eigenvalues below the ridge are raised to it, which is post-processing;
- AS_IS (`published`): the matrix stays, and a negative quadratic form is no bonus.
"""

from __future__ import annotations

import math

from hushprice.numerics.functions import log
from hushprice.numerics.jit import step
from hushprice.numerics.linear import cholesky, eigen, log_determinant, unpack
from hushprice.types import FloatArray

FLOOR = 0
AS_IS = 1
LOG_DOUBLING = math.log(2.0)  # alg:framework line 7; cor:cov-multiplicative-approx assumes this ratio


@step
def regularize(
    released: FloatArray, dimension: int, ridge: float, repair: int, matrix: FloatArray, work: FloatArray
) -> tuple[float, float, bool]:
    """Lambda = Sigma + ridge I into `matrix`, repaired; returns the sign and ln |det| before repair, and if it was indefinite.

    Log-determinants: with unit features det itself can overflow float64 from d = 75 at T = 1e6. work is (3 d, d).
    """
    unpack(released, dimension, matrix)
    for i in range(dimension):
        matrix[i, i] += ridge
    if cholesky(matrix, dimension, work):
        return 1.0, log_determinant(work, dimension), False
    copy, vectors, values = work[:dimension], work[dimension : 2 * dimension], work[2 * dimension]
    for i in range(dimension):
        for j in range(dimension):
            copy[i, j] = matrix[i, j]
    eigen(copy, dimension, values, vectors)
    sign = 1.0
    total = 0.0
    for i in range(dimension):
        if values[i] == 0.0:
            return 0.0, -math.inf, True
        if values[i] < 0.0:
            sign = -sign
        total += log(abs(values[i]))
        if repair == FLOOR:
            values[i] = max(values[i], ridge)
    if repair == FLOOR:
        _compose(values, vectors, dimension, matrix)
    return sign, total, True


@step
def wants_estimate(sign: float, log_determinant: float, current: float) -> bool:
    """det(Lambda_n) > 2 det(Lambda), where the current determinant is positive and given by its logarithm."""
    return sign > 0.0 and log_determinant > current + LOG_DOUBLING


@step
def invert(matrix: FloatArray, dimension: int, inverse: FloatArray, work: FloatArray) -> None:
    """inv(Lambda) of a non-singular symmetric matrix, definite or not. work is (3 d, d)."""
    copy, vectors, values = work[:dimension], work[dimension : 2 * dimension], work[2 * dimension]
    for i in range(dimension):
        for j in range(dimension):
            copy[i, j] = matrix[i, j]
    eigen(copy, dimension, values, vectors)
    for i in range(dimension):
        values[i] = 1.0 / values[i]
    _compose(values, vectors, dimension, inverse)


@step
def _compose(values: FloatArray, vectors: FloatArray, dimension: int, out: FloatArray) -> None:
    """V diag(values) V'."""
    for i in range(dimension):
        for j in range(i, dimension):
            total = 0.0
            for k in range(dimension):
                total += vectors[i, k] * values[k] * vectors[j, k]
            out[i, j] = total
            out[j, i] = total
