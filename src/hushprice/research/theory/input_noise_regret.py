"""subsec:input-perturbation, third point: does noise on every x cost regret like exp(1/epsilon)?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hushprice.research.theory import runs
from hushprice.research.theory.finding import CheckSize, FindingRow, GrowthCurve, TheoryFinding
from hushprice.research.theory.statistics import MISS, MeanInterval, all_of, at_most, power
from hushprice.simulation.market import paper_market
from hushprice.types import FloatArray

NAME, LABEL = "input-noise-regret", "subsec:input-perturbation (third point)"
POLICY = "input-perturbation"
RATE = 1.0  # the r of exp(r/epsilon) in regret, and in what a record tells
JUDGED = (4.0, 2.0, 1.0, 0.5, 0.25)  # e^(1/epsilon) grows 43-fold, from near no noise to no more than p = 1 would lose
FARTHER = (1 / 16, 1 / 64)  # shown; e^(1/epsilon) would be beyond what can be lost at all
_BATCHES = 40  # of noisy records; their spread gives the intervals


def noisy_records(epsilon: float, *, count: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Norm of x + noise, and what a record with it tells of theta*: means of batches of `count` records, d = 2.

    What a record tells is the smaller eigenvalue of the Fisher information of a logistic fit that takes x + noise for
    x, at theta*, with prices uniform on [0, 1]. The noise is the policy's: Laplace, of scale 2/epsilon.
    """
    market = paper_market(2)
    rng = np.random.default_rng([seed, round(1024 * epsilon)])
    norms, information = np.empty(_BATCHES), np.empty(_BATCHES)
    for batch in range(_BATCHES):
        noisy = rng.uniform(-1.0, 1.0, count) + rng.laplace(0.0, 2.0 / epsilon, count)
        phi = np.stack([noisy, -rng.random(count)]) / np.sqrt(2.0)
        tail = np.exp(-np.abs(market.demand.slope * (market.theta @ phi)))
        fisher = market.demand.slope**2 * ((tail / (1.0 + tail) ** 2) * phi) @ phi.T / count
        norms[batch], information[batch] = np.abs(noisy).mean(), np.linalg.eigvalsh(fisher)[0]
    return norms, information


def regrets(policy: str, epsilons: Sequence[float], size: CheckSize, *, horizon: int, trials: int) -> list[FloatArray]:
    """Regret over the horizon on the paper's market, d = 2: one array of trials an epsilon."""
    cells = [{"horizon": horizon, "dimension": 2, "epsilon": each} for each in epsilons]
    return runs.totals(runs.results(policy, cells, size, trials=trials))


def exponential(epsilons: Sequence[float], samples: Sequence[FloatArray]) -> MeanInterval:
    """The r of mean(y) ~ exp(r/epsilon)."""
    return power([float(np.exp(1.0 / each)) for each in epsilons], samples)


def at_least(interval: MeanInterval, least: float) -> bool | None:
    """Does the truth lie at or above `least`? None where the interval reaches across."""
    return at_most(MeanInterval(-interval.value, -interval.high, -interval.low), -least)


def check(size: CheckSize) -> TheoryFinding:
    """Growth in 1/epsilon of the noisy norm, of what is lost of a record's information, and of regret."""
    horizon, trials, count = size.pick(50_000, 200_000), size.pick(12, 40), size.pick(20_000, 100_000)
    epsilons, judged = (*JUDGED, *FARTHER), len(JUDGED)
    norms, information = zip(*(noisy_records(each, count=count, seed=size.seed) for each in epsilons), strict=True)
    lost = regrets(POLICY, epsilons, size, horizon=horizon, trials=trials)
    growth = exponential(JUDGED, lost[:judged])
    loss = exponential(JUDGED, [1.0 / each for each in information[:judged]])
    far = [1.0 / each for each in epsilons[-2:]]
    longer, less = power(far, norms[-2:]), power(far, information[-2:])
    free, best, top = (
        float(regrets(each, (1.0,), size, horizon=horizon, trials=trials)[0].mean())
        for each in ("nonprivate", "fixed", "random")
    )
    rows: list[FindingRow] = [
        {
            "epsilon": epsilon,
            "norm of x + noise": round(float(norm.mean()), 3),
            "information of a record": round(float(each.mean()), 6),
            "regret": round(float(total.mean()), 1),
            "standard error": round(float(total.std(ddof=1)) / trials**0.5, 1),
            "average regret x 1e4": round(1e4 * float(total.mean()) / horizon, 2),
        }
        for epsilon, norm, each, total in zip(epsilons, norms, information, lost, strict=True)
    ]
    inverse = [float(np.exp(1.0 / each)) for each in JUDGED]
    curves: tuple[GrowthCurve, ...] = (runs.curve(POLICY, "exp(1/epsilon)", inverse, lost[:judged], RATE),)
    return TheoryFinding(
        label=LABEL,
        name=NAME,
        statement="The efficiency of a logistic fit decays exponentially in the norm of its features; with x + noise "
        "for x the norm is of order 1/epsilon, and regret incurs a term O(exp(1/epsilon)), which makes it excessively "
        "large.",
        quantity="r in regret ~ exp(r/epsilon) with noise on every x (the paper: 1)",
        measured=growth.value,
        bound=RATE,
        holds=all_of([at_least(loss, RATE), at_least(growth, RATE)]),
        vacuous=False,
        false_alarm=2 * MISS / 2,
        explanation=f"From epsilon {JUDGED[0]:g} to {JUDGED[-1]:g}, r = {growth} at T = {horizon:,}: regret goes from "
        f"{lost[0].mean():.0f} to {lost[judged - 1].mean():.0f}, and to {lost[-1].mean():.0f} at {FARTHER[-1]:g} "
        f"(no noise {free:.0f}, best fixed price {best:.0f}, random prices {top:.0f}): perhaps a fit on noise "
        f"learns to ignore it. What a record tells falls with r = {loss}, and at small epsilon like 1/epsilon to "
        f"the {less}, no exponential at all, though the norm grows like 1/epsilon to the {longer}: noise leaves a "
        "share of the records where demand is steep. As an upper bound O(exp(1/epsilon)) is not broken.",
        rows=tuple(rows),
        curves=curves,
    )
