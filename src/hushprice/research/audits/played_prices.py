"""Runs of a policy in the two worlds of a story, as a watcher sees them: every price after the customer of interest.

By default the watcher knows all other customers, and what each of them would buy at which price: the same customers
come in every run, and nothing but the policy's noise differs. That is the worst case of defn:na-eps-delta-privacy. The
prices of exploration are the same in every run too, the customer's own included: they are drawn without reading a
record, so what a policy promises has to hold given them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.policies.catalog import PlainFactory
from hushprice.policies.protocol import Policy
from hushprice.privacy.budget import EpsilonDelta
from hushprice.research.audits.finding import WATCHERS
from hushprice.research.audits.moments import CAUTIOUS
from hushprice.research.audits.stories import Story, story_of
from hushprice.simulation.compare import parse
from hushprice.simulation.run import Progress, prepare, run_trials
from hushprice.simulation.trial import Job
from hushprice.types import FloatArray

OTHERS = ("known", "drawn")
BATCH = 100  # runs handed to the pool at a time: it looks through all that wait whenever one ends
FEWEST = 8  # runs of each world: four to fit a score, one to choose among scores, three to judge


@dataclass(frozen=True, kw_only=True, eq=False)
class PlayedPrices:
    """A policy and a story, ready to run."""

    job: Job
    story: Story

    @property
    def policy(self) -> str:
        built = self.job.policy
        return built.name if isinstance(built, Policy) else getattr(built, "__name__", "custom")

    @property
    def calibration(self) -> str | None:
        return self.job.policy.calibration if isinstance(self.job.policy, Policy) else None

    @property
    def claimed(self) -> EpsilonDelta | None:
        return getattr(self.job.policy, "claimed", None)

    @property
    def proven(self) -> EpsilonDelta | None:
        return getattr(self.job.policy, "proven", None)

    def run(self, runs: int, workers: int | None, progress: Progress | None) -> tuple[FloatArray, FloatArray]:
        """Prices after the story's period, one row a run, in the first world and in the second."""
        threads = workers or os.cpu_count() or 1
        prices = np.empty((2, runs, self.job.horizon - self.story.period))
        for world, change in enumerate((self.story.first, self.story.second)):
            job = replace(self.job, change=change)
            for start in range(0, runs, BATCH):
                if progress is not None:
                    progress((world * runs + start) * job.horizon, 2 * runs * job.horizon)
                before = world * runs + start  # no noise is shared between the worlds
                numbers = range(before, before + min(BATCH, runs - start))
                for row, trial in enumerate(run_trials(job, numbers, threads, None), start):
                    prices[world, row] = trial.prices[self.story.period :]
        return prices[0], prices[1]


def price_watches(
    policies: Sequence[str | Policy | PlainFactory],
    stories: Sequence[str],
    *,
    period: int | None = None,
    others: str = "known",
    **setting: Any,
) -> list[PlayedPrices]:
    """One watch a policy and story, all checked before the first one runs; `setting` is what `prepare` takes."""
    if others not in OTHERS:
        raise InvalidInput(f"others must be one of {', '.join(OTHERS)}, got {others!r}")
    made: list[PlayedPrices] = []
    for policy in dict.fromkeys(policies):
        if policy == CAUTIOUS:  # prices of a product, which no market here has; its releases are watched
            continue
        name, calibration = parse(policy) if isinstance(policy, str) else (policy, "tight")
        customers = 0 if others == "known" else None
        job = prepare(name, calibration=calibration, keep_prices=True, customers=customers, **setting)
        explored = job.policy.settings.get("exploration_periods") if isinstance(job.policy, Policy) else None
        early = 1 if explored is None else min(explored + 1, job.horizon - 1)
        for wanted in dict.fromkeys(stories):
            story = story_of(wanted, job.market, max(1, early) if period is None else period)
            for change in (story.first, story.second):
                change.check_fits(market=job.market, horizon=job.horizon)
            if story.period == job.horizon:
                raise InvalidInput(f"period must lie before the horizon, {job.horizon}, got {story.period!r}")
            made.append(PlayedPrices(job=job, story=story))
    return made


def check_runs(runs: int, confidence: float, workers: int | None) -> None:
    """Refuse numbers of runs and threads, and a confidence, that no run could honour."""
    checks.whole(FEWEST, runs=runs)
    checks.within(FEWEST, 2**31, runs=runs)
    checks.probability(confidence=confidence)
    if workers is not None:
        checks.whole(1, workers=workers)


def check_watchers(watchers: Sequence[str]) -> None:
    """Refuse a watcher that nobody knows."""
    for each in watchers:
        if each not in WATCHERS:
            raise InvalidInput(f"watcher must be one of {', '.join(WATCHERS)}, got {each!r}")


def check_count(count: int, watchers: Sequence[str]) -> int:
    """How many watches there are; none is refused."""
    if count == 0:
        raise InvalidInput(f"policy must be one that watchers of {' and '.join(watchers)} can watch")
    return count
