"""What a price is worth: revenue, the clairvoyant price, regret (sec:regret), consumer surplus.

All are expectations given the context and the price, so two policies on one market differ by their prices alone and
not by who happened to buy.
"""

from __future__ import annotations

import math

from hushprice.demand.family import GAUSSIAN, LOGISTIC, mean
from hushprice.numerics.functions import exp, log, softplus
from hushprice.numerics.jit import inlined, merged


@merged
def revenue(family: int, slope: float, a: float, b: float, price: float) -> float:
    """p f(a + b p), where a + b p = phi'theta*."""
    return price * mean(family, slope, a + b * price)


@inlined
def clairvoyant_price(family: int, slope: float, a: float, b: float, polish: int = 1) -> float:
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


@merged
def _lambert_of_exp(c: float, polish: int) -> float:
    """W(e^c), the root of w + ln w = c: a guess to four digits, then steps of Fritsch, Shafer and Crowley.

    A step takes the relative error to less than its fourth power, so one is enough. The guesses are fractions fitted
    to W(x) / x for x = e^c <= 1 and to W(e^c) for c >= 0; both are computed, because vector units do not branch.
    """
    c = max(c, -600.0)
    x = exp(min(c, 0.0))
    t = max(c, 0.0)
    small = x * (0.99989416 + 0.89018881 * x)
    large = 0.5671957 + t * (0.6705347 + t * (0.3101992 + t * (0.07376043 + t * 0.000914297)))
    under_small = 1.0 + x * (1.88369915 + 0.44929243 * x)
    under_large = 1.0 + t * (0.5425877 + t * (0.07943838 + t * 0.000914955))
    w = (small if c < 0.0 else large) / (under_small if c < 0.0 else under_large)
    for _ in range(polish):
        z = c - log(w) - w
        t = 1.0 + w
        s = 2.0 * t * (t + 2.0 / 3.0 * z)
        w = w + w * z * (s - z) / (t * (s - 2.0 * z))
    return w


@inlined
def surplus(family: int, slope: float, z: float) -> float:
    """E[max(u, 0)] for u = slope z + standard logistic noise (subsec:discussion-consumer-surplus): ln(1 + e^(slope z)).

    Only the logistic family has this utility model; elsewhere the answer is NaN, shown as null.
    """
    if family == LOGISTIC:
        return softplus(slope * z)
    return math.nan
