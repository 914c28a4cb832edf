"""What a price is worth: revenue, the clairvoyant price, regret (sec:regret), consumer surplus.

All are expectations given the context and the price, so two policies on one market differ by their prices alone and
not by who happened to buy.
"""

from __future__ import annotations

import math

from hushprice.demand.family import GAUSSIAN, LOGISTIC, mean
from hushprice.numerics.functions import exp, log, softplus
from hushprice.numerics.jit import inlined


@inlined
def revenue(family: int, slope: float, a: float, b: float, price: float) -> float:
    """p f(a + b p), where a + b p = phi'theta*."""
    return price * mean(family, slope, a + b * price)


@inlined
def clairvoyant_price(family: int, slope: float, a: float, b: float, polish: int = 2) -> float:
    """argmax over [0, 1] of p f(a + b p), in closed form.

    Logistic: with c = -slope b > 0 the first-order condition c p = 1 + e^(slope a - c p) gives
    c p = 1 + W(e^(slope a - 1)). Gaussian: -a / (2 b). Poisson: 1 / (-slope b). Demand that does not fall in price is
    best served at 1, unless it is negative there.
    """
    if family == GAUSSIAN:
        if b < 0.0:
            return min(max(-0.5 * a / b, 0.0), 1.0)
        return 1.0 if a + b > 0.0 else 0.0
    if b >= 0.0:
        return 1.0
    if family == LOGISTIC:
        return min((1.0 + _lambert_of_exp(slope * a - 1.0, polish)) / (-slope * b), 1.0)
    return min(1.0 / (-slope * b), 1.0)


@inlined
def _lambert_of_exp(c: float, polish: int) -> float:
    """W(e^c), the root of w + ln w = c: a guess within a few percent, then two steps of Fritsch, Shafer and Crowley."""
    c = max(c, -600.0)
    small = exp(min(c, 0.0))
    start = softplus(max(c, 0.0))
    w = small / (1.0 + small) if c < 0.0 else start * (1.0 - log(1.0 + start) / (2.0 + start))
    for _ in range(polish):
        z = c - log(w) - w
        t = 1.0 + w
        s = 2.0 * t * (t + 2.0 / 3.0 * z)
        w = w * (1.0 + z / t * (s - z) / (s - 2.0 * z))
    return w


@inlined
def surplus(family: int, slope: float, z: float) -> float:
    """E[max(u, 0)] for u = slope z + standard logistic noise (subsec:discussion-consumer-surplus): ln(1 + e^(slope z)).

    Only the logistic family has this utility model; elsewhere the answer is NaN, shown as null.
    """
    if family == LOGISTIC:
        return softplus(slope * z)
    return math.nan
