"""Composition as the paper has it, for comparison: what k releases cost by the two textbook rules.

Neither is used to prove anything here; accountant.py is tighter than both.
"""

from __future__ import annotations

import math

from hushprice import checks
from hushprice.privacy.budget import EpsilonDelta


def basic(each: EpsilonDelta, count: int) -> EpsilonDelta:
    """k times epsilon and delta (fact:composition).

    >>> basic(EpsilonDelta(0.5, 1e-6), 4)
    EpsilonDelta(epsilon=2.0, delta=4e-06)
    """
    checks.whole(1, count=count)
    return EpsilonDelta(count * each.epsilon, min(1.0, count * each.delta))


def advanced(each: EpsilonDelta, count: int, slack: float) -> EpsilonDelta:
    """sqrt(2 k ln(1/slack)) e + k e (e^e - 1), at the price of another `slack` in delta (fact:composition, 2)."""
    checks.whole(1, count=count)
    checks.probability(slack=slack)
    epsilon = each.epsilon
    total = math.sqrt(-2 * count * math.log(slack)) * epsilon + count * epsilon * math.expm1(epsilon)
    return EpsilonDelta(total, min(1.0, count * each.delta + slack))
