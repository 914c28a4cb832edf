"""PrivateMLE's solver for a demand family written in plain Python: readable, slower, the same certified answer.

It is also what the tests compare the compiled solver with. It asks nothing of the family but a continuous f' >= 0:
where a full Newton step does not halve the certified gap, the step is halved until F is still falling at its end.
"""

from __future__ import annotations

import numpy as np

from hushprice.demand.protocol import Demand
from hushprice.policies.paper.private.solver import MAX_PASSES, certified_gap, constrained_step, into_ball
from hushprice.policies.paper.tolerance import TOLERANCE
from hushprice.privacy.sensitivity import RADIUS
from hushprice.types import FloatArray

_SHORTEST = 1e-9  # halvings end here: the direction is then no descent to machine precision


def minimize(
    demand: Demand, phi: FloatArray, observed: FloatArray, ridge: float, tilt: FloatArray, *, theta: FloatArray
) -> float:
    """Move theta (a warm start) to the minimizer of F; returns the certified gap, for callers to check."""
    d = theta.size
    work = np.zeros((2 * d + 1, d))
    target = np.zeros(d)
    into_ball(theta)
    gradient, hessian = _derivatives(demand, phi, observed, ridge, tilt, theta=theta)
    least = gap = certified_gap(theta, gradient, ridge, RADIUS)
    for _ in range(MAX_PASSES):
        if gap <= TOLERANCE or not constrained_step(theta, gradient, hessian, RADIUS, target, work):
            break
        direction = target - theta
        share = 1.0
        gradient, hessian = _derivatives(demand, phi, observed, ridge, tilt, theta=target)
        gap = certified_gap(target, gradient, ridge, RADIUS)
        while gap > 0.5 * least and gradient @ direction > 0.0 and share > _SHORTEST:
            share *= 0.5
            target = theta + share * direction
            gradient, hessian = _derivatives(demand, phi, observed, ridge, tilt, theta=target)
            gap = certified_gap(target, gradient, ridge, RADIUS)
        least = min(least, gap)
        theta[:] = target
    return gap


def _derivatives(
    demand: Demand, phi: FloatArray, observed: FloatArray, ridge: float, tilt: FloatArray, *, theta: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Gradient and Hessian of F at theta."""
    z = theta @ phi
    # np.sum adds in pairs; `@` rounds once a record, which is more than policies/paper/tolerance.py allows.
    gradient = demand.slope * np.sum(phi * (demand.mean(z) - observed), axis=1) + ridge * theta + tilt
    hessian = demand.slope * (phi * demand.mean_slope(z)) @ phi.T + ridge * np.eye(theta.size)
    return gradient, hessian
