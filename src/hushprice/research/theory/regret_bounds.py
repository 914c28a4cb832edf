"""What both regret theorems promise, for the constants of a demand family, and how their own tuning fares in a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from hushprice.policies.paper.rules import Theorem, TheoremCase
from hushprice.research.theory.finding import CheckSize, FindingRow, TheoryFinding
from hushprice.research.theory.statistics import (
    MISS,
    MeanInterval,
    all_of,
    at_most,
    first_horizon,
    from_horizon,
    mean_interval,
)
from hushprice.simulation.market import Market
from hushprice.simulation.run import simulate

RANDOM_PRICES = (
    0.0251  # average regret of uniformly random prices on the paper's market, d = 2 (docs/reference/paper_map.md, R45)
)
SAFETY = 1.0  # factor on the bounds; tests plant others


class FamilyConstants(NamedTuple):
    """What the theorems ask of a demand family: B_Y, s, K, G."""

    bound: float
    subgaussian: float
    curvature: float
    scale: float


# The friendliest the paper has (its logistic example, slope 1), and what is true of its numerical section (slope 4).
EXAMPLE = FamilyConstants(1.0, 1.0, (1 + math.e**2) ** 2 / math.e**2, 1.0)
INSTANCE = FamilyConstants(1.0, 0.5, (2 + 2 * math.cosh(8.0)) / 4, 4.0)

Promise = Callable[[TheoremCase], Theorem]


def promise(theorem: Promise, horizon: float, dimension: int, constants: FamilyConstants, epsilon: float) -> Theorem:
    """The theorem at epsilon_1 = epsilon_2 = epsilon, delta_2 = 1/T^2."""
    case = TheoremCase(
        horizon=round(horizon),
        dimension=dimension,
        epsilon_covariance=epsilon,
        epsilon_estimate=epsilon,
        delta_estimate=float(round(horizon)) ** -2,
        **constants._asdict(),
    )
    return theorem(case)


def binding_horizon(theorem: Promise, constants: FamilyConstants, dimension: int, epsilon: float, loss: float) -> float:
    """From which T on the bound is below a loss of so much a period, for good."""

    def binds(horizon: float) -> bool:
        return SAFETY * promise(theorem, horizon, dimension, constants, epsilon).regret_bound < loss * round(horizon)

    return first_horizon(binds)


def vacuity_rows(theorem: Promise) -> list[FindingRow]:
    """When the bound starts to say anything, for several constants, dimensions and epsilons."""
    rows: list[FindingRow] = []
    for name, constants in (("example, slope 1", EXAMPLE), ("sec:numerical, slope 4", INSTANCE)):
        for dimension, epsilon in ((2, 1.0), (2, 0.1), (5, 1.0), (2, 100.0)):
            at = promise(theorem, 10**6, dimension, constants, epsilon)
            rows.append(
                {
                    "constants": name,
                    "d": dimension,
                    "epsilon_1 = epsilon_2": epsilon,
                    "bound / T at T = 1e6": round(SAFETY * at.regret_bound / 1e6, 1),
                    "below T from": _horizon(binding_horizon(theorem, constants, dimension, epsilon, 1.0)),
                    "below random prices from": _horizon(
                        binding_horizon(theorem, constants, dimension, epsilon, RANDOM_PRICES)
                    ),
                }
            )
    return rows


def measured(
    theorem: Promise, market: Market, horizon: int, size: CheckSize, *, trials: int
) -> tuple[FindingRow, MeanInterval, float]:
    """A run with the theorem's own parameters: a row, average regret, and the bound it is held to, per period."""
    at = promise(theorem, horizon, market.dimension, INSTANCE, 1.0)
    result = simulate(
        "paper",
        calibration="printed",
        market=market,
        horizon=horizon,
        epsilon=2.0,
        trials=trials,
        seed=size.seed,
        workers=size.workers,
        device=size.device,
        precision=size.precision,
        exploration_periods=at.rules.exploration_periods,
        ridge=at.rules.ridge,
        width=at.rules.width,
        max_estimates=at.rules.max_estimates,
    )
    interval, bound = mean_interval(result.regret), SAFETY * at.regret_bound / horizon
    row: FindingRow = {
        "market": f"{market.name}, {market.contexts}",
        "T": horizon,
        "T0": at.rules.exploration_periods,
        "rho": round(at.rules.ridge, 1),
        "gamma": round(at.rules.width, 1),
        "average regret x 1e4": round(1e4 * interval.value, 1),
        "bound x 1e4": round(1e4 * bound, 1),
        "estimates": round(float(result.estimates.mean()), 1),
    }
    return row, interval, bound


def finding_of(
    theorem: Promise, shares: Sequence[tuple[MeanInterval, float]], longest: float, **said: Any
) -> TheoryFinding:
    """A theorem's bound beside the runs held to it: average regret and bound of each, of at most so many customers."""
    answers = [at_most(regret, bound) for regret, bound in shares]
    return TheoryFinding(
        quantity="average regret as a share of the bound, with the theorem's own parameters",
        measured=max(regret.value / bound for regret, bound in shares),
        bound=1.0,
        holds=all_of(answers),
        vacuous=binding_horizon(theorem, EXAMPLE, 2, 1.0, 1.0) > longest,
        false_alarm=len(answers) * MISS / 2,
        **said,
    )


def below_a_period(theorem: Promise) -> str:
    """From which T on the bound is below what anybody can lose, for both families' constants."""
    friendly, true = (from_horizon(binding_horizon(theorem, each, 2, 1.0, 1.0)) for each in (EXAMPLE, INSTANCE))
    return f"{friendly} with the paper's logistic example and {true} with the true constants of its numerical section"


def _horizon(horizon: float) -> str:
    return f"{horizon:.1e}" if math.isfinite(horizon) else "never up to 1e18"
