"""What a shuffler adds to reports of one bit: a bound computed term by term (docs/proofs/trust.md, section 4).

Of `among` reports, each tells the truth with probability `keep`. With probability 2 (1 - keep) a report is a fair coin,
whatever its record. So the report of one record hides among C + 1, C binomial, and with K = C + 1 and A heads of K fair
coins the chance of what is seen, over its chance with fair coins alone, is 2 (keep A + (1 - keep) (K - A)) / K in one
world and the same with keep and 1 - keep exchanged in the other. So

    delta(epsilon) = E [ keep P(A' >= a - 1) + (1 - keep) P(A' >= a) - e^epsilon ((1 - keep) P(A' >= a - 1) + keep
    P(A' >= a)) ],

A' heads of C coins and a = a(C) the fewest heads of K at which the first world is more than e^epsilon as likely.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from scipy.special import betainc, gammaln

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.privacy.roots import brentq
from hushprice.types import FloatArray

_ROUNDING = 1e-6  # of delta: more than logarithms of binomials of MOST are off by
_PARTS = 1e-9  # of the larger of the two parts whose difference it is
_SEARCHED = 1e-9  # of epsilon, added to what the search finds
MOST = 10_000_000  # reports: more hide one better, and are taken for as many
_LEAST_TURNED = 2.0**-30  # bits that are turned over, of all
_BEYOND = 30.0  # natural logarithms below delta: counts of coins that rare are charged whole


@functools.lru_cache(maxsize=4096)
def epsilon_of(keep: float, among: int, delta: float) -> float:
    """The epsilon at delta of one of `among` shuffled reports; never above its own, ln(keep / (1 - keep)).

    >>> epsilon_of(0.9, 1, 1e-9) == math.log(9.0), round(epsilon_of(0.9, 5000, 1e-9), 3)
    (True, 0.265)
    """
    _check(keep, among)
    checks.probability(delta=delta)
    if keep == 0.5:
        return 0.0
    own = math.log(keep) - math.log1p(-keep)
    if delta_of(keep, among, 0.0, delta) <= delta:
        return 0.0

    def excess(epsilon: float) -> float:
        return math.log(max(delta_of(keep, among, epsilon, delta), 1e-300)) - math.log(delta)

    if not excess(own * (1.0 - 1e-12)) < 0.0:
        return own
    return min(own, float(brentq(excess, 0.0, own, xtol=1e-12, rtol=1e-10)) + _SEARCHED * (1.0 + own))


def delta_of(keep: float, among: int, epsilon: float, least: float = 1e-30) -> float:
    """The delta at epsilon, at most; what is below about `least` e^-30 is not told from 0."""
    _check(keep, among)
    coins, mass, lost = _coins(keep, among, math.log(least) - _BEYOND)
    times, turned = math.exp(epsilon), 1.0 - keep
    # a heads of K. One too many or too few of them, by rounding, has about the same chance in both:
    # keep a + turned (K - a) > times (turned a + keep (K - a)).
    gain, loss = keep - times * turned, times * keep - turned
    if gain <= 0.0:
        return 0.0
    fewest = np.floor((coins + 1.0) * loss / (gain + loss)) + 1.0
    more, as_many = _at_least(fewest - 1.0, coins), _at_least(fewest, coins)
    first = (1.0 + _PARTS) * (keep * more + turned * as_many)
    apart = first - times * (turned * more + keep * as_many)
    return float((1.0 + _ROUNDING) * (mass @ np.maximum(apart, 0.0)) + lost)


@functools.lru_cache(maxsize=4096)
def keep_of(epsilon: float, delta: float, among: int) -> float:
    """Nearly the largest probability of telling the truth at which one of `among` reports is (epsilon, delta)-private.

    >>> round(keep_of(1.0, 1e-9, 5000), 4)
    0.9864
    """
    checks.positive(epsilon=epsilon)

    def excess(log_turned: float) -> float:
        return math.log(max(delta_of(1.0 - math.exp(log_turned), among, epsilon, delta), 1e-300)) - math.log(delta)

    most, least = math.log(0.5), math.log(_LEAST_TURNED)
    if excess(least) <= 0.0:
        return 1.0 - _LEAST_TURNED
    turned = min(0.5, math.exp(float(brentq(excess, least, most, xtol=1e-8, rtol=1e-10))) * (1.0 + 1e-7))
    if not delta_of(1.0 - turned, among, epsilon, delta) <= delta:
        raise InvalidInput(f"no bound was found for epsilon {epsilon!r} at delta {delta!r} among {among!r} reports")
    return 1.0 - turned


def _check(keep: float, among: int) -> None:
    checks.within(0.5, 1.0, keep=keep)
    checks.probability(keep=keep)
    checks.whole(1, among=among)


def _coins(keep: float, among: int, log_lost: float) -> tuple[FloatArray, FloatArray, float]:
    """How many of the others are fair coins: numbers, their probabilities, and the probability of all others.

    Bernstein: a binomial is further than sqrt(2 v L) + L from its mean, v its variance, with probability 2 e^-L.
    """
    others, share = min(among, MOST) - 1, 2.0 * (1.0 - keep)
    mean, variance, doubt = others * share, others * share * (1.0 - share), -log_lost
    reach = math.sqrt(2.0 * variance * doubt) + doubt
    low, high = max(0, math.floor(mean - reach)), min(others, math.ceil(mean + reach))
    coins = np.arange(low, high + 1, dtype=np.float64)
    if share == 1.0:
        return np.array([float(others)]), np.ones(1), 0.0
    log_mass = gammaln(others + 1.0) - gammaln(coins + 1.0) - gammaln(others - coins + 1.0)
    log_mass += coins * math.log(share) + (others - coins) * math.log1p(-share)
    lost = 0.0 if (low, high) == (0, others) else 2.0 * math.exp(log_lost)
    return coins, np.exp(log_mass), lost


def _at_least(fewest: FloatArray, coins: FloatArray) -> FloatArray:
    """The probability of so many heads, at least, of fair coins."""
    at = np.clip(fewest, 1.0, np.maximum(coins, 1.0))
    tail = betainc(at, np.maximum(coins - at, 0.0) + 1.0, 0.5)
    return np.asarray(np.where(fewest <= 0.0, 1.0, np.where(fewest > coins, 0.0, tail)))
