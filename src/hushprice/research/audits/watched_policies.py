"""What one call of an attack or an audit watches: policies, by their prices and by their releases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hushprice.policies.catalog import PlainFactory
from hushprice.policies.protocol import Policy
from hushprice.research.audits.finding import WATCHERS
from hushprice.research.audits.moments import CAUTIOUS
from hushprice.research.audits.played_prices import PlayedPrices, check_count, check_runs, check_watchers, price_watches
from hushprice.research.audits.played_releases import PlayedReleases
from hushprice.research.audits.release_runs import release_watches
from hushprice.research.audits.stories import STORIES
from hushprice.simulation.run import Progress
from hushprice.types import FloatArray

PRIVATE = ("noisy-newton", "paper@tight", "paper@published", "paper@printed", CAUTIOUS)


@dataclass(frozen=True, kw_only=True, eq=False)
class Watching:
    """The watches of a call, all checked before the first one runs."""

    priced: list[PlayedPrices]
    released: list[PlayedReleases]
    count: int  # bounds and intervals of so many watches hold together
    runs: int
    confidence: float
    others: str
    workers: int | None
    progress: Progress | None

    def by_prices(self, done: int) -> Iterator[tuple[PlayedPrices, FloatArray, FloatArray]]:
        """Each watch of prices with what was seen in the two worlds, after `done` other watches."""
        for index, watch in enumerate(self.priced, done):
            yield watch, *watch.run(self.runs, self.workers, self._share(index))

    def by_releases(self, done: int) -> Iterator[tuple[PlayedReleases, FloatArray, FloatArray]]:
        """Each watch of releases with its scores in the two worlds, after `done` other watches."""
        for index, watch in enumerate(self.released, done):
            yield watch, *watch.run(self._share(index))

    def _share(self, index: int) -> Progress | None:
        """The progress of one of `count` equal parts, as progress of the whole."""
        if self.progress is None:
            return None
        report = self.progress
        return lambda done, whole: report(round(1e6 * (index + done / whole)), round(1e6 * self.count))


def watch_policies(
    policies: Sequence[str | Policy | PlainFactory],
    *,
    watchers: Sequence[str] = WATCHERS,
    stories: Sequence[str] = tuple(STORIES),
    runs: int = 2000,
    confidence: float = 0.99,
    period: int | None = None,
    others: str = "known",
    horizon: int = 200,
    workers: int | None = None,
    progress: Progress | None = None,
    **setting: Any,
) -> Watching:
    """One watch a policy and story by who watches prices, and one a policy by who watches releases.

    There are `runs` runs of each world for prices, and more for releases, which are cheap (release_runs.py); `setting`
    is what `prepare` takes. `period` is the customer's (default: the first after exploration). `others` are "known":
    the same other customers come in every run, which is the worst case the guarantee covers; or "drawn" afresh.
    """
    check_runs(runs, confidence, workers)
    check_watchers(watchers)
    setting = setting | {"horizon": horizon}
    priced = price_watches(policies, stories, period=period, others=others, **setting) if "prices" in watchers else []
    released = release_watches(policies, runs, **setting) if "releases" in watchers else []
    return Watching(
        priced=priced,
        released=released,
        count=check_count(len(priced) + len(released), watchers),
        runs=runs,
        confidence=confidence,
        others=others,
        workers=workers,
        progress=progress,
    )
