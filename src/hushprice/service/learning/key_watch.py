"""Alarms by API key: one that uses up a horizon in a short time, and one whose quotes may have moved prices.

Everything here is public in the sense of docs/proofs/operation.md: that a slot was given and which key asked is no part
of a record, and how far prices moved is read off releases, which were noted before. What outcomes said is not looked
at.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Annotated, Literal

import msgspec

from hushprice.service.quoting.price_moves import mean_move
from hushprice.service.quoting.priced_product import PricedProduct
from hushprice.service.quoting.product_table import ProductTable
from hushprice.service.store.protocol import LearnerStore, StoreUnavailable
from hushprice.service.store.values import KeyCount, StoredRelease

LOOK = 2.0  # seconds between two looks
WINDOW = 600.0  # seconds within which quotes of a key are added up
HORIZON_SHARE, FEWEST = 0.1, 100  # of a horizon, and at least so many quotes, within WINDOW
BATCH_SHARE, RISE, MOVE = 0.5, 2.0, 0.05  # of a batch, times its share before, and of the ceiling that prices moved
_KEPT = 1000  # alarms; the oldest leave first

_log = logging.getLogger("hushprice.service")


class Alarm(msgspec.Struct, frozen=True):
    """Something about a key that somebody should look at."""

    at: Annotated[float, msgspec.Meta(description="wall-clock, seconds since 1970")]
    kind: Literal["horizon", "prices"]
    key: Annotated[str, msgspec.Meta(description="the key's name; its identity where it was removed")]
    product: str
    share: Annotated[float, msgspec.Meta(description="horizon: of it, within the window. prices: of the batch's slots")]
    moved: Annotated[
        float | None, msgspec.Meta(description="prices: how far they moved on average, as a share of the ceiling")
    ] = None


class KeyWatch:
    """Looks at quotes by key and at releases, in a thread of its own; others read `alarms` and `counts`."""

    def __init__(self, product_table: ProductTable, now: Callable[[], float] = time.time) -> None:
        self._product_table, self._now = product_table, now
        self.alarms: deque[Alarm] = deque(maxlen=_KEPT)
        self.raised = {"horizon": 0, "prices": 0}
        self.counts: list[KeyCount] = []
        self.names: dict[str, str] = {}
        self._totals: dict[tuple[str, str], deque[tuple[float, int]]] = {}
        self._ringing: set[tuple[str, str]] = set()  # horizon alarms that stand
        self._looked = False
        self._over: tuple[int, dict[tuple[str, str], int]] = (-1, {})  # a day, and quotes before it
        self._releases: dict[str, StoredRelease | None] = {}

    def run(self, open_store: Callable[[], LearnerStore], stop: threading.Event) -> None:
        """Look until `stop` is set. A store that is away is looked at again later."""
        with contextlib.ExitStack() as opened:
            store: LearnerStore | None = None
            while not stop.wait(LOOK):
                try:
                    store = store or opened.enter_context(contextlib.closing(open_store()))
                    self.look(store)
                except StoreUnavailable:
                    continue
                except Exception as problem:
                    _log.error("a look at keys failed: %s", type(problem).__name__)

    def look(self, store: LearnerStore) -> None:
        """One look at all keys and all products."""
        self.names = {each.identity: each.name for each in store.api_keys()}
        for name, priced in self._product_table.products.items():
            if name not in self._releases or self._releases[name] is not priced.release:
                self._note_release(store, priced)
        counts = self._counted(store)
        for each in counts if counts != self.counts or self._ringing else ():
            self._watch_horizon(each)
        self.counts, self._looked = counts, True

    def _counted(self, store: LearnerStore) -> list[KeyCount]:
        """Quotes of every key. Days before yesterday are over: of years of days a look reads only two."""
        yesterday = int(self._now() // 86400) - 1
        if self._over[0] != yesterday:
            self._over = (yesterday, _by_pair(store.key_counts(0, yesterday - 1)))
        totals = self._over[1] | {}
        for pair, quoted in _by_pair(store.key_counts(yesterday)).items():
            totals[pair] = totals.get(pair, 0) + quoted
        return [KeyCount(*pair, quoted) for pair, quoted in totals.items()]

    def recent(self, product: str, key: str) -> int:
        """Quotes of a key within the window."""
        totals = self._totals.get((product, key))
        return totals[-1][1] - totals[0][1] if totals else 0

    def _note_release(self, store: LearnerStore, priced: PricedProduct) -> None:
        """Where a product has a new version, see whose quotes it was made of."""
        name, release = priced.product.name, priced.release
        known, before = name in self._releases, self._releases.get(name)
        self._releases[name] = release
        if known and release is not None and release.version > (0 if before is None else before.version):
            self._watch_prices(store, release, mean_move(priced, before))

    def _watch_horizon(self, count: KeyCount) -> None:
        pair, now = (count.product, count.key), self._now()
        # What a key had before the first look is no news; what it gets from then on is, from its first quote.
        first = 0 if self._looked else count.quoted
        totals = self._totals.setdefault(pair, deque([(now, first)]))
        while len(totals) > 1 and totals[1][0] <= now - WINDOW:
            totals.popleft()
        if totals[-1][1] != count.quoted:
            totals.append((now, count.quoted))
        horizon, used = self._horizon(count.product), totals[-1][1] - totals[0][1]
        if horizon and used >= FEWEST and used >= HORIZON_SHARE * horizon:
            if pair not in self._ringing:
                self._ringing.add(pair)
                self._raise(Alarm(now, "horizon", self.name(count.key), count.product, used / horizon))
        else:
            self._ringing.discard(pair)

    def _horizon(self, product: str) -> int:
        priced = self._product_table.products.get(product)
        return priced.product.horizon if priced is not None and priced.product.learns else 0

    def _watch_prices(self, store: LearnerStore, release: StoredRelease, moved: float) -> None:
        """An alarm where a key filled much of the batch, far more than before it, and prices moved."""
        if moved < MOVE:
            return
        name, start = release.product, release.batch
        batch, since = (store.quotes_by_key(name, start, end) for end in (release.records, 2**62))
        totals = {each.key: each.quoted for each in self._counted(store) if each.product == name}
        before = sum(totals.values()) - sum(since.values())
        for key, filled in batch.items():
            share, earlier = filled / sum(batch.values()), totals.get(key, 0) - since.get(key, 0)
            if before > 0 and share >= BATCH_SHARE and share >= RISE * earlier / before:
                self._raise(Alarm(self._now(), "prices", self.name(key), name, share, moved))

    def name(self, key: str) -> str:
        """The name of a key by its identity; that itself where the key was removed."""
        return self.names.get(key, key)

    def _raise(self, alarm: Alarm) -> None:
        self.alarms.append(alarm)
        self.raised[alarm.kind] += 1
        if alarm.kind == "horizon":
            said = f"used {alarm.share:.0%} of the horizon of product {alarm.product} within {WINDOW:.0f} s"
        else:
            said = (
                f"made {alarm.share:.0%} of a batch of product {alarm.product}, and prices moved by "
                f"{alarm.moved or 0.0:.0%} of the ceiling"
            )
        _log.warning("alarm: API key %s %s", alarm.key, said)


def _by_pair(counts: Iterable[KeyCount]) -> dict[tuple[str, str], int]:
    return {(each.product, each.key): each.quoted for each in counts}
