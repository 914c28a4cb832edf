"""How much a watcher of later prices, or of all releases, learns about one customer, measured.

A test is a score of what is seen and a cut. Its *advantage* is how much more often it says "first world" in the first
world than in the second: 1 for a watcher who is always right, 0 for one who guesses. The test is fitted on half of
the runs, chosen on an eighth, and judged on the others, so what is reported is no artefact of the choice. Another
watcher may do better: the number is a floor on the danger, not a ceiling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hushprice.policies.catalog import PlainFactory
from hushprice.policies.protocol import Policy
from hushprice.privacy.budget import EpsilonDelta
from hushprice.research.audits.finding import WatchedRuns
from hushprice.research.audits.intervals import clopper_pearson, most_advantage
from hushprice.research.audits.played_prices import PlayedPrices
from hushprice.research.audits.played_releases import PlayedReleases
from hushprice.research.audits.scores import ChosenScore, choose, fit_scores
from hushprice.research.audits.trade_off import most_separation, promised_loss
from hushprice.research.audits.watched_policies import PRIVATE, watch_policies
from hushprice.types import AnyArray, FloatArray

DEFAULT = ("nonprivate", *PRIVATE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Attack(WatchedRuns):
    """One watcher's success against one policy."""

    others: str
    advantage: float  # TPR - FPR on runs that the test was not chosen on
    low: float
    high: float
    allowed: float | None  # the most that claim and proof let any watcher gain; None where nothing is claimed

    @property
    def refuted(self) -> bool:
        """Did the watcher gain more than is allowed?"""
        return self.allowed is not None and self.low > self.allowed

    def to_dict(self) -> dict[str, Any]:
        """The machine interface of `hushprice attack --format json`."""
        return {
            **self.watched(),
            "others": self.others,
            "advantage": {"estimate": self.advantage, "low": self.low, "high": self.high},
            "confidence": self.confidence,
            "allowed": self.allowed,
            "refuted": self.refuted,
            "privacy": self.stated(),
        }


def attack_policies(policies: Sequence[str | Policy | PlainFactory] = DEFAULT, **options: Any) -> list[Attack]:
    """One attack a policy and story by who watches prices, and one a policy by who watches releases.

    Options are those of `watch_policies`.

    >>> caught, = attack_policies(["nonprivate"], stories=["purchase"], runs=400, horizon=100, workers=1)
    >>> caught.low > 0.9
    True
    """
    call = watch_policies(policies, **options)
    given: dict[str, Any] = {"confidence": call.confidence, "attacks": call.count}
    attacks = [_judge(*seen, others=call.others, **given) for seen in call.by_prices(0)]
    return attacks + [_judge_releases(*seen, **given) for seen in call.by_releases(len(attacks))]


def choose_test(first: FloatArray, second: FloatArray) -> tuple[ChosenScore, FloatArray, FloatArray]:
    """The test fitted on half of the runs and chosen on an eighth, and its scores on the others, new to it."""
    fitted_on, chosen_on = len(first) // 2, len(first) // 2 + max(1, len(first) // 8)
    fitted = fit_scores(first[:fitted_on], second[:fitted_on])
    chosen = choose(first[fitted_on:chosen_on], second[fitted_on:chosen_on], fitted)
    return chosen, chosen.score(first[chosen_on:]), chosen.score(second[chosen_on:])


def _judge(
    watch: PlayedPrices, first: FloatArray, second: FloatArray, *, others: str, confidence: float, attacks: int
) -> Attack:
    """The advantage of the best test in hand, on runs it has never seen."""
    chosen, mine, other = choose_test(first, second)
    loss = promised_loss(watch.job.policy, live=False)
    return Attack(
        watcher="prices",
        policy=watch.policy,
        calibration=watch.calibration,
        story=watch.story.name,
        others=others,
        horizon=watch.job.horizon,
        period=watch.story.period,
        seed=watch.job.seed,
        runs=len(first),
        statistic=chosen.name,
        confidence=confidence,
        claimed=watch.claimed,
        proven=watch.proven,
        allowed=_allowed(watch.claimed, 1.0 if loss is None else most_separation(loss)),
        **_advantage(mine > chosen.cut, other > chosen.cut, confidence, attacks),
    )


def _judge_releases(
    watch: PlayedReleases, first: FloatArray, second: FloatArray, *, confidence: float, attacks: int
) -> Attack:
    """The advantage of the middle cut, on runs that did not choose it."""
    cut, mine, other = watch.split(first, second)
    told = _advantage(mine > cut[0], other > cut[0], confidence, attacks)
    allowed = _allowed(watch.stated.claimed, watch.told)
    return Attack(**watch.facts(), **told, others="empty", allowed=allowed, confidence=confidence)


def _allowed(claimed: EpsilonDelta | None, told: float) -> float | None:
    """The most any watcher may gain: the less of what the claim allows, and what else is known."""
    return None if claimed is None else min(most_advantage(claimed), told)


def _advantage(right: AnyArray, wrong: AnyArray, confidence: float, attacks: int) -> dict[str, Any]:
    """TPR - FPR with its interval: two rates an attack, an interval each."""
    one = 1.0 - (1.0 - confidence) / (2 * attacks)
    right_low, right_high = clopper_pearson(int(right.sum()), right.size, one)
    wrong_low, wrong_high = clopper_pearson(int(wrong.sum()), wrong.size, one)
    share = float(right.mean() - wrong.mean())
    return {"advantage": share, "low": right_low - wrong_high, "high": right_high - wrong_low}
