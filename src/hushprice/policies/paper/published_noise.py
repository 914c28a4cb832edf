"""How much noise a budget buys, as the paper has it: calibrations `printed` and `published`.

`printed` is what the algorithms say, word for word. `published` is the reading that reproduces the numbers of
tab:non-private, which do not come out of the printed constants; docs/lab/readings.md compares the two. Neither is
tuned.

Both are loose: the composition steps cost far more noise than the claimed guarantee needs. Neither is used to state a
proven epsilon.
"""

from __future__ import annotations

import math

from hushprice import checks
from hushprice.policies.protocol import Constants
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.streams import tree


def covariance_noise(share: EpsilonDelta, horizon: int, *, square_root: bool) -> float:
    """Standard deviation of each entry of W^n in PrivateCov.

    Paper: alg:private-cov, line 2 -- sigma^2 = 2 ln(1.25/d') / e'^2, e' = e / (2 m ln(1/d')), d' = d / 2m, m levels.
    With `square_root`, e' = e / (2 sqrt(2 m ln(1/d'))), what advanced composition needs.

    >>> round(covariance_noise(EpsilonDelta(1.0, 1e-10), 10**5, square_root=False))
    6606
    """
    m = tree(horizon).levels
    delta = share.delta / (2 * m)
    checks.probability(delta_per_node=delta)  # the smallest floats underflow to 0
    spread = 2 * m * -math.log(delta)
    epsilon = share.epsilon / (2 * math.sqrt(spread) if square_root else spread)
    checks.positive(epsilon_per_node=epsilon)
    return math.sqrt(2 * (math.log(1.25) - math.log(delta))) / epsilon


def per_estimate(share: EpsilonDelta, calls: int, *, halved: bool) -> EpsilonDelta:
    """What one PrivateMLE call may cost.

    Paper: alg:framework, line 3 -- d' = d / 2D, e' = e / (2 sqrt(2 D ln(1/d'))), D = D_inf. Without `halved` the 2
    before the square root is left out, as in cor:privacy-mle.
    """
    checks.whole(1, max_estimates=calls)
    delta = share.delta / (2 * calls)
    checks.probability(delta_per_estimate=delta)
    epsilon = share.epsilon / ((2 if halved else 1) * math.sqrt(-2 * calls * math.log(delta)))
    checks.positive(epsilon_per_estimate=epsilon)
    return EpsilonDelta(epsilon, delta)


def estimate_noise(call: EpsilonDelta, constants: Constants) -> float:
    """nu of alg:private-mle, line 2: nu^2 = B1^2 (8 ln(2/d) + 4 e) / e^2, B1 = (B_Y + 1) G."""
    gradient = (constants.bound + 1) * constants.scale
    return gradient * math.sqrt(8 * (math.log(2) - math.log(call.delta)) + 4 * call.epsilon) / call.epsilon


def estimate_ridge(call: EpsilonDelta, constants: Constants, ridge: float) -> float:
    """rho of alg:private-mle, line 2: max(rho, 2 B2 / e), B2 = K G."""
    return max(ridge, 2 * constants.curvature * constants.scale / call.epsilon)
