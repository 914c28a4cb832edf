"""thm:main-regret-stochastic-context: the regret bound for independent contexts, and when it says anything."""

from __future__ import annotations

from hushprice.policies.paper.rules import adversarial, kappa_threshold, stochastic
from hushprice.research.theory.finding import CheckSize, FindingRow, TheoryFinding
from hushprice.research.theory.regret_bounds import (
    EXAMPLE,
    Promise,
    below_a_period,
    finding_of,
    measured,
    promise,
    vacuity_rows,
)
from hushprice.research.theory.statistics import MeanInterval, first_horizon, from_horizon
from hushprice.simulation.market import paper_market

NAME, LABEL = "stochastic-regret", "thm:main-regret-stochastic-context"


def check(size: CheckSize) -> TheoryFinding:
    """The theorem's own tuning on independent contexts, against its bound; and against the other theorem's."""
    horizons, trials = size.pick((10**4,), (10**4, 10**5)), size.pick(4, 10)
    rows: list[FindingRow] = []
    shares: list[tuple[MeanInterval, float]] = []
    for horizon in horizons:
        for dimension in (2, 3):
            row, regret, bound = measured(stochastic, paper_market(dimension), horizon, size, trials=trials)
            rows.append(row)
            shares.append((regret, bound))
    better = first_horizon(lambda horizon: _bound(stochastic, horizon) < _bound(adversarial, horizon))
    return finding_of(
        stochastic,
        shares,
        max(horizons),
        label=LABEL,
        name=NAME,
        statement="With independent, spread contexts and the theorem's parameters, for T >= e^(1/kappa_x^2), regret is "
        "at most T0 + 2 gamma sqrt(4.6 d T ln T).",
        explanation=f"Not broken, and not informative: T0 is beyond T, so the policy prices at random throughout, and "
        f"the bound gets below T {below_a_period(stochastic)} (d = 2). The theorem speaks of T >= "
        f"{kappa_threshold(1 / 6):.1e} at d = 2 and T >= {kappa_threshold(1 / 9):.1e} at d = 3 only, and improves on "
        f"the other theorem {from_horizon(better)}.",
        rows=(*rows, *vacuity_rows(stochastic)),
    )


def _bound(theorem: Promise, horizon: float) -> float:
    return promise(theorem, horizon, 2, EXAMPLE, 1.0).regret_bound
