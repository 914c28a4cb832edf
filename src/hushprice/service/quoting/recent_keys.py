"""The quotes that Idempotency-Keys got lately, for times when the store cannot be asked."""

from __future__ import annotations

import msgspec

from hushprice.service.store.protocol import Given, NewQuote

REMEMBERED = 10_000  # keys of one process; the oldest leave first


class RecentKeys:
    """Answers of the store and keyed digests: no attribute and no customer."""

    def __init__(self) -> None:
        self._given: dict[tuple[str, bytes], tuple[bytes | None, Given]] = {}

    def note(self, quote: NewQuote, given: Given) -> None:
        """The store has answered `quote` with `given`."""
        if quote.idempotency is None or given.conflict:
            return
        self._given[quote.key, quote.idempotency] = (quote.fingerprint, given)
        if len(self._given) > REMEMBERED:
            del self._given[next(iter(self._given))]

    def find(self, quote: NewQuote) -> Given | None:
        """What the store would answer; None where this process cannot know: another may have given the quote."""
        known = None if quote.idempotency is None else self._given.get((quote.key, quote.idempotency))
        if known is None:
            return None
        fingerprint, given = known
        return msgspec.structs.replace(given, fresh=False, conflict=fingerprint != quote.fingerprint)

    def clear(self) -> None:
        """A customer was forgotten, and nobody knows which of these were theirs."""
        self._given.clear()
