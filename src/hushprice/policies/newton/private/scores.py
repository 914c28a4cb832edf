"""What one record adds to its batch: a score of length at most 1 and a curvature of norm at most 1.

The score is w (f - y) phi, the gradient of the record's loss at the belief in force, weighted; the curvature is
w f' phi phi' / cap, how fast the score turns with theta. The weight w never reads y:

    w = 1 / (||phi|| max(f - lowest, B_Y - f)), or less, where w f' ||phi||^2 would pass the cap.

So |w (f - y)| ||phi|| <= 1 whatever was bought, and dividing instead of clipping leaves the estimating equation without
bias: at the truth every score has mean zero. f and f' are averages over the belief N(theta, inverse) by three points,
which keeps a wide belief from trusting the tangent at its centre. docs/proofs/batches.md has the sensitivity.
"""

from __future__ import annotations

import numpy as np

from hushprice.demand.family import derivatives
from hushprice.numerics.jit import inlined, merged, step
from hushprice.types import FloatArray

ROWS = 4  # of the scratch: z, variance, score factor, curvature factor
_ROOT_3 = 1.7320508075688772
_SHORT = 1e-9  # features no longer than this say nothing, and are left out


@inlined
def averaged(family: int, slope: float, z: float, deviation: float) -> tuple[float, float]:
    """The means of f and f' over N(z, deviation^2): three-point Gauss-Hermite, exact for polynomials to degree five."""
    below, steep_below, _ = derivatives(family, slope, z - _ROOT_3 * deviation)
    f, steep, _ = derivatives(family, slope, z)
    above, steep_above, _ = derivatives(family, slope, z + _ROOT_3 * deviation)
    return (below + 4.0 * f + above) / 6.0, (steep_below + 4.0 * steep + steep_above) / 6.0


@inlined
def weight(f: float, steep: float, norm: float, lowest: float, bound: float, cap: float) -> float:
    """w: reads features and the belief, never what was bought."""
    reach = max(f - lowest, bound - f)
    largest = 1.0 / (norm * reach)
    turn = largest * steep * norm * norm
    return largest if turn <= cap else largest * (cap / turn)


@step
def project(theta: FloatArray, inverse: FloatArray, phi: FloatArray, count: int, work: FloatArray) -> None:
    """Into work, for the first `count` columns of phi: phi'theta, phi' inverse phi, and, in its last row, ||phi||^2."""
    d = theta.size
    z, variance, pull, turn = work[0], work[1], work[2], work[3]
    for i in range(count):
        z[i] = 0.0
        variance[i] = 0.0
        turn[i] = 0.0
    for j in range(d):
        row, at = phi[j], theta[j]
        for i in range(count):
            z[i] += at * row[i]
            turn[i] += row[i] * row[i]
        for i in range(count):
            pull[i] = 0.0
        for k in range(d):
            entry, other = inverse[j, k], phi[k]
            for i in range(count):
                pull[i] += entry * other[i]
        for i in range(count):
            variance[i] += row[i] * pull[i]


@inlined
def factors(
    f: float, steep: float, norm: float, demand: float, lowest: float, bound: float, cap: float
) -> tuple[float, float]:
    """What phi is multiplied by in a record's score, and phi phi' in its curvature.

    Demand is held to [lowest, bound] here, where the weight relies on it, whatever a caller promised.
    """
    w = weight(f, steep, max(norm, _SHORT), lowest, bound, cap)
    w = w if norm > _SHORT else 0.0
    return w * (f - min(max(demand, lowest), bound)), w * steep / cap


@merged
def weigh(
    family: int,
    slope: float,
    lowest: float,
    bound: float,
    cap: float,
    theta: FloatArray,
    inverse: FloatArray,
    phi: FloatArray,
    demand: FloatArray,
    count: int,
    work: FloatArray,
) -> None:
    """The `factors` of the first `count` records, columns of phi (d, records), into the last two rows of work."""
    project(theta, inverse, phi, count, work)
    z, variance, pull, turn = work[0], work[1], work[2], work[3]
    for i in range(count):
        f, steep = averaged(family, slope, z[i], np.sqrt(max(variance[i], 0.0)))
        pull[i], turn[i] = factors(f, steep, np.sqrt(turn[i]), demand[i], lowest, bound, cap)


@step
def add_up(phi: FloatArray, count: int, work: FloatArray, score: FloatArray, curvature: FloatArray) -> None:
    """Add weighed records to a batch's exact sums, which are sensitive. One by one: chunking changes no digit."""
    d = score.size
    pull, turn = work[2], work[3]
    at = 0
    for j in range(d):
        row = phi[j]
        total = score[j]
        for i in range(count):
            total += pull[i] * row[i]
        score[j] = total
        for k in range(j, d):
            other = phi[k]
            total = curvature[at]
            for i in range(count):
                total += turn[i] * (row[i] * other[i])
            curvature[at] = total
            at += 1
