"""Every audit of a call: who watches prices, and who watches releases; their bounds hold together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hushprice.policies.catalog import PlainFactory
from hushprice.policies.protocol import Policy
from hushprice.research.audits.attack import CONFIDENCE, HORIZON, PRIVATE, RUNS, share_of_progress
from hushprice.research.audits.black_box import judge_prices
from hushprice.research.audits.finding import WATCHERS, AuditFinding
from hushprice.research.audits.release_runs import judge_releases, release_watches
from hushprice.research.audits.stories import STORIES
from hushprice.research.audits.watch import check_count, check_runs, check_watchers, watches
from hushprice.simulation.run import Progress


def audit_policies(
    policies: Sequence[str | Policy | PlainFactory] = PRIVATE,
    *,
    watchers: Sequence[str] = WATCHERS,
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
    """One finding a policy and story from prices, and one a policy and kind of noise from releases.

    Options are those of `attack_policies`. delta is the claimed one, or the budget's where nothing is claimed.
    """
    check_runs(runs, confidence, workers)
    check_watchers(watchers)
    setting = setting | {"horizon": horizon}
    priced = watches(policies, stories, period=period, others=others, **setting) if "prices" in watchers else []
    released = release_watches(policies, runs, **setting) if "releases" in watchers else []
    count = check_count(len(priced) + len(released), watchers)
    findings: list[AuditFinding] = []
    for index, each in enumerate(released):
        scores = each.run(share_of_progress(progress, index, count))
        findings.append(judge_releases(each, *scores, confidence=confidence, audits=count))
    for index, watch in enumerate(priced, len(released)):
        prices = watch.run(runs, workers, share_of_progress(progress, index, count))
        findings.append(judge_prices(watch, *prices, confidence=confidence, audits=count))
    return findings
