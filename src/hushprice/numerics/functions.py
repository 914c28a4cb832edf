"""Elementary functions written so that a loop over them vectorizes.

A call into the system's exp keeps the compiler from using vector units; these polynomials do not. They agree with the
system's to a few units in the last place on the ranges the package uses, and are the same on every machine, so a
result does not depend on whose mathematics library is installed.
"""

from __future__ import annotations

import numpy as np

from hushprice.numerics.jit import inlined

_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01  # ln 2 in two parts, so that k * ln 2 is exact in the high part
_LN2_LOW = 1.90821492927058770002e-10
_LARGEST = 708.0  # exp(708) is still finite in float64
_MANTISSA = np.int64(0x000FFFFFFFFFFFFF)
_ONE = np.int64(0x3FF0000000000000)
_SHIFT = np.int64(52)
_BIAS = np.int64(1023)
_SQRT2 = 1.4142135623730951
_PI_2 = 1.5707963267948966


@inlined
def exp(x: float) -> float:
    """e^x, with x held to [-708, 708]: 2^k times a Taylor polynomial on [-ln2/2, ln2/2]."""
    x = min(max(x, -_LARGEST), _LARGEST)
    k = np.floor(x * _LOG2_E + 0.5)
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    # The Taylor polynomial in groups that do not wait for each other, rather than as one long chain.
    r2 = r * r
    r4 = r2 * r2
    low = (0.5 + r * (1.0 / 6.0)) + r2 * (1.0 / 24.0 + r * (1.0 / 120.0))
    middle = (1.0 / 720.0 + r * (1.0 / 5040.0)) + r2 * (1.0 / 40320.0 + r * (1.0 / 362880.0))
    high = (1.0 / 3628800.0 + r * (1.0 / 39916800.0)) + r2 * (1.0 / 479001600.0 + r * (1.0 / 6227020800.0))
    p = 1.0 + (r + r2 * (low + r4 * (middle + r4 * high)))
    return p * np.int64((np.int64(k) + _BIAS) << _SHIFT).view(np.float64)


@inlined
def log(x: float) -> float:
    """ln x for normal positive x: exponent times ln 2 plus the atanh series of the mantissa in [sqrt(1/2), sqrt(2))."""
    bits = np.float64(x).view(np.int64)
    exponent = np.float64((bits >> _SHIFT) - _BIAS)
    mantissa = np.int64((bits & _MANTISSA) | _ONE).view(np.float64)
    if mantissa > _SQRT2:
        mantissa = 0.5 * mantissa
        exponent = exponent + 1.0
    s = (mantissa - 1.0) / (mantissa + 1.0)
    t = s * s
    t2 = t * t
    t4 = t2 * t2
    low = (1.0 + t * (1.0 / 3.0)) + t2 * (1.0 / 5.0 + t * (1.0 / 7.0))
    middle = (1.0 / 9.0 + t * (1.0 / 11.0)) + t2 * (1.0 / 13.0 + t * (1.0 / 15.0))
    high = (1.0 / 17.0 + t * (1.0 / 19.0)) + t2 * (1.0 / 21.0)
    p = low + t4 * (middle + t4 * high)
    return exponent * _LN2_HIGH + (2.0 * s * p + exponent * _LN2_LOW)


@inlined
def multiple(step: float, count: int) -> float:
    """count steps. Apart, because a GPU in single precision must narrow the count first, or the product is double."""
    return step * count


@inlined
def softplus(x: float) -> float:
    """ln(1 + e^x) without overflow: max(x, 0) + ln(1 + e^-|x|)."""
    small = exp(-abs(x))
    total = 1.0 + small  # what this rounds away comes back as the last term below
    return max(x, 0.0) + (log(total) + (small - (total - 1.0)) / total)


@inlined
def cos_sin_turn(u: float) -> tuple[float, float]:
    """cos and sin of 2 pi u for u in [0, 1]: Taylor polynomials on an eighth turn, then the quadrant's signs."""
    quadrant = np.floor(4.0 * u + 0.5)
    r = (4.0 * u - quadrant) * _PI_2
    t = r * r
    s = -1.0 / 1307674368000.0
    s = s * t + 1.0 / 6227020800.0
    s = s * t - 1.0 / 39916800.0
    s = s * t + 1.0 / 362880.0
    s = s * t - 1.0 / 5040.0
    s = s * t + 1.0 / 120.0
    s = s * t - 1.0 / 6.0
    s = r + r * (s * t)
    c = 1.0 / 20922789888000.0
    c = c * t - 1.0 / 87178291200.0
    c = c * t + 1.0 / 479001600.0
    c = c * t - 1.0 / 3628800.0
    c = c * t + 1.0 / 40320.0
    c = c * t - 1.0 / 720.0
    c = c * t + 1.0 / 24.0
    c = c * t - 0.5
    c = c * t + 1.0
    turn = np.int64(quadrant) & 3
    swap = (turn & 1) == 1
    cosine = s if swap else c
    sine = c if swap else s
    cosine = -cosine if turn == 1 or turn == 2 else cosine
    sine = -sine if turn >= 2 else sine
    return cosine, sine
