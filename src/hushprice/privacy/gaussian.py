"""Gaussian differential privacy: what telling N(0, 1) from N(mu, 1) allows, to the last digit and at any delta.

A release is mu-GDP when no test tells neighbours apart better than one sample tells N(0, 1) from N(mu, 1); mu is
sensitivity over noise. Exactly then it is (epsilon, delta)-private for every epsilon >= 0 with

    delta = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)

(Dong, Roth and Su, "Gaussian differential privacy", 2022, corollary 1; Balle and Wang 2018, theorem 8). The two terms
agree to many digits when delta is small. With the Mills ratio R(x) = (1 - Phi(x)) / phi(x) the difference becomes
phi(mu/2 - epsilon/mu) [R(epsilon/mu - mu/2) - R(epsilon/mu + mu/2)], which stays exact down to delta = 1e-300.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import erfcx, log_ndtr

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.privacy.roots import brentq
from hushprice.types import FloatArray

_LOG_ROOT_2PI = 0.5 * math.log(2 * math.pi)
_LOWEST, _HIGHEST = math.log(1e-9), math.log(1e3)  # of mu; outside it nothing is worth calculating
_LEAST = 1e-12  # of mu, likewise


def log_delta(epsilon: FloatArray | float, mu: float) -> Any:
    """ln delta at epsilon (any real number; an array gives an array) of a mu-GDP release."""
    centre, half = np.asarray(epsilon, dtype=float) / mu, 0.5 * mu
    near, far = centre - half, centre + half
    # Left of 0 the Mills ratio grows like e^(x^2/2), and nothing cancels there: take the textbook form.
    head = log_ndtr(-near)
    plain = head + np.log1p(-np.exp(np.minimum(np.asarray(epsilon) + log_ndtr(-far) - head, -1e-16)))
    right = np.maximum(near, 0.0)
    gap = _mills(right) - _mills(right + mu)
    exact = -0.5 * near * near - _LOG_ROOT_2PI + np.log(np.maximum(gap, 5e-324))
    return np.where(near > 0.0, exact, plain)


def delta_of(epsilon: float, mu: float) -> float:
    """The least delta for which a mu-GDP release is (epsilon, delta)-private.

    >>> round(delta_of(1.0, 1.0), 6)
    0.126937
    """
    checks.non_negative(epsilon=epsilon, mu=mu)
    return math.exp(float(log_delta(epsilon, mu))) if mu > 0.0 else 0.0


def epsilon_of(delta: float, mu: float) -> float:
    """The least epsilon >= 0 for which a mu-GDP release is (epsilon, delta)-private."""
    checks.probability(delta=delta)
    checks.non_negative(mu=mu)
    target = math.log(delta)
    if mu == 0.0 or float(log_delta(0.0, mu)) <= target:
        return 0.0
    mu = max(mu, _LEAST)  # below it floats are too coarse to solve for epsilon, and more is an upper bound
    high = mu * mu / 2 + mu * math.sqrt(-2 * target)  # where the Gaussian tail alone is below delta
    return float(brentq(lambda epsilon: float(log_delta(epsilon, mu)) - target, 0.0, high, xtol=1e-300, rtol=1e-14))


def mu_of(epsilon: float, delta: float) -> float:
    """The largest mu whose releases are all (epsilon, delta)-private.

    >>> round(1 / mu_of(1.0, 1e-10), 4)  # noise per unit of sensitivity
    5.8678
    """
    checks.positive(epsilon=epsilon)
    checks.probability(delta=delta)
    target = math.log(delta)

    def excess(log_mu: float) -> float:
        return float(log_delta(epsilon, math.exp(log_mu))) - target

    with np.errstate(over="ignore", invalid="ignore"):
        if not excess(_LOWEST) < 0.0 < excess(_HIGHEST):
            raise InvalidInput(f"epsilon must be within reach of Gaussian noise at delta {delta!r}, got {epsilon!r}")
        return math.exp(brentq(excess, _LOWEST, _HIGHEST, xtol=1e-13, rtol=1e-13))


def _mills(x: FloatArray) -> FloatArray:
    """(1 - Phi(x)) / phi(x)."""
    return math.sqrt(math.pi / 2) * erfcx(x / math.sqrt(2))
