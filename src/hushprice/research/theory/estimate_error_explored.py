"""lem:mle-utility-3, second bound (eq:MLE_upper_2): the error once every direction has been explored enough."""

from __future__ import annotations

import math

import numpy as np

from hushprice.demand.families import Gaussian, Logistic
from hushprice.demand.protocol import Demand
from hushprice.privacy.budget import EpsilonDelta
from hushprice.research.theory.estimate_error import RADIUS, EstimateCase, errors, share_of_one
from hushprice.research.theory.finding import CheckSize, FindingRow, TheoryFinding
from hushprice.research.theory.statistics import first_horizon, from_horizon
from hushprice.types import FloatArray

NAME, LABEL = "estimate-error-explored", "lem:mle-utility-3 (eq:MLE_upper_2)"
SAFETY = 1.0  # factor on the bound; tests plant others


def needed_eigenvalue(case: EstimateCase) -> float:
    """lambda_0 = ((2G + 3) rho / sqrt(5 d ln T) + nu G)^2."""
    growth = case.dimension * math.log(case.horizon)
    root = (2 * case.demand.scale + 3) * case.ridge / math.sqrt(5 * growth) + case.noise * case.demand.scale
    return root**2


def second_bound(case: EstimateCase) -> float:
    """The bound of eq:MLE_upper_2: (4 s K sqrt(d ln T))^2."""
    demand, growth = case.demand, case.dimension * math.log(case.horizon)
    return SAFETY * 16 * (demand.subgaussian * demand.curvature) ** 2 * growth


def axes_in_turn(dimension: int, count: int) -> FloatArray:
    """Unit vectors along the axes, in turn: no features reach a smallest eigenvalue faster."""
    phi = np.zeros((dimension, count))
    phi[np.arange(count) % dimension, np.arange(count)] = 1.0
    return phi


def first_possible(demand: Demand, dimension: int, epsilon: float | None) -> float:
    """From which T on even the fastest features reach lambda_0; epsilon None is epsilon' = 10 for one estimate."""

    def reached(horizon: float) -> bool:
        loose = EpsilonDelta(10.0, horizon**-2)
        share = loose if epsilon is None else share_of_one(horizon, dimension, epsilon)
        return horizon / dimension >= needed_eigenvalue(EstimateCase("", demand, share, dimension, horizon))

    return first_horizon(reached)


def check(size: CheckSize) -> TheoryFinding:
    """The bound where its condition can be met at all, and from when on it could be met in practice."""
    settings: list[tuple[str, Demand, int]] = [
        ("gaussian", Gaussian(), 1),
        ("logistic, slope 1", Logistic(slope=1.0), 1),
    ]
    if not size.quick:
        settings += [("gaussian", Gaussian(), 2), ("logistic, slope 1", Logistic(slope=1.0), 2)]
    trials = size.pick(5, 10)
    rows: list[FindingRow] = []
    holds, worst, alarm = True, 0.0, 0.0
    for name, demand, dimension in settings:
        horizon = math.ceil(1.05 * first_possible(demand, dimension, None)) + dimension
        case = EstimateCase(name, demand, EpsilonDelta(10.0, float(horizon) ** -2), dimension, horizon)
        phi = axes_in_turn(dimension, horizon - 1)
        theta = np.full(dimension, -1.0 / math.sqrt(dimension))
        squared_errors, norms = errors(case, phi, theta, trials=trials, seed=size.seed)
        bound, smallest = second_bound(case), (horizon - 1) // dimension
        holds = holds and bool(squared_errors.max() <= bound) and bool(norms.max() < RADIUS)
        worst, alarm = max(worst, float(squared_errors.max()) / bound), alarm + trials / horizon**2
        rows.append(
            {
                "demand": f"{name}, epsilon' = 10",
                "d": dimension,
                "T": horizon,
                "smallest eigenvalue": smallest,
                "lambda_0": round(needed_eigenvalue(case), 1),
                "largest error": round(float(squared_errors.max()), 1),
                "bound": round(bound, 1),
            }
        )
    logistic = first_possible(Logistic(slope=1.0), 2, 1.0)
    paper = first_possible(Logistic(slope=4.0), 2, 1.0)
    return TheoryFinding(
        label=LABEL,
        name=NAME,
        statement="If moreover the smallest eigenvalue of Sigma_n is at least ((2G + 3) rho / sqrt(5 d ln T) + "
        "nu G)^2, the error is at most (4 s K sqrt(d ln T))^2.",
        quantity="largest error as a share of the bound",
        measured=worst,
        bound=1.0,
        holds=holds,
        vacuous=logistic > 1e9,
        false_alarm=alarm,
        explanation=f"True where its condition can be met (largest ratio {worst:.3f}), which takes nearly no privacy. "
        f"At epsilon_2 = 1, d = 2 the fastest features there are reach it {from_horizon(logistic)} for logistic "
        f"demand of slope 1, and {from_horizon(paper)} for the numerical section's slope 4.",
        rows=tuple(rows),
    )
