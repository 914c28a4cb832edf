"""How far keys have used their daily quotas, and which keys were used today. Counted in quotes, never in outcomes.

A quote counts once it is certain that it takes a slot. So what a customer does, which may lead to an outcome or to a
request told again, moves no later quote (docs/proofs/operation.md, section 5).
"""

from __future__ import annotations

import contextlib
import time

from hushprice.service.shared import problems
from hushprice.service.store import decisions
from hushprice.service.store.protocol import QuoterStore, StoreUnavailable
from hushprice.service.store.values import ApiKey


class KeyUse:
    """Asked and told by the event loop; `refresh` is for the thread that reads the store, and replaces whole values."""

    def __init__(self) -> None:
        self._day = decisions.today()
        self._quotes: dict[str, int] = {}  # of keys with a quota, by identity: today's, as far as is known here
        self._stored: tuple[int, dict[str, int]] = (self._day, {})  # a day, and what the store has counted on it
        self._used: set[str] = set()
        self._noted: frozenset[str] = frozenset()

    def note(self, key: ApiKey) -> None:
        """The key was accepted for something."""
        self._turn_day()
        self._used.add(key.identity)

    def check(self, key: ApiKey) -> None:
        """Raise the problem of a key that has had its quotes for today."""
        if key.quota is not None and self._count(key.identity) >= key.quota:
            raise problems.quota_used(key.quota, 86400 - time.time() % 86400)

    def add(self, key: ApiKey) -> None:
        """The key got a quote that takes a slot."""
        if key.quota is not None:
            self._quotes[key.identity] = self._count(key.identity) + 1

    def _count(self, key: str) -> int:
        """Quotes of other processes and of earlier starts are the store's; the last of these may not be there yet."""
        self._turn_day()
        day, stored = self._stored
        return max(self._quotes.get(key, 0), stored.get(key, 0) if day == self._day else 0)

    def _turn_day(self) -> None:
        today = decisions.today()
        if today != self._day:
            self._day, self._quotes, self._used, self._noted = today, {}, set(), frozenset()

    def refresh(self, store: QuoterStore, *, quotas: bool) -> None:
        """Tell the store which keys were used, once a day each, and look at its counts where some key has a quota."""
        day, used, noted = self._day, frozenset(self._used), self._noted
        with contextlib.suppress(StoreUnavailable):  # it may be read-only, and will be told later
            if used - noted:
                store.note_key_use(sorted(used - noted), day)
                self._noted = used
        if quotas:
            today = decisions.today()
            self._stored = (today, store.key_use(today))
