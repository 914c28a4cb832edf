"""Regret against 1/epsilon: the theorems promise a factor 1/epsilon, or 1/epsilon^2 added on (independent contexts)."""

from __future__ import annotations

import itertools

import numpy as np

from hushprice.research.theory import runs
from hushprice.research.theory.finding import CheckSize, FindingRow, GrowthCurve, TheoryFinding
from hushprice.research.theory.statistics import MISS, MeanInterval, all_of, at_most, mean_interval, power

NAME, LABEL = (
    "growth-in-privacy",
    "thm:main-regret-adversarial-context, thm:main-regret-stochastic-context (in 1/epsilon)",
)
RATE = 1.0


def check(size: CheckSize) -> TheoryFinding:
    """Log-log slope in 1/epsilon at fixed T, d = 2, and whether less privacy ever costs more."""
    epsilons = size.pick((8.0, 4.0, 2.0, 1.0, 0.5), (16.0, 8.0, 4.0, 2.0, 1.0, 0.5, 0.2))
    horizon, trials = size.pick(50_000, 300_000), size.pick(12, 20)
    rows: list[FindingRow] = []
    curves: list[GrowthCurve] = []
    powers: dict[str, MeanInterval] = {}
    monotone = True
    for policy in ("paper@published", "paper@tight"):
        cells = [{"horizon": horizon, "dimension": 2, "epsilon": each} for each in epsilons]
        samples = runs.totals(runs.results(policy, cells, size, trials=trials))
        x = [1.0 / each for each in epsilons]
        rows += runs.growth_rows(policy, "1/epsilon", x, samples)
        curves.append(runs.curve(policy, "1/epsilon", x, samples, RATE))
        powers[policy] = power(x, samples)
        for less, more in itertools.pairwise(samples):
            gap = mean_interval(more).value - mean_interval(less).value
            reach = 4.0 * float(np.hypot(more.std(ddof=1), less.std(ddof=1))) / trials**0.5
            monotone = monotone and gap > -reach
    return TheoryFinding(
        label=LABEL,
        name=NAME,
        statement="Regret grows no faster than 1/epsilon (any contexts), and stronger privacy never lowers it "
        "(subsec:discussion-seller-surplus).",
        quantity="largest power of 1/epsilon",
        measured=max(each.value for each in powers.values()),
        bound=RATE,
        holds=all_of([*(at_most(each, RATE) for each in powers.values()), monotone]),
        vacuous=False,
        false_alarm=2 * MISS / 2 + 2 * len(epsilons) * 1e-3,
        explanation=f"Powers are {runs.shown(powers)}, d = 2, T = {horizon:,}, total epsilon {max(epsilons):g} to "
        f"{min(epsilons):g}: below 1/epsilon. Regret {'never fell' if monotone else 'fell'} as privacy was "
        "strengthened.",
        rows=tuple(rows),
        curves=tuple(curves),
    )
