"""How many of one kind are held in memory for the store, and that they never are too many."""

from __future__ import annotations

import logging

log = logging.getLogger("hushprice.service")


class WaitingCount:
    """The event loop alone admits, and the writer's thread alone lets go, so that no lock is needed."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._admitted = self._let_go = 0
        self._refused = 0  # since the last that was admitted

    @property
    def count(self) -> int:
        """How many are held."""
        return self._admitted - self._let_go

    def admit(self, limit: int) -> bool:
        """Is there a place for one more? Then it is taken. The first refusal is logged, and at the end how many."""
        if self.count >= limit:
            if not self._refused:
                log.error("%d %s wait for the store: those beyond are not kept", limit, self._kind)
            self._refused += 1
            return False
        if self._refused:
            log.warning("%d %s were not kept while too many waited for the store", self._refused, self._kind)
        self._refused = 0
        self._admitted += 1
        return True

    def let_go(self) -> None:
        """One is stored, answered or given up."""
        self._let_go += 1
