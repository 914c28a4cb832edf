"""PrivateMLE by objective perturbation (alg:private-mle).

The release is the exact minimizer over ||theta|| <= radius of

    F(theta) = sum_t -ln p(y_t | phi_t, theta) + ridge/2 ||theta||^2 + w'theta,     w ~ N(0, nu^2 I).

The privacy proof is about that minimizer, so the solver must come close to it and say how close. It runs Newton's
method on the constrained problem until a certified bound on F(theta) - min F is below a public tolerance:

    F(theta) - min F <= ||g + k theta||^2 / (2 (ridge + k)) + k/2 (radius^2 - ||theta||^2),     any k >= 0,

by duality, because F + k/2 (||.||^2 - radius^2) is (ridge + k)-strongly convex and never above F on the ball. The
number of steps and the gap depend on raw records: both stay in this layer.

A full Newton step is kept when it halves the smallest certified gap seen. Otherwise the damped step ln(1 + b)/b is
taken, b = slope max||phi|| ||step||, which is sure to decrease F, so the method converges from anywhere (after Sun and
Tran-Dinh, "Generalized self-concordant functions", 2019). docs/proofs/private_mle_solver.md proves each of these lines.
"""

from __future__ import annotations

import numpy as np

from hushprice.accounting.inexact import TOLERANCE
from hushprice.accounting.sensitivity import RADIUS
from hushprice.demand.family import GAUSSIAN, derivatives
from hushprice.numerics.jit import inlined, step
from hushprice.numerics.linear import cholesky, packed_size, solve_factored
from hushprice.types import FloatArray

MAX_PASSES = 200
_SHIFTS = 60  # Newton steps for the ball's multiplier; about five are needed
_ROUNDING = 4e-15  # a squared norm this near radius^2, relatively, counts as on the sphere

# Records are summed in blocks of _ROUNDS x _LANES: record i of a block goes to running sum i mod _LANES. Vector units
# then need no reassociation, so digits depend on neither the machine's vector width nor the room behind the records.
_LANES = 16
_ROUNDS = 8
_BLOCK = _LANES * _ROUNDS
_U_LANES, _U_BLOCK = np.uint64(_LANES), np.uint64(_BLOCK)  # unsigned: an index that may be negative is not vectorized
_LINE = 64  # bytes; vectors that straddle cache lines load at half the speed


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

    work holds 3 + d blocks (z, residual, weight, and a copy of d features) and d + d (d + 1)/2 running sums.
    """
    d = theta.size
    z, residual, weight = work[:_BLOCK], work[_BLOCK : 2 * _BLOCK], work[2 * _BLOCK : 3 * _BLOCK]
    features = work[3 * _BLOCK : (3 + d) * _BLOCK]
    sums = work[(3 + d) * _BLOCK : (3 + d) * _BLOCK + (d + packed_size(d)) * _LANES]
    for i in range(sums.size):
        sums[i] = 0.0
    for start in range(0, count, _BLOCK):
        size = min(_BLOCK, count - start)
        _weigh(family, slope, theta, phi, demand, start, size, features, z, residual, weight)
        _accumulate(features, residual, weight, z, sums)
    row = d
    for j in range(d):
        gradient[j] = _total(sums, j)
        for k in range(j, d):
            hessian[j, k] = _total(sums, row)
            hessian[k, j] = hessian[j, k]
            row += 1


@step
def _weigh(
    family: int,
    slope: float,
    theta: FloatArray,
    phi: FloatArray,
    demand: FloatArray,
    start: int,
    size: int,
    features: FloatArray,
    z: FloatArray,
    residual: FloatArray,
    weight: FloatArray,
) -> None:
    """One block: a copy of its features, its losses' first and second derivatives at z = phi'theta; 0 past `size`."""
    first, filled = np.uint64(start), np.uint64(size)
    for i in range(_U_BLOCK):
        z[i] = 0.0
    for j in range(theta.size):
        at, row, to = theta[j], phi[j], np.uint64(j) * _U_BLOCK
        for i in range(filled):
            x = row[first + i]
            features[to + i] = x
            z[i] += at * x
        for i in range(filled, _U_BLOCK):
            features[to + i] = 0.0
    for i in range(filled):
        f, s, _ = derivatives(family, slope, z[i])
        residual[i] = slope * (f - demand[first + i])
        weight[i] = slope * s
    for i in range(filled, _U_BLOCK):
        residual[i] = 0.0
        weight[i] = 0.0


@step
def _accumulate(
    features: FloatArray, residual: FloatArray, weight: FloatArray, product: FloatArray, sums: FloatArray
) -> None:
    """Add residual phi_j, then weight phi_j phi_k (j <= k), to the running sums. The arguments must not overlap."""
    end = np.uint64(features.size)
    to = _add_products(residual, features, np.uint64(0), end, sums, np.uint64(0))
    for j in range(features.size // _BLOCK):
        row = np.uint64(j) * _U_BLOCK
        for i in range(_U_BLOCK):
            product[i] = weight[i] * features[row + i]
        to = _add_products(product, features, row, end, sums, to)


@inlined
def _add_products(
    left: FloatArray, features: FloatArray, row: np.uint64, end: np.uint64, sums: FloatArray, to: np.uint64
) -> np.uint64:
    """Add left times each row of features from `row` on, lane by lane; returns where the next sums lie."""
    while row < end:
        for i in range(_U_LANES):
            total = sums[to + i]
            for r in range(_ROUNDS):  # unrolled, so that a running sum is loaded and stored once a block
                at = np.uint64(r * _LANES) + i
                total += left[at] * features[row + at]
            sums[to + i] = total
        row += _U_BLOCK
        to += _U_LANES
    return to


@step
def _total(sums: FloatArray, row: int) -> float:
    """One running sum's lanes, added in a fixed order."""
    total = 0.0
    for i in range(row * _LANES, (row + 1) * _LANES):
        total += sums[i]
    return total


@step
def certified_gap(theta: FloatArray, gradient: FloatArray, ridge: float, radius: float) -> float:
    """The bound on F(theta) - min F of the module's text, at the multiplier that makes g + k theta shortest and at 0.

    Infinity where nothing can be said: off the ball, or where a number is not finite.
    """
    inner = _dot(gradient, theta)
    norm2 = _dot(theta, theta)
    most = radius * radius
    if not norm2 <= most * (1.0 + _ROUNDING):
        return np.inf
    k = max(0.0, -inner / norm2) if norm2 > 0.0 else 0.0
    slack = max(0.0, most * (1.0 - _ROUNDING) - norm2)
    held = 0.0
    for j in range(theta.size):
        held += (gradient[j] + k * theta[j]) ** 2
    gap = min(_dot(gradient, gradient) / (2.0 * ridge), held / (2.0 * (ridge + k)) + 0.5 * k * slack)
    return gap if gap >= 0.0 else np.inf


@step
def constrained_step(
    theta: FloatArray, gradient: FloatArray, hessian: FloatArray, radius: float, target: FloatArray, work: FloatArray
) -> bool:
    """Minimize g's + s'Hs/2 over ||theta + s|| <= radius; theta + s goes into `target`. False if H is not positive."""
    d = theta.size
    shifted, factor, right = work[:d], work[d : 2 * d], work[2 * d]
    for i in range(d):
        right[i] = _dot(hessian[i], theta) - gradient[i]
    shift = 0.0
    norm = np.inf
    # Newton on 1/||target|| - 1/radius, which is increasing and concave in the shift: from 0 it never overshoots.
    for _ in range(_SHIFTS):
        for i in range(d):
            for j in range(d):
                shifted[i, j] = hessian[i, j]
            shifted[i, i] += shift
        if not cholesky(shifted, d, factor):
            return False
        solve_factored(factor, right, d, target)
        norm = np.sqrt(_dot(target, target))
        if norm <= radius:
            if shift == 0.0:
                return True
            break
        solve_factored(factor, target, d, shifted[0])
        following = shift + (norm - radius) / radius * norm * norm / _dot(target, shifted[0])
        if not following > shift:
            break
        shift = following
    # With a shift the answer is on the sphere, and solving misses it by a rounding error times H's condition. Inside by
    # that much the certificate would charge shift times the gap to the sphere, and sound fits would be refused.
    for i in range(d):
        target[i] *= radius / norm
    return True


@step
def _dot(a: FloatArray, b: FloatArray) -> float:
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@step
def into_ball(theta: FloatArray) -> None:
    """Bring a warm start back into the ball: a released estimate may lie outside it by its output noise."""
    norm = np.sqrt(_dot(theta, theta))
    if norm > RADIUS:
        for j in range(theta.size):
            theta[j] *= RADIUS / norm


@step
def _longest(phi: FloatArray, count: int) -> float:
    """The largest ||phi|| of the first `count` records; at most 1 for records, more for input perturbation."""
    most = 0.0
    for i in range(count):
        norm2 = 0.0
        for j in range(phi.shape[0]):
            norm2 += phi[j, i] * phi[j, i]
        most = max(most, norm2)
    return np.sqrt(most)


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
) -> float:
    """Gradient and Hessian of F at theta; returns the certified gap."""
    score(family, slope, phi, demand, count, theta, gradient, hessian, work)
    for j in range(theta.size):
        gradient[j] += ridge * theta[j] + tilt[j]
        hessian[j, j] += ridge
    return certified_gap(theta, gradient, ridge, RADIUS)


def scratch(dimension: int) -> FloatArray:
    """Scratch for `minimize`: what `score` needs, a gradient, a Hessian, a target, and the small solves."""
    d = dimension
    size = (3 + d) * _BLOCK + (d + packed_size(d)) * _LANES + 3 * d * d + 3 * d
    room = np.zeros(size + _LINE // 8)
    first = -room.ctypes.data % _LINE // 8
    return room[first : first + size]


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
    """Move theta (a warm start) to the minimizer of F; returns the certified gap, which callers must check.

    The gap is infinite when nothing could be certified; it is never NaN.
    """
    d = theta.size
    at = (3 + d) * _BLOCK + (d + packed_size(d)) * _LANES
    gradient, target = work[at : at + d], work[at + d : at + 2 * d]
    hessian = work[at + 2 * d : at + 2 * d + d * d].reshape(d, d)
    solves = work[at + 2 * d + d * d : at + 3 * d + 3 * d * d].reshape(2 * d + 1, d)
    longest = -1.0
    into_ball(theta)
    gap = _evaluate(family, slope, phi, demand, count, ridge, tilt, theta, gradient, hessian, work)
    least = gap
    for _ in range(MAX_PASSES):
        if gap <= TOLERANCE or not constrained_step(theta, gradient, hessian, RADIUS, target, solves):
            break
        gap = _evaluate(family, slope, phi, demand, count, ridge, tilt, target, gradient, hessian, work)
        if gap > 0.5 * least:
            if longest < 0.0:
                longest = 0.0 if family == GAUSSIAN else _longest(phi, count)
            length2 = 0.0
            for j in range(d):
                length2 += (target[j] - theta[j]) ** 2
            bend = slope * longest * np.sqrt(length2)
            share = np.log1p(bend) / bend if bend > 0.0 else 1.0
            for j in range(d):
                target[j] = theta[j] + share * (target[j] - theta[j])
            gap = _evaluate(family, slope, phi, demand, count, ridge, tilt, target, gradient, hessian, work)
        least = min(least, gap)
        for j in range(d):
            theta[j] = target[j]
    return gap
