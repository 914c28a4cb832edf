"""Regret against T: both theorems promise sqrt(T), up to logarithms."""

from __future__ import annotations

from hushprice.research.theory import runs
from hushprice.research.theory.finding import CheckSize, FindingRow, GrowthCurve, TheoryFinding
from hushprice.research.theory.statistics import MISS, MeanInterval, all_of, at_most, power

NAME, LABEL = "growth-in-horizon", "thm:main-regret-adversarial-context, thm:main-regret-stochastic-context (in T)"
RATE = 0.5
LATE = 3  # the rate is about large T: the last three horizons decide


def check(size: CheckSize) -> TheoryFinding:
    """Log-log slope of regret in T on the paper's market, numerical section's tuning, epsilon_1 = epsilon_2 = 1."""
    horizons = size.pick((3_000, 10_000, 30_000, 100_000), (3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000))
    trials = size.pick(12, 20)
    rows: list[FindingRow] = []
    curves: list[GrowthCurve] = []
    early: dict[str, MeanInterval] = {}
    late: dict[str, MeanInterval] = {}
    for policy in runs.POLICIES:
        cells = [{"horizon": each, "dimension": 2, "epsilon": 2.0} for each in horizons]
        samples = runs.totals(runs.results(policy, cells, size, trials=trials))
        rows += runs.growth_rows(policy, "T", horizons, samples)
        curves.append(runs.curve(policy, "customers T", horizons, samples, RATE))
        early[policy] = power(horizons[:2], samples[:2])
        late[policy] = power(horizons[-LATE:], samples[-LATE:])
    return TheoryFinding(
        label=LABEL,
        name=NAME,
        statement="Regret grows no faster than sqrt(T) up to logarithms, whatever epsilon.",
        quantity=f"largest power of T over the last {LATE} horizons",
        measured=max(each.value for each in late.values()),
        bound=RATE,
        holds=all_of([at_most(each, RATE) for each in late.values()]),
        vacuous=False,
        false_alarm=len(late) * MISS / 2,
        explanation=f"At the largest T, powers are {runs.shown(late)}: slower than the bound. Over the first two "
        f"horizons they are {runs.shown(early)}.",
        rows=tuple(rows),
        curves=tuple(curves),
    )
