"""lem:mle-utility-3 where demand is counted in small units: a family that meets every condition and breaks both bounds.

Sell in units of b: y is b or 0, with density exp{y z - ln(1 + e^(b z))}. This is of the form eq:exp-family with
zeta = 1, so G = 1; abs(y) <= b <= 1 = B_Y; f(z) = b / (1 + e^(-b z)) maps to [0, 1] and increases; s = b/2 (Hoeffding);
and K = 1/f'(2), about 4/b^2. Its likelihood is that of Logistic(slope=b), which is what the releaser fits.

Why it breaks: the Hessian is at least Lambda/(K G), no more. So the pull of the ridge, rho theta*, moves the estimate
by up to sqrt(K G rho)/2 in the norm of Lambda, and the bounds have (2G + 3) sqrt(rho) in its place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hushprice.demand.families import Logistic
from hushprice.privacy.budget import EpsilonDelta
from hushprice.research.theory.estimate_error import RADIUS, EstimateCase, errors
from hushprice.research.theory.estimate_error_explored import needed_eigenvalue, second_bound
from hushprice.research.theory.finding import CheckSize, FindingRow, TheoryFinding

NAME, LABEL = "estimate-error-small-units", "lem:mle-utility-3 (counterexample)"
UNIT = 0.1  # b; at 1 it is the paper's own logistic example, and both bounds hold


@dataclass(frozen=True, kw_only=True)
class DemandInUnits(Logistic):
    """Logistic(slope = b) with the constants of the same demand counted in units of b."""

    @property
    def subgaussian(self) -> float:  # type: ignore[override]
        return self.slope / 2

    @property
    def scale(self) -> float:
        return 1.0

    @property
    def curvature(self) -> float:
        return (2 + 2 * math.cosh(2 * self.slope)) / self.slope**2


def cases(unit: float) -> list[tuple[EstimateCase, int]]:
    """For each bound a ridge the lemma allows, and the number of records at which the ridge's pull is worst."""
    demand, call = DemandInUnits(slope=unit), EpsilonDelta(10.0, 1e-12)
    listed = []
    for name, factor in (("eq:MLE_upper_1", 4.0), ("eq:MLE_upper_2", 3.0)):
        horizon = 10**6
        for _ in range(20):  # the ridge depends on ln T, and T on the ridge
            case = EstimateCase(name, demand, call, 1, horizon, factor)
            reach = needed_eigenvalue(case) if name.endswith("2") else case.ridge * demand.curvature
            horizon = math.ceil(1.001 * reach) + 2
        listed.append((EstimateCase(name, demand, call, 1, horizon, factor), horizon - 1))
    return listed


def check(size: CheckSize) -> TheoryFinding:
    """One attribute that is always 1, theta* = 1: nothing but the ridge's pull is needed."""
    trials = size.pick(3, 10)
    rows: list[FindingRow] = []
    ratios, repaired = [], 0.0
    for case, count in cases(UNIT):
        squared_errors, norms = errors(case, np.ones((1, count)), np.ones(1), trials=trials, seed=size.seed)
        bound = case.first_bound if case.name.endswith("1") else second_bound(case)
        pull = case.demand.curvature * case.demand.scale * case.ridge
        ratios.append(float(squared_errors.min()) / bound if norms.max() < RADIUS else math.inf)
        repaired = max(repaired, float(squared_errors.max()) / (math.sqrt(case.first_bound) + math.sqrt(pull)) ** 2)
        rows.append(
            {
                "bound": case.name,
                "T": round(case.horizon),
                "rho": round(case.ridge, 1),
                "K": round(case.demand.curvature, 1),
                "least error": round(float(squared_errors.min()), 1),
                "largest error": round(float(squared_errors.max()), 1),
                "bound allows": round(bound, 1),
                "ratio": round(ratios[-1], 2),
                "lambda_0": round(needed_eigenvalue(case), 1) if case.name.endswith("2") else None,
                "smallest eigenvalue": count,
            }
        )
    return TheoryFinding(
        label=LABEL,
        name=NAME,
        statement="Both bounds of lem:mle-utility-3 hold for every demand that meets conditions 1 to 5 of sec:models.",
        quantity="smaller of the two errors' shares of their bounds, least of all trials",
        measured=min(ratios),
        bound=1.0,
        holds=max(ratios) <= 1.0,
        vacuous=False,
        false_alarm=trials * sum(float(case.horizon) ** -2 for case, _ in cases(UNIT)),
        explanation=f"Demand counted in units of {UNIT:g} (G = 1, s = {UNIT / 2:g}, K = {4 / UNIT**2:.0f} or so) "
        f"breaks the first bound by a factor {ratios[0]:.1f} and the second by {ratios[1]:.1f} in every trial. Both "
        f"leave K out of the ridge's term: its pull is up to sqrt(K G rho)/2, not (2G + 3) sqrt(rho). With sqrt(K G "
        f"rho) added the first bound holds here (ratio {repaired:.2f}).",
        rows=tuple(rows),
    )
