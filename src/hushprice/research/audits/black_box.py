"""A lower bound on the epsilon of later prices, from runs alone.

If the prices after t are (epsilon, delta)-private, then for every set S of prices, in both directions,
Pr[S in one world] <= e^epsilon Pr[S in the other] + delta. Take for S "the score lies above a cut" and its complement,
bound both probabilities exactly, and any epsilon that would break an inequality is refuted. Sound code is refuted by
chance with probability at most 1 - confidence, for all policies and stories of one call together.

That bound is far below the truth where the truth is small: with n runs nothing above about ln n can be shown, and noise
that hides a record well looks like epsilon = 0. Beside it stands a bound on mu (trade_off.py), which sees small things.
Both catch faults. Neither confirms a claim.
"""

from __future__ import annotations

import numpy as np

from hushprice.research.audits.attack import choose_test
from hushprice.research.audits.finding import AuditFinding
from hushprice.research.audits.intervals import epsilon_floor
from hushprice.research.audits.played_prices import PlayedPrices
from hushprice.research.audits.scores import ChosenScore
from hushprice.research.audits.trade_off import promised_loss, refutes, separation
from hushprice.types import FloatArray

CUTS = 16  # beside the one that did best on the runs the score was chosen on


def _cuts(chosen: ChosenScore) -> FloatArray:
    """The chosen cut, which comes first, and evenly spaced quantiles, all from runs that are not judged."""
    levels = (np.arange(CUTS) + 0.5) / CUTS
    return np.append(chosen.cut, np.unique(np.quantile(chosen.values, levels)))


def judge_prices(
    watch: PlayedPrices, first: FloatArray, second: FloatArray, *, confidence: float, audits: int
) -> AuditFinding:
    """What the runs refute, with an equal share of the doubt for each audit of the call, half of it for each bound."""
    chosen, mine, other = choose_test(first, second)
    each = 1.0 - (1.0 - confidence) / (2 * audits)
    delta = watch.job.budget.total.delta if watch.claimed is None else watch.claimed.delta
    loss, cuts = promised_loss(watch.job.policy, live=False), _cuts(chosen)
    seen = separation(mine, other, cuts, each)
    return AuditFinding(
        watcher="prices",
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
        epsilon_lower_bound=epsilon_floor(mine, other, cuts, delta, each),
        seen=seen,
        proven_mu=None if loss is None or loss.radials or loss.unbounded else loss.mu,
        beaten=loss is not None and refutes(seen, loss),
        confidence=confidence,
    )
