"""PrivateMLE's solver for a demand family written in plain Python: readable, slower, the same certified answer.

It is also what the tests compare the compiled solver with.
"""

from __future__ import annotations

import numpy as np

from hushprice.demand.protocol import Demand
from hushprice.releasers.objective_perturbation import MAX_PASSES, RADIUS, TOLERANCE, certified_gap, constrained_step
from hushprice.types import FloatArray


def minimize(
    demand: Demand, phi: FloatArray, observed: FloatArray, ridge: float, tilt: FloatArray, theta: FloatArray
) -> float:
    """Move theta to the minimizer of the tilted, ridged negative log-likelihood on the ball; returns the certified gap."""
    d = theta.size
    work = np.zeros((2 * d + 1, d))
    target = np.zeros(d)
    for _ in range(MAX_PASSES):
        gradient, hessian = _derivatives(demand, phi, observed, ridge, tilt, theta)
        gap = certified_gap(theta, gradient, ridge, RADIUS)
        if gap <= TOLERANCE:
            break
        constrained_step(theta, gradient, hessian, RADIUS, target, work)
        direction = target - theta
        step = 1.0
        # Backtrack on the slope along the direction: F is convex, so a slope that is still downhill means descent.
        while step > 1e-6:
            slope = _derivatives(demand, phi, observed, ridge, tilt, theta + step * direction)[0] @ direction
            if slope <= 0.1 * abs(gradient @ direction):
                break
            step *= 0.5
        theta += step * direction
    return gap


def _derivatives(
    demand: Demand, phi: FloatArray, observed: FloatArray, ridge: float, tilt: FloatArray, theta: FloatArray
) -> tuple[FloatArray, FloatArray]:
    z = theta @ phi
    gradient = demand.slope * (phi @ (demand.mean(z) - observed)) + ridge * theta + tilt
    hessian = demand.slope * (phi * demand.mean_slope(z)) @ phi.T + ridge * np.eye(theta.size)
    return gradient, hessian
