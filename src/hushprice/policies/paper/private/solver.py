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

A pass over all records is what costs, and two things save some. The same b bounds how far the gradient at a Newton
point can be from what the last pass foretells, so the last step needs no pass to be certified. And where records are
many, a sample of them tells where one more step would lead, so that the next pass is made there.
"""

from __future__ import annotations

import numpy as np

from hushprice.demand.family import GAUSSIAN
from hushprice.numerics.jit import inlined, merged, step
from hushprice.numerics.linear import cholesky, packed_size, solve_factored
from hushprice.policies.paper.private.likelihood import BLOCK, longest, score
from hushprice.policies.paper.tolerance import LANES, TOLERANCE
from hushprice.privacy.sensitivity import RADIUS
from hushprice.types import FloatArray

MAX_PASSES = 200
_SAMPLE = 64  # blocks of records that say where to make the next pass
_MANY = 8 * _SAMPLE  # blocks from which on a sample of them costs little beside a pass
_SHIFTS = 60  # Newton steps for the ball's multiplier; about five are needed
_ROUNDING = 4e-15  # a squared norm this near radius^2, relatively, counts as on the sphere

_LINE = 64  # bytes; vectors that straddle cache lines load at half the speed


@step
def certified_gap(theta: FloatArray, gradient: FloatArray, ridge: float, radius: float, off: float = 0.0) -> float:
    """The bound on F(theta) - min F of the module's text, at the multiplier that makes g + k theta shortest and at 0.

    `off` is how far, in norm, the true gradient may be from the one given. Infinity where nothing can be said: off the
    ball, or where a number is not finite.
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
    free, held = np.sqrt(_dot(gradient, gradient)) + off, np.sqrt(held) + off
    gap = min(free * free / (2.0 * ridge), held * held / (2.0 * (ridge + k)) + 0.5 * k * slack)
    return gap if gap >= 0.0 else np.inf


@step
def foreseen_gap(
    theta: FloatArray,
    gradient: FloatArray,
    hessian: FloatArray,
    target: FloatArray,
    bend: float,
    ridge: float,
    work: FloatArray,
) -> float:
    """The bound on F(target) - min F that is certain from F's derivatives at theta alone; bend is slope max||phi||."""
    d = theta.size
    step, there = work[0], work[1]
    for j in range(d):
        step[j] = target[j] - theta[j]
    curvature = 0.0
    for j in range(d):
        along = _dot(hessian[j], step)
        curvature += step[j] * along
        there[j] = gradient[j] + along
    return certified_gap(target, there, ridge, RADIUS, drift(bend, np.sqrt(_dot(step, step)), curvature))


@step
def drift(bend: float, length: float, curvature: float) -> float:
    """How far, at most, the gradient after a step s is from g + Hs; curvature is s'Hs, bend is slope max||phi||."""
    b = bend * length
    if not b <= 1.0:
        return np.inf  # so long a step is never the last
    return bend * curvature * (0.5 + 0.22 * b)  # above (e^b - 1 - b) / b^2, which is convex and 0.719 at b = 1


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
def _anticipate(
    family: int,
    slope: float,
    phi: FloatArray,
    demand: FloatArray,
    count: int,
    theta: FloatArray,
    gradient: FloatArray,
    hessian: FloatArray,
    target: FloatArray,
    work: FloatArray,
    solves: FloatArray,
) -> None:
    """Move target, the Newton point, on to where the next Newton point will be if a sample of the records is right.

    Only how derivatives change from theta to target is taken from the sample: it is small, so its error is smaller.
    solves is (4 d + 3, d).
    """
    d = theta.size
    every = count // BLOCK // _SAMPLE
    share = 1.0 / every
    before, there = solves[2 * d + 1], solves[2 * d + 2]
    before_2, there_2 = solves[2 * d + 3 : 3 * d + 3], solves[3 * d + 3 : 4 * d + 3]
    score(family, slope, phi, demand, count, theta, before, before_2, work, every)
    score(family, slope, phi, demand, count, target, there, there_2, work, every)
    for i in range(d):
        for j in range(d):
            there[i] += (share * hessian[i, j] - before_2[i, j]) * (target[j] - theta[j])
            there_2[i, j] += share * hessian[i, j] - before_2[i, j]
        there[i] += share * gradient[i] - before[i]
    if constrained_step(target, there, there_2, RADIUS, before, solves):
        for j in range(d):
            target[j] = before[j]


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
    """Scratch for `minimize`: what `score` needs, a gradient, a Hessian, two targets, and the small solves."""
    d = dimension
    size = (3 + d) * BLOCK + (d + packed_size(d)) * LANES + (5 * d + 6) * d
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
    at = (3 + d) * BLOCK + (d + packed_size(d)) * LANES
    rows = work[at : at + (5 * d + 6) * d].reshape(5 * d + 6, d)
    return descend(family, slope, phi, demand, count, ridge, tilt, theta, work, rows)


@merged
def descend(
    family: int,
    slope: float,
    phi: FloatArray,
    demand: FloatArray,
    count: int,
    ridge: float,
    tilt: FloatArray,
    theta: FloatArray,
    work: FloatArray,
    rows: FloatArray,
) -> float:
    """`minimize`, with the scratch of `score` apart from the small matrices, rows (5 d + 6, d)."""
    d = theta.size
    gradient, newton, target, hessian, solves = rows[0], rows[1], rows[2], rows[3 : d + 3], rows[d + 3 :]
    into_ball(theta)
    bend = 0.0 if family == GAUSSIAN else slope * longest(phi, count, work)
    gap = _evaluate(family, slope, phi, demand, count, ridge, tilt, theta, gradient, hessian, work)
    least = gap
    for _ in range(MAX_PASSES):
        if gap <= TOLERANCE or not constrained_step(theta, gradient, hessian, RADIUS, newton, solves):
            break
        foreseen = foreseen_gap(theta, gradient, hessian, newton, bend, ridge, solves)
        if foreseen <= TOLERANCE:
            _put(newton, theta)
            return foreseen
        _put(newton, target)
        if count >= _MANY * BLOCK:
            _anticipate(family, slope, phi, demand, count, theta, gradient, hessian, target, work, solves)
        gap = _evaluate(family, slope, phi, demand, count, ridge, tilt, target, gradient, hessian, work)
        if gap > 0.5 * least:
            length2 = 0.0
            for j in range(d):
                length2 += (newton[j] - theta[j]) ** 2
            turn = bend * np.sqrt(length2)
            share = np.log1p(turn) / turn if turn > 0.0 else 1.0
            for j in range(d):
                target[j] = theta[j] + share * (newton[j] - theta[j])
            gap = _evaluate(family, slope, phi, demand, count, ridge, tilt, target, gradient, hessian, work)
        least = min(least, gap)
        _put(target, theta)
    return gap


@inlined
def _put(source: FloatArray, target: FloatArray) -> None:
    for j in range(source.size):
        target[j] = source[j]
