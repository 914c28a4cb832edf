"""How many visitors it takes until a holdout can show a difference, in closed form."""

from __future__ import annotations

import math
from statistics import NormalDist

from hushprice import checks

CERTAINTY = 0.05  # of seeing a difference where there is none, on either side
POWER = 0.8  # of seeing one that is there


def visitors_to_show(difference: float, *, conversion: float, holdout: float, units: int = 1) -> int:
    """Visitors until earnings a visit that differ by this share of the holdout's are told apart.

    A visit earns (price - cost) with the chance c of a purchase, so its variance is (price - cost)^2 c (1 - c); of n
    visitors h n are in the holdout, and the difference between the two means has the variance (price - cost)^2 c (1 -
    c) / (n h (1 - h)). It is seen with probability POWER by a two-sided test at CERTAINTY where the difference d is z =
    z(1 - CERTAINTY / 2) + z(POWER) of its deviations. The margin (price - cost) is on both sides and cancels:

        n = z^2 (1 - c) / (c d^2 h (1 - h)).

    Of a visitor who may buy several `units`, each with the chance c, they are as many visitors.

    >>> visitors_to_show(0.1, conversion=0.02, holdout=0.1)
    427328
    """
    checks.positive(show_difference=difference)
    checks.probability(conversion=conversion, holdout=holdout)
    z = NormalDist().inv_cdf(1.0 - CERTAINTY / 2.0) + NormalDist().inv_cdf(POWER)
    split = holdout * (1.0 - holdout)
    return math.ceil(z * z * (1.0 - conversion) / (units * conversion * difference * difference * split))
