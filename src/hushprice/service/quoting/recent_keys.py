"""The quotes that Idempotency-Keys got lately, for times when the store cannot be asked."""

from __future__ import annotations

import msgspec

from hushprice.service.store.values import NewQuote, QuoteAnswer

REMEMBERED = 10_000  # keys of one process; the oldest leave first


class RecentKeys:
    """Answers of the store and keyed digests: no attribute and no customer."""

    def __init__(self) -> None:
        self._answers: dict[tuple[str, bytes], tuple[bytes | None, QuoteAnswer]] = {}

    def note(self, quote: NewQuote, answer: QuoteAnswer) -> None:
        """Remember how the store has answered `quote`."""
        if quote.idempotency is None or answer.conflict:
            return
        self._answers[quote.key, quote.idempotency] = (quote.fingerprint, answer)
        if len(self._answers) > REMEMBERED:
            del self._answers[next(iter(self._answers))]

    def find(self, quote: NewQuote) -> QuoteAnswer | None:
        """What the store would answer; None where this process cannot know: another may have given the quote."""
        known = None if quote.idempotency is None else self._answers.get((quote.key, quote.idempotency))
        if known is None:
            return None
        fingerprint, answer = known
        return msgspec.structs.replace(answer, fresh=False, conflict=fingerprint != quote.fingerprint)

    def clear(self) -> None:
        """A customer was forgotten, and nobody knows which of these were theirs."""
        self._answers.clear()
