"""How much privacy there is to spend."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hushprice import checks
from hushprice.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class EpsilonDelta:
    """A pair (epsilon, delta) of defn:na-eps-delta-privacy; smaller is more private."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        checks.non_negative(epsilon=self.epsilon)
        checks.within(0.0, 1.0, delta=self.delta)

    def __add__(self, other: EpsilonDelta) -> EpsilonDelta:
        """Basic composition (fact:composition, 1)."""
        return EpsilonDelta(self.epsilon + other.epsilon, self.delta + other.delta)


@dataclass(frozen=True, kw_only=True, slots=True)
class PrivacyBudget:
    """What one record may cost over the whole horizon: (eps1, delta1) for covariances, (eps2, delta2) for estimates."""

    covariance: EpsilonDelta
    estimates: EpsilonDelta

    def __post_init__(self) -> None:
        checks.positive(epsilon_covariance=self.covariance.epsilon, epsilon_estimate=self.estimates.epsilon)
        checks.probability(delta_covariance=self.covariance.delta, delta_estimate=self.estimates.delta)
        checks.probability(delta=self.covariance.delta + self.estimates.delta)

    @property
    def total(self) -> EpsilonDelta:
        """What the prices after a record reveal about it, at most (cor:privacy-algo)."""
        return self.covariance + self.estimates


def split(
    epsilon: float | None,
    delta: float,
    *,
    epsilon_covariance: float | None = None,
    epsilon_estimate: float | None = None,
) -> PrivacyBudget:
    """A total budget in halves, or by the given shares; given both, the total is their sum and epsilon may be None.

    >>> split(0.2, 2e-10)
    PrivacyBudget(covariance=EpsilonDelta(epsilon=0.1, delta=1e-10), estimates=EpsilonDelta(epsilon=0.1, delta=1e-10))
    """
    checks.probability(delta=delta)
    if epsilon_covariance is None or epsilon_estimate is None:
        if epsilon is None:
            raise InvalidInput("epsilon must be given, unless epsilon_covariance and epsilon_estimate both are")
        checks.positive(epsilon=epsilon)
        if epsilon_estimate is not None:
            epsilon_covariance = _rest(epsilon, epsilon_estimate=epsilon_estimate)
        elif epsilon_covariance is not None:
            epsilon_estimate = _rest(epsilon, epsilon_covariance=epsilon_covariance)
        else:
            epsilon_covariance = epsilon_estimate = epsilon / 2
    checks.positive(epsilon_covariance=epsilon_covariance, epsilon_estimate=epsilon_estimate)
    total = epsilon_covariance + epsilon_estimate
    if epsilon is not None and not math.isclose(epsilon, total, rel_tol=1e-9):
        raise InvalidInput(f"epsilon must be epsilon_covariance + epsilon_estimate, {total!r}, got {epsilon!r}")
    return PrivacyBudget(
        covariance=EpsilonDelta(epsilon_covariance, delta / 2), estimates=EpsilonDelta(epsilon_estimate, delta / 2)
    )


def _rest(total: float, **share: float) -> float:
    """What the one named share leaves of the total."""
    ((name, value),) = share.items()
    checks.positive(**share)
    if not value < total:
        raise InvalidInput(f"{name} must be below epsilon, {total!r}, got {value!r}")
    return total - value
