"""Regret against d: the theorems promise d^1.5 (any contexts) and d (independent ones)."""

from __future__ import annotations

from hushprice.research.theory import runs, sample_releases
from hushprice.research.theory.finding import CheckSize, FindingRow, GrowthCurve, TheoryFinding
from hushprice.research.theory.statistics import MISS, MeanInterval, all_of, at_most, power
from hushprice.simulation.market import paper_market

NAME, LABEL = "growth-in-dimension", "thm:main-regret-adversarial-context, thm:main-regret-stochastic-context (in d)"
RATE = 1.5


def check(size: CheckSize) -> TheoryFinding:
    """Log-log slope in d, with attributes that tell nothing added to the same demand, and on the paper's market."""
    dimensions = size.pick((2, 4, 8), (2, 3, 5, 8, 12))
    horizon, trials = size.pick(20_000, 100_000), size.pick(6, 12)
    rows: list[FindingRow] = []
    curves: list[GrowthCurve] = []
    same: dict[str, MeanInterval] = {}
    paper: dict[str, MeanInterval] = {}
    for policy in ("paper@tight", "nonprivate"):
        cells = [
            {"horizon": horizon, "epsilon": 2.0, "market": sample_releases.plain_market(each)} for each in dimensions
        ]
        samples = runs.totals(runs.results(policy, cells, size, trials=trials))
        rows += runs.growth_rows(f"{policy}, same demand", "d", dimensions, samples)
        curves.append(runs.curve(f"{policy}, same demand", "dimension d", dimensions, samples, RATE))
        same[policy] = power(dimensions, samples)
        small = [each for each in dimensions if each <= 8]
        cells = [{"horizon": horizon, "epsilon": 2.0, "market": paper_market(each)} for each in small]
        samples = runs.totals(runs.results(policy, cells, size, trials=trials))
        rows += runs.growth_rows(f"{policy}, paper's market", "d", small, samples)
        paper[policy] = power(small, samples)
    return TheoryFinding(
        label=LABEL,
        name=NAME,
        statement="Regret grows no faster than d^1.5 (any contexts), or d (independent contexts).",
        quantity="largest power of d, demand unchanged",
        measured=max(each.value for each in same.values()),
        bound=RATE,
        holds=all_of([at_most(each, RATE) for each in (*same.values(), *paper.values())]),
        vacuous=False,
        false_alarm=4 * MISS / 2,
        explanation=f"With the same demand and more attributes that tell nothing, powers are {runs.shown(same)} at "
        f"T = {horizon:,}; without privacy regret falls, perhaps because phi, and the starting bonus with it, is "
        f"divided by sqrt(d). On the paper's market they are {runs.shown(paper)}: regret falls as d grows, as it does "
        "in the paper's own tab:non-private from d = 2 to 3 at epsilon 0.1 (201 to 156) and 0.2 (142 to 130).",
        rows=tuple(rows),
        curves=tuple(curves),
    )
