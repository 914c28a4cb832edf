"""How much later prices tell a watcher about one customer, measured.

A test is a score of later prices and a cut. Its *advantage* is how much more often it says "first world" in the first
world than in the second: 1 for a watcher who is always right, 0 for one who guesses. The test is fitted on a quarter of
the runs, chosen on another, and judged on the other half, so what is reported is no artefact of the choice. Another
watcher may do better: the number is a floor on the danger, not a ceiling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hushprice.policies.catalog import PlainFactory
from hushprice.policies.protocol import Policy
from hushprice.research.audits.finding import WatchedRuns
from hushprice.research.audits.intervals import clopper_pearson, most_advantage
from hushprice.research.audits.scores import ChosenScore, choose, fit_scores
from hushprice.research.audits.stories import STORIES
from hushprice.research.audits.watch import Watch, check_runs, watches
from hushprice.simulation.run import Progress
from hushprice.types import FloatArray

DEFAULT = ("nonprivate", "paper@tight", "paper@published", "paper@printed")
HORIZON = 500
RUNS = 2000
CONFIDENCE = 0.99


@dataclass(frozen=True, kw_only=True, slots=True)
class Attack(WatchedRuns):
    """One watcher's success against one policy."""

    others: str
    advantage: float  # TPR - FPR on the half of the runs that the test was not chosen on
    low: float
    high: float

    @property
    def allowed(self) -> float | None:
        """The most the claim lets any watcher gain; None where nothing is claimed."""
        return None if self.claimed is None else most_advantage(self.claimed)

    @property
    def refuted(self) -> bool:
        """Did the watcher gain more than the claim allows?"""
        return self.allowed is not None and self.low > self.allowed

    def to_dict(self) -> dict[str, Any]:
        """The machine interface of `hushprice attack --format json`."""
        return {
            "policy": self.policy,
            "calibration": self.calibration,
            "story": self.story,
            "others": self.others,
            "horizon": self.horizon,
            "period": self.period,
            "seed": self.seed,
            "runs": self.runs,
            "statistic": self.statistic,
            "advantage": {"estimate": self.advantage, "low": self.low, "high": self.high},
            "confidence": self.confidence,
            "allowed": self.allowed,
            "refuted": self.refuted,
            "privacy": self.stated(),
        }


def attack_policies(
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
) -> list[Attack]:
    """One attack a policy and story, with `runs` runs of each world; `setting` is what `prepare` takes.

    `period` is the customer's (default: the first after exploration). `others` are "known": the same other customers
    come in every run, which is the worst case the guarantee covers; or "drawn" afresh.

    >>> caught, = attack_policies(["nonprivate"], stories=["purchase"], runs=400, horizon=100, workers=1)
    >>> caught.low > 0.9
    True
    """
    check_runs(runs, confidence, workers)
    made = watches(policies, stories, period=period, others=others, horizon=horizon, **setting)
    attacks: list[Attack] = []
    for index, watch in enumerate(made):
        prices = watch.run(runs, workers, share_of_progress(progress, index, len(made)))
        attacks.append(_judge(watch, *prices, others=others, confidence=confidence, attacks=len(made)))
    return attacks


def choose_test(first: FloatArray, second: FloatArray) -> tuple[ChosenScore, FloatArray, FloatArray]:
    """The test chosen on the first half of the runs, and its scores on the other half, which it has never seen."""
    quarter, half = len(first) // 4, len(first) // 2
    fitted = fit_scores(first[:quarter], second[:quarter])
    chosen = choose(first[quarter:half], second[quarter:half], fitted)
    return chosen, chosen.score(first[half:]), chosen.score(second[half:])


def share_of_progress(progress: Progress | None, index: int, count: int) -> Progress | None:
    """The progress of one of `count` equal parts, as progress of the whole."""
    if progress is None:
        return None
    report = progress
    return lambda done, whole: report(index * whole + done, count * whole)


def _judge(
    watch: Watch, first: FloatArray, second: FloatArray, *, others: str, confidence: float, attacks: int
) -> Attack:
    """The advantage of the best test in hand, on runs it has never seen."""
    chosen, mine, other = choose_test(first, second)
    right, wrong = int((mine > chosen.cut).sum()), int((other > chosen.cut).sum())
    one = 1.0 - (1.0 - confidence) / (2 * attacks)  # two rates an attack, an interval each
    right_low, right_high = clopper_pearson(right, mine.size, one)
    wrong_low, wrong_high = clopper_pearson(wrong, other.size, one)
    return Attack(
        policy=watch.policy,
        calibration=watch.calibration,
        story=watch.story.name,
        others=others,
        horizon=watch.job.horizon,
        period=watch.story.period,
        seed=watch.job.seed,
        runs=len(first),
        statistic=chosen.name,
        advantage=right / mine.size - wrong / other.size,
        low=right_low - wrong_high,
        high=right_high - wrong_low,
        confidence=confidence,
        claimed=watch.claimed,
        proven=watch.proven,
    )
