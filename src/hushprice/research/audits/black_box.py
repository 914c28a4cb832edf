"""A lower bound on the epsilon of later prices, from runs alone.

If the prices after t are (epsilon, delta)-private, then for every set S of prices, in both directions,
Pr[S in one world] <= e^epsilon Pr[S in the other] + delta. Take for S "the score lies above a cut" and its complement,
bound both probabilities exactly, and any epsilon that would break an inequality is refuted. Sound code is refuted by
chance with probability at most 1 - confidence, for all policies and stories of one call together.

The bound is far below the truth where the truth is small: with n runs nothing above about ln n can be shown, and noise
that hides a record well looks like epsilon = 0. It catches faults. It never confirms a claim.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from hushprice.policies.catalog import PlainFactory
from hushprice.policies.protocol import Policy
from hushprice.research.audits.attack import CONFIDENCE, HORIZON, RUNS, choose_test, share_of_progress
from hushprice.research.audits.finding import AuditFinding
from hushprice.research.audits.intervals import clopper_pearson
from hushprice.research.audits.scores import ChosenScore
from hushprice.research.audits.stories import STORIES
from hushprice.research.audits.watch import Watch, check_runs, watches
from hushprice.simulation.run import Progress
from hushprice.types import FloatArray

DEFAULT = ("paper@tight", "paper@published", "paper@printed")
CUTS = 16  # beside the one that did best on the runs the score was chosen on


def audit_prices(
    policies: Sequence[str | Policy | PlainFactory] = DEFAULT,
    *,
    stories: Sequence[str] = tuple(STORIES),
    runs: int = RUNS,
    confidence: float = CONFIDENCE,
    period: int | None = None,
    others: str = "known",
    horizon: int = HORIZON,
    workers: int | None = None,
    progress: Progress | None = None,
    **setting: Any,
) -> list[AuditFinding]:
    """One finding a policy and story, with `runs` runs of each world. Options are those of `attack_policies`.

    delta is the claimed one, or the budget's where nothing is claimed.
    """
    check_runs(runs, confidence, workers)
    made = watches(policies, stories, period=period, others=others, horizon=horizon, **setting)
    findings: list[AuditFinding] = []
    for index, watch in enumerate(made):
        prices = watch.run(runs, workers, share_of_progress(progress, index, len(made)))
        findings.append(_judge(watch, *prices, confidence=confidence, audits=len(made)))
    return findings


def epsilon_floor(first: FloatArray, second: FloatArray, cuts: FloatArray, delta: float, confidence: float) -> float:
    """The largest epsilon refuted by the scores of two worlds at cuts fixed beforehand; 0 where none is."""
    one = 1.0 - (1.0 - confidence) / (2 * len(cuts))  # two intervals a cut; each serves S, its complement, both ways
    floor = 0.0
    for cut in cuts:
        low, high = clopper_pearson(int((first > cut).sum()), first.size, one)
        other_low, other_high = clopper_pearson(int((second > cut).sum()), second.size, one)
        for surely, at_most in (
            (low, other_high),
            (other_low, high),
            (1.0 - high, 1.0 - other_low),
            (1.0 - other_high, 1.0 - low),
        ):
            if surely > delta and at_most > 0.0:
                floor = max(floor, math.log((surely - delta) / at_most))
    return floor


def _cuts(chosen: ChosenScore) -> FloatArray:
    """The chosen cut and evenly spaced quantiles, all from runs that are not judged."""
    levels = (np.arange(CUTS) + 0.5) / CUTS
    return np.unique(np.append(np.quantile(chosen.values, levels), chosen.cut))


def _judge(watch: Watch, first: FloatArray, second: FloatArray, *, confidence: float, audits: int) -> AuditFinding:
    """What the runs refute, with an equal share of the doubt for each audit of the call."""
    chosen, mine, other = choose_test(first, second)
    each = 1.0 - (1.0 - confidence) / audits
    delta = watch.job.budget.total.delta if watch.claimed is None else watch.claimed.delta
    return AuditFinding(
        audit="black-box",
        policy=watch.policy,
        calibration=watch.calibration,
        story=watch.story.name,
        horizon=watch.job.horizon,
        period=watch.story.period,
        seed=watch.job.seed,
        runs=len(first),
        statistic=chosen.name,
        claimed=watch.claimed,
        proven=watch.proven,
        delta=delta,
        epsilon_lower_bound=epsilon_floor(mine, other, _cuts(chosen), delta, each),
        confidence=confidence,
    )
