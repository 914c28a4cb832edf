"""The solver behind PrivateMLE is not exact. How far it may stop from the minimizer, and what rounding adds to that.

The privacy proof is about the exact minimizer. What is released is within `distance` of it, with noise on top that
hides twice that (docs/proofs/objective_perturbation.md, section 4).
"""

from __future__ import annotations

import math

from hushprice import checks
from hushprice.accounting.sensitivity import RADIUS, LossBounds

TOLERANCE = 1e-13  # public bound on F(theta) - min F, checked by the solver before anything is released
CHUNK = 8192  # records summed before their sum is added to the total, so that rounding errors stay few
LANES = 16  # running sums within a chunk
_UNIT = 2.0**-53
_SPHERE = 4e-15  # how far a point taken to lie on the sphere may lie off it, relatively


def distance(*, ridge: float, noise: float, grid: float, steps: int, dimension: int, losses: LossBounds) -> float:
    """A bound on ||released before its output noise - exact minimizer||.

    F is ridge-strongly convex, so a certified gap puts theta within sqrt(2 gap / ridge), and an error in the gradient
    the certificate is computed from adds that error over the ridge. So does rounding w to its grid.
    """
    checks.positive(ridge=ridge, noise=noise)
    checks.non_negative(grid=grid)
    checks.whole(1, steps=steps, dimension=dimension)
    tilt = 40.0 * noise * math.sqrt(dimension)  # ||w|| is below this but for odds of e^-800
    # One record: the inner product phi'theta, the mean, the product with phi; then the sums over records.
    each = losses.gradient * (32 + CHUNK // LANES + steps // CHUNK) + 2.0 * RADIUS * dimension * losses.curvature
    gradient = _UNIT * (steps * each + 8.0 * (ridge * RADIUS + tilt))
    sphere = _SPHERE * (ridge + steps * losses.curvature) * RADIUS
    return (
        math.sqrt(2.0 * TOLERANCE / ridge)
        + (gradient + sphere + 0.5 * grid * math.sqrt(dimension)) / ridge
        + _SPHERE * RADIUS
    )
