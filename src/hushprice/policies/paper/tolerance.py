"""The solver behind PrivateMLE is not exact. How far it may stop from the minimizer, and what rounding adds to that.

The privacy proof is about the exact minimizer. What is released is within `distance` of it, with noise on top that
hides twice that (docs/proofs/objective_perturbation.md, section 4).
"""

from __future__ import annotations

import math

from hushprice import checks
from hushprice.privacy.sensitivity import RADIUS, LossBounds

TOLERANCE = 1e-13  # public bound on F(theta) - min F, checked by the solver before anything is released
CHUNK = 8192  # records summed before their sum is added to the total, so that rounding errors stay few
LANES = 16  # running sums within a chunk
_UNIT = 2.0**-53
_SPHERE = 4e-15  # how far a squared norm taken to be that of the sphere may be off it, relatively
_SPARE = 1.001  # for rounding in the certificate itself, and for terms of second order


def distance(*, ridge: float, grid: float, steps: int, dimension: int, losses: LossBounds) -> float:
    """A bound on ||released before its output noise - exact minimizer||.

    F is ridge-strongly convex, so a certified gap puts theta within sqrt(2 gap / ridge), and an error in the gradient
    the certificate is computed from adds that error over the ridge. So does rounding w to its grid. A large w does not
    matter: it pins theta to the sphere by a multiplier as large.
    """
    checks.positive(ridge=ridge)
    checks.non_negative(grid=grid)
    checks.whole(1, steps=steps, dimension=dimension)
    # One record: the inner product phi'theta, the mean, the product with phi; then the sums over records.
    each = losses.gradient * (36 + CHUNK // LANES + steps // CHUNK) + 2.0 * RADIUS * dimension * losses.curvature
    # Three times: the last step may be certified by what the pass before it foretells, gradient and Hessian.
    gradient = _UNIT * (3.0 * steps * each + 10.0 * ridge * RADIUS)
    radius = (_SPHERE + dimension * _UNIT) * RADIUS
    return _SPARE * (
        math.sqrt(2.0 * TOLERANCE / ridge)
        + (gradient + radius * (ridge + steps * losses.curvature) + 0.5 * grid * math.sqrt(dimension)) / ridge
        + radius
    )
