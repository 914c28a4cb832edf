"""The demand families as an integer switch: what the compiled steps of every layer call.

Demand given z = phi'theta follows exp{zeta (y z - m(z)) + h(y)} (eq:exp-family), with mean f = m'. The family objects
in families.py run these functions over arrays (the fill_ loops); a user's own family has code CUSTOM and runs on the
plain-Python engine through its object's methods.
"""

from __future__ import annotations

import math

import numpy as np

from hushprice.numerics.functions import exp, log, softplus
from hushprice.numerics.jit import inlined, step
from hushprice.types import FloatArray

LOGISTIC = 0
GAUSSIAN = 1
POISSON = 2
CUSTOM = 3

_TURN = 2.0 * math.pi


@inlined
def mean(family: int, slope: float, z: float) -> float:
    """f(z): expected demand."""
    if family == LOGISTIC:
        return 1.0 / (1.0 + exp(-slope * z))
    if family == POISSON:
        return exp(slope * z)
    return z


@inlined
def derivatives(family: int, slope: float, z: float) -> tuple[float, float, float]:
    """f(z), f'(z) and f''(z)/f'(z); the third is monotone in z for every family, which price bounds rely on."""
    if family == LOGISTIC:
        odds = exp(-slope * z)
        f = 1.0 / (1.0 + odds)
        rest = odds * f  # 1 - f, which the subtraction would round to zero far to the right
        return f, slope * f * rest, slope * (rest - f)
    if family == POISSON:
        f = exp(slope * z)
        return f, slope * f, slope
    return z, 1.0, 0.0


@inlined
def steepest(family: int, slope: float, low: float, high: float, slope_low: float, slope_high: float) -> float:
    """The largest f' on [low, high], from its values at the two ends."""
    if family == LOGISTIC and low * high <= 0.0:
        return 0.25 * slope  # the logistic curve is steepest at zero
    return max(slope_low, slope_high)


@inlined
def log_partition(family: int, slope: float, z: float) -> float:
    """m(z), normalized so that m' = f."""
    if family == LOGISTIC:
        return softplus(slope * z) / slope
    if family == POISSON:
        return exp(slope * z) / slope
    return 0.5 * z * z


@step
def log_base(family: int, slope: float, y: float) -> float:
    """h(y): minus infinity where y cannot happen."""
    if family == GAUSSIAN:
        return -0.5 * slope * y * y - 0.5 * math.log(2.0 * math.pi / slope)
    if family == LOGISTIC:
        return 0.0 if y == 0.0 or y == 1.0 else -math.inf
    return -math.lgamma(y + 1.0) if y >= 0.0 and y == np.floor(y) else -math.inf


@inlined
def draw(family: int, slope: float, bound: float, z: float, first: float, second: float) -> float:
    """One demand from two uniforms, clipped to [-bound, bound]."""
    if family == LOGISTIC:
        # A customer buys when utility slope z + logistic noise is positive; noise = logit(first).
        y = 1.0 if first > 1.0 / (1.0 + exp(slope * z)) else 0.0
    elif family == POISSON:
        y = _poisson(exp(slope * z), first, bound)
    else:
        y = z + np.sqrt(-2.0 * log(first) / slope) * np.cos(_TURN * second)
    return min(max(y, -bound), bound)


@inlined
def _poisson(rate: float, uniform: float, bound: float) -> float:
    """Inverse of the Poisson distribution function, stopped at the bound (beyond it the draw is clipped anyway)."""
    # Up to rate 676 from zero; above, e^-rate leaves float64, and nothing happens 26 deviations below the mean anyway.
    count = np.floor(max(rate - 26.0 * np.sqrt(rate), 0.0))
    probability = exp(-rate) if count == 0.0 else exp(count * log(rate) - rate - math.lgamma(count + 1.0))
    total = probability
    # The last clause ends the walk when the total, rounded below 1, can no longer reach the uniform.
    while uniform > total and count < bound and (count < rate or probability > 1e-18):
        count += 1.0
        probability *= rate / count
        total += probability
    return count


@step
def fill_mean(family: int, slope: float, z: FloatArray, out: FloatArray) -> None:
    """f of every entry."""
    for i in range(z.size):
        out[i] = mean(family, slope, z[i])


@step
def fill_mean_slope(family: int, slope: float, z: FloatArray, out: FloatArray) -> None:
    """f' of every entry."""
    for i in range(z.size):
        out[i] = derivatives(family, slope, z[i])[1]


@step
def fill_log_partition(family: int, slope: float, z: FloatArray, out: FloatArray) -> None:
    """m of every entry."""
    for i in range(z.size):
        out[i] = log_partition(family, slope, z[i])


@step
def fill_log_base(family: int, slope: float, y: FloatArray, out: FloatArray) -> None:
    """h of every entry."""
    for i in range(y.size):
        out[i] = log_base(family, slope, y[i])


@step
def fill_draws(
    family: int, slope: float, bound: float, z: FloatArray, first: FloatArray, second: FloatArray, out: FloatArray
) -> None:
    """One demand for every entry, from its own two uniforms."""
    for i in range(z.size):
        out[i] = draw(family, slope, bound, z[i], first[i], second[i])
