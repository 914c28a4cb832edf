"""The parameters of Algorithm 1 that decide its regret: the numerical section's, and those of the two regret theorems.

The paper's letters: T horizon, d dimension, T0 exploration periods, rho ridge, gamma width, D_inf most estimates; for
the demand family (sec:models, conditions 1 to 5) B_Y bound, s subgaussian, K curvature, G scale.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from hushprice import checks
from hushprice.policies import protocol
from hushprice.policies.paper import published_noise
from hushprice.privacy.budget import EpsilonDelta


@dataclass(frozen=True, kw_only=True, slots=True)
class PaperRules:
    """What Algorithm 1 is told besides its privacy budget (alg:framework, line 1).

    T0 >= T means all exploration: every price is drawn at random.
    Differs from the paper: any ridge above 0 is taken, where the paper asks for rho >= 1.
    """

    exploration_periods: int  # T0
    ridge: float  # rho
    width: float  # gamma; 0 prices by the estimate alone
    max_estimates: int  # D_inf; divides the estimates' budget, so it sets how much noise each of them gets

    def __post_init__(self) -> None:
        checks.whole(0, exploration_periods=self.exploration_periods)
        checks.positive(ridge=self.ridge)
        checks.non_negative(width=self.width)
        checks.whole(1, max_estimates=self.max_estimates)


@dataclass(frozen=True, kw_only=True, slots=True)
class Theorem:
    """A regret theorem's parameters with the regret it then promises, summed over the horizon (not averaged)."""

    rules: PaperRules
    regret_bound: float
    estimate_noise: float  # nu: standard deviation of each entry of w in alg:private-mle, at the per-call parameters

    def __post_init__(self) -> None:
        checks.positive(regret_bound=self.regret_bound, estimate_noise=self.estimate_noise)


def numerical(horizon: int, dimension: int) -> PaperRules:
    """The rules behind the paper's figures and tables (sec:numerical).

    >>> numerical(10**5, 2)
    PaperRules(exploration_periods=10, ridge=10.0, width=1.0, max_estimates=34)
    """
    checks.whole(1, horizon=horizon, dimension=dimension)
    calls = max(1, math.ceil(dimension * math.log2(horizon)))
    return PaperRules(exploration_periods=10, ridge=10.0, width=1.0, max_estimates=calls)


def tune(
    *,
    horizon: int,
    dimension: int,
    exploration_periods: int | None = None,
    ridge: float | None = None,
    width: float | None = None,
    max_estimates: int | None = None,
) -> PaperRules:
    """The numerical section's rules with the given entries replaced."""
    given: dict[str, Any] = {
        "exploration_periods": exploration_periods,
        "ridge": ridge,
        "width": width,
        "max_estimates": max_estimates,
    }
    return replace(numerical(horizon, dimension), **{name: value for name, value in given.items() if value is not None})


@dataclass(frozen=True, kw_only=True, slots=True)
class TheoremCase:
    """What the regret theorems are told: a horizon, a budget, and the constants of a demand family."""

    horizon: int
    dimension: int
    epsilon_covariance: float
    epsilon_estimate: float
    delta_estimate: float
    bound: float
    subgaussian: float
    curvature: float
    scale: float

    def __post_init__(self) -> None:
        checks.whole(2, horizon=self.horizon)
        checks.whole(1, dimension=self.dimension)
        checks.positive(epsilon_covariance=self.epsilon_covariance, epsilon_estimate=self.epsilon_estimate)
        checks.probability(delta_estimate=self.delta_estimate)
        checks.positive(bound=self.bound, subgaussian=self.subgaussian, curvature=self.curvature, scale=self.scale)
        checks.within(1, math.inf, curvature=self.curvature, scale=self.scale)  # conditions 4 and 5 of sec:models

    @property
    def growth(self) -> float:
        """d ln T."""
        return self.dimension * math.log(self.horizon)

    @property
    def calls(self) -> int:
        """D_inf."""
        return math.ceil(self.growth / math.log(1.5))

    @property
    def noise(self) -> float:
        """nu of alg:private-mle line 2, at the per-call share of alg:framework line 3."""
        share = EpsilonDelta(self.epsilon_estimate, self.delta_estimate)
        constants = protocol.Constants(bound=self.bound, scale=self.scale, curvature=self.curvature)
        return published_noise.estimate_noise(published_noise.per_estimate(share, self.calls, halved=True), constants)

    def ridge(self, curved: float) -> float:
        """rho: what the covariance's noise, the estimates' and the bend of demand ask for, the largest of the three."""
        covariance = self.dimension**1.5 * math.log(self.horizon) ** 5 / self.epsilon_covariance
        return max(covariance, 5 * self.noise * math.sqrt(5 * self.growth), curved)

    def learning_regret(self, width: float) -> float:
        """2 gamma sqrt(4.6 d T ln T)."""
        return 2 * width * math.sqrt(4.6 * self.dimension * self.horizon * math.log(self.horizon))


def adversarial(case: TheoremCase) -> Theorem:
    """The rules and the bound for contexts fixed in advance by anyone (thm:main-regret-adversarial-context).

    With nu at the per-call (epsilon_2', delta_2') of alg:framework line 3 and L = ln T:

        T0 = 0,  D_inf = ceil(d log_1.5 T),  regret <= 2 gamma sqrt(4.6 d T L)
        rho = max(d^1.5 L^5 / epsilon_1, 5 nu sqrt(5 d L), 2 + 48 s^2 G^2 K d L)
        gamma = K ((sqrt(3) s K + sqrt(5) G nu) sqrt(d L) + (2G + 3) sqrt(rho))

    Readings: rho has L^5 as printed, where cor:cov-multiplicative-approx asks for ln^5(T / delta_1). The condition that
    each share is at least a tenth of the total serves the theorem's O-form only and is not asked for here.

    At practical sizes the constants make the bound vacuous. No policy can lose more than T in T periods; here the bound
    is this many times that, with the constants of the paper's logistic example:

    >>> example = dict(horizon=10**6, dimension=2, epsilon_covariance=1.0, epsilon_estimate=1.0, delta_estimate=1e-12)
    >>> logistic = dict(bound=1.0, subgaussian=1.0, curvature=(1 + math.e**2) ** 2 / math.e**2, scale=1.0)
    >>> round(adversarial(TheoremCase(**example, **logistic)).regret_bound / 10**6)
    12339
    """
    growth, noise = case.growth, case.noise
    ridge = case.ridge(2 + 48 * case.subgaussian**2 * case.scale**2 * case.curvature * growth)
    statistical = math.sqrt(3) * case.subgaussian * case.curvature + math.sqrt(5) * case.scale * noise
    width = case.curvature * (statistical * math.sqrt(growth) + (2 * case.scale + 3) * math.sqrt(ridge))
    rules = PaperRules(exploration_periods=0, ridge=ridge, width=width, max_estimates=case.calls)
    return Theorem(rules=rules, regret_bound=case.learning_regret(width), estimate_noise=noise)


def stochastic(case: TheoremCase) -> Theorem:
    """The rules and the bound for independent, well spread contexts (thm:main-regret-stochastic-context).

    With nu and L as in `adversarial`, and the same D_inf:

        rho = max(d^1.5 L^5 / epsilon_1, 5 nu sqrt(5 d L), 2 + 48 s^2 G K d L)
        T0 = ceil(32 ((2G + 3) rho / sqrt(5 d L) + nu G)^2 ln^2(d T))
        gamma = 4 s K^2 sqrt(d L),  regret <= T0 + 2 gamma sqrt(4.6 d T L)

    Readings: T0 is printed with nu at (epsilon, delta), without primes; taken at the per-call (epsilon_2', delta_2'),
    the noise of the estimates that T0 has to outweigh. rho is printed with G where the other theorem and
    lem:mle-utility-3 have G^2; taken as printed. L^5 as in `adversarial`. The theorem asks for T >= `kappa_threshold`.

    At practical sizes this bound is vacuous too: T0 >= T, so the policy explores all the time. For T = 10^6, T0 is

    >>> example = dict(horizon=10**6, dimension=2, epsilon_covariance=1.0, epsilon_estimate=1.0, delta_estimate=1e-12)
    >>> logistic = dict(bound=1.0, subgaussian=1.0, curvature=(1 + math.e**2) ** 2 / math.e**2, scale=1.0)
    >>> f"{stochastic(TheoremCase(**example, **logistic)).rules.exploration_periods:.1e}"
    '2.5e+15'
    """
    growth, noise = case.growth, case.noise
    ridge = case.ridge(2 + 48 * case.subgaussian**2 * case.scale * case.curvature * growth)  # G, not G^2: as printed
    root = (2 * case.scale + 3) * ridge / math.sqrt(5 * growth) + noise * case.scale
    periods = 32 * root * root * (math.log(case.dimension) + math.log(case.horizon)) ** 2
    checks.positive(exploration_periods=periods)  # a tiny epsilon overflows here first
    width = 4 * case.subgaussian * case.curvature**2 * math.sqrt(growth)
    rules = PaperRules(exploration_periods=math.ceil(periods), ridge=ridge, width=width, max_estimates=case.calls)
    regret = rules.exploration_periods + case.learning_regret(width)
    return Theorem(rules=rules, regret_bound=regret, estimate_noise=noise)


def kappa_threshold(kappa: float) -> float:
    """The smallest horizon thm:main-regret-stochastic-context speaks of, e^(kappa^-2); infinity where that overflows.

    kappa is kappa_x of asmp:stochastic-context: at most 1/d since ||phi|| <= 1, and 1/(3d) in sec:numerical. For d = 2:

    >>> f"{kappa_threshold(1 / 6):.1e}"
    '4.3e+15'
    """
    checks.positive(kappa=kappa)
    checks.within(0, 1, kappa=kappa)
    try:
        return math.exp(kappa**-2)
    except OverflowError:
        return math.inf
