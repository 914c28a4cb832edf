"""thm:main-regret-adversarial-context: the regret bound for contexts chosen by anyone, and when it says anything."""

from __future__ import annotations

from dataclasses import replace

from hushprice.policies.paper.rules import adversarial
from hushprice.research.theory.finding import CheckSize, FindingRow, TheoryFinding
from hushprice.research.theory.regret_bounds import below_a_period, finding_of, measured, vacuity_rows
from hushprice.research.theory.statistics import MeanInterval
from hushprice.simulation.market import paper_market

NAME, LABEL = "adversarial-regret", "thm:main-regret-adversarial-context"


def check(size: CheckSize) -> TheoryFinding:
    """The theorem's own tuning on friendly and on adversarial contexts, against its bound."""
    horizons, trials = size.pick((10**4,), (10**4, 10**5)), size.pick(4, 10)
    rows: list[FindingRow] = []
    shares: list[tuple[MeanInterval, float]] = []
    estimates = 0.0
    for horizon in horizons:
        for dimension, kind in (
            (2, "uniform"),
            (3, "uniform"),
            (3, "sorted"),
            (3, "corners"),
            (3, "blocks"),
            (3, "late"),
        ):
            market = replace(paper_market(dimension), contexts=kind)
            row, regret, bound = measured(adversarial, market, horizon, size, trials=trials)
            rows.append(row)
            shares.append((regret, bound))
            estimates = max(estimates, float(row["estimates"] or 0))
    return finding_of(
        adversarial,
        shares,
        max(horizons),
        label=LABEL,
        name=NAME,
        statement="With the theorem's T0, D_inf, rho and gamma, regret is at most 2 gamma sqrt(4.6 d T ln T).",
        explanation=f"Not broken, and not informative: no policy can lose more than T in T periods, and the bound gets "
        f"below T {below_a_period(adversarial)} (d = 2, epsilon_1 = epsilon_2 = 1). With these parameters the policy "
        f"released {estimates:.0f} estimates at most: under so large a ridge no determinant doubles, and it never "
        "learns.",
        rows=(*rows, *vacuity_rows(adversarial)),
    )
