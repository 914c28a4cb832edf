"""When to ask for a fresh estimate (alg:framework, lines 6-8), and what the price needs of a released covariance.

Everything here reads released values only. A released covariance plus ridge may be indefinite, because its noise can
exceed what was learned. The doubling test always compares determinants as released, sign included: a negative one is
never larger. What the price then does with an indefinite matrix is part of a calibration, and it is counted:

- FLOOR (`printed`): eigenvalues below the ridge are raised to it, which is post-processing;
- AS_IS (`published`): the matrix stays, and a negative quadratic form is no bonus.
"""

from __future__ import annotations

import math

from hushprice.numerics.jit import inlined, step
from hushprice.numerics.linear import eigen, unpack
from hushprice.types import FloatArray

FLOOR = 0
AS_IS = 1
LOG_DOUBLING = math.log(2.0)  # alg:framework line 7; cor:cov-multiplicative-approx assumes this ratio


@inlined
def wants_estimate(sign: float, log_det: float, current: float) -> bool:
    """det(Lambda_n) > 2 det(Lambda), where the current determinant is positive and given by its logarithm.

    Logarithms, because with unit features det itself can overflow float64 from d = 75 at T = 1e6.
    """
    return sign > 0.0 and log_det > current + LOG_DOUBLING


@step
def confidence(
    released: FloatArray, dimension: int, ridge: float, repair: int, inverse: FloatArray, work: FloatArray
) -> None:
    """inv(Lambda) of a non-singular Lambda = Sigma + ridge I, repaired if it is indefinite. work is (2 d + 1, d)."""
    matrix, vectors, values = work[:dimension], work[dimension : 2 * dimension], work[2 * dimension]
    unpack(released, dimension, matrix)
    for i in range(dimension):
        matrix[i, i] += ridge
    eigen(matrix, dimension, values, vectors)
    indefinite = False
    for i in range(dimension):
        indefinite = indefinite or not values[i] > 0.0
    for i in range(dimension):
        held = max(values[i], ridge) if indefinite and repair == FLOOR else values[i]
        values[i] = 1.0 / held
    for i in range(dimension):
        for j in range(i, dimension):
            total = 0.0
            for k in range(dimension):
                total += vectors[i, k] * values[k] * vectors[j, k]
            inverse[i, j] = total
            inverse[j, i] = total
