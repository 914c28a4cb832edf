"""Exact bounds on a probability from counts, and what a privacy promise allows a watcher to gain."""

from __future__ import annotations

import math

from scipy.special import betainc

from hushprice import checks
from hushprice.privacy.budget import EpsilonDelta
from hushprice.types import FloatArray

_ROUNDING = 1e-12  # of the beta function, as a share


def clopper_pearson(successes: int, runs: int, confidence: float) -> tuple[float, float]:
    """An interval that holds the true probability with at least that confidence, whatever the probability is.

    Clopper and Pearson, "The use of confidence or fiducial limits", Biometrika 26 (1934): the ends are the
    probabilities under which a count this extreme has probability (1 - confidence) / 2. Rounding goes outwards.

    >>> [round(end, 4) for end in clopper_pearson(0, 100, 0.95)]
    [0.0, 0.0362]
    """
    checks.whole(1, runs=runs)
    checks.whole(0, successes=successes)
    checks.within(0, runs, successes=successes)
    checks.probability(confidence=confidence)
    tail = (1.0 - confidence) / 2.0
    low = 0.0 if successes == 0 else 1.0 - _highest(runs - successes, runs, tail)
    return low, 1.0 if successes == runs else _highest(successes, runs, tail)


def most_advantage(promise: EpsilonDelta) -> float:
    """The most that (epsilon, delta) lets any test gain: TPR - FPR <= (e^eps - 1 + 2 delta) / (e^eps + 1).

    Add TPR <= e^eps FPR + delta to the same inequality about the two chances of being wrong.

    >>> round(most_advantage(EpsilonDelta(1.0, 0.0)), 4), most_advantage(EpsilonDelta(0.0, 0.0))
    (0.4621, 0.0)
    """
    shrunk = math.exp(-promise.epsilon)  # both sides divided by e^eps: no overflow
    return min(1.0, (1.0 - shrunk + 2.0 * promise.delta * shrunk) / (1.0 + shrunk))


def epsilon_floor(first: FloatArray, second: FloatArray, cuts: FloatArray, delta: float, confidence: float) -> float:
    """The largest epsilon refuted by the scores of two worlds at cuts fixed beforehand; 0 where none is."""
    one = 1.0 - (1.0 - confidence) / (2 * len(cuts))  # two intervals a cut; each serves S, its complement, both ways
    floor = 0.0
    for cut in cuts:
        low, high = clopper_pearson(int((first > cut).sum()), first.size, one)
        other_low, other_high = clopper_pearson(int((second > cut).sum()), second.size, one)
        for surely, at_most in (
            (low, other_high),
            (other_low, high),
            (1.0 - high, 1.0 - other_low),
            (1.0 - other_high, 1.0 - low),
        ):
            if surely > delta and at_most > 0.0:
                floor = max(floor, math.log((surely - delta) / at_most))
    return floor


def _highest(successes: int, runs: int, tail: float) -> float:
    """The probability under which `successes` or fewer of `runs` have probability `tail`, by bisection from above."""
    low, high = successes / runs, 1.0
    for _ in range(60):  # halves the gap each time: 60 reach the last bit
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if betainc(runs - successes, successes + 1, 1.0 - middle) * (1.0 + _ROUNDING) > tail:
            low = middle
        else:
            high = middle
    return high
