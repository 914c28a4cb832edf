"""What a store keeps and promises. `sqlite.py` and `postgres.py` keep it, and one suite of tests asks both the same.

**Slots.** A quote gets the product's next slot in the transaction that stores it: slots are 1, 2, 3, ... without gaps,
and are committed in order. What is learned when depends on slots and on the service's clock, never on an outcome.

**The service's clock** is a number of seconds in the store that only `beat` moves, by the time since the last beat, or
not at all where that is longer than GRACE: an outage. A slot's deadline is the clock when the quote was stored plus the
product's outcome window, so an outage extends all deadlines alike. An outcome is taken while the clock is before the
deadline, and a slot is handed to the learner once the clock has reached it: never both, in any order of commits.

**Releases** are stored together with the state of the learner that made them, in one transaction that also checks the
learner's lease. So what was released is never drawn again, and two learners cannot both release.

A store is used by one thread at a time. A failing database raises StoreUnavailable, and nothing was stored unless the
failure hit the commit itself: who must know asks again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol

from hushprice.service.store.trail import UNSIGNED, TrailEntry
from hushprice.service.store.values import (
    ALL_WELL,
    LAST_DAY,
    ApiKey,
    Change,
    Figures,
    KeyCount,
    LearnerReport,
    LearnerState,
    LearningProgress,
    NewOutcome,
    NewQuote,
    OutcomeAnswer,
    ProductHead,
    QuoteAnswer,
    ReleaseSummary,
    SeenRelease,
    Slot,
    StoredProduct,
    StoredRelease,
)

GRACE = 5.0  # seconds without a beat that still count as time in service
LEASE = 5.0  # seconds a learner's lease lasts unless renewed
SKEW = 5.0  # seconds that clocks of two machines may differ by; a lease beyond both is of a clock that was fast


class StoreUnavailable(Exception):
    """The database cannot be reached, or is locked, read-only or full. The message is one line without any record."""


class ValueRefused(Exception):
    """The database does not take a value: a fault of who sent it. The database itself is there for all others."""


class LeaseLost(Exception):
    """Another learner holds the lease; this one must forget what it holds and release nothing."""


class DuplicateProduct(Exception):
    """A product of that name exists."""


class UnknownProduct(Exception):
    """No product has that name."""


class QuoterStore(Protocol):
    """What a process that quotes may do. On PostgreSQL its role can do nothing else: it cannot read a record."""

    def products(self, names: Sequence[str] | None = None) -> list[StoredProduct]:
        """All, or those of these names; in the order they were made."""
        ...

    def heads(self) -> list[ProductHead]:
        """Enough of every product to see which are new or changed, from one statement however many there are."""
        ...

    def api_keys(self) -> list[ApiKey]: ...
    def changes(self, product: str) -> list[Change]: ...
    def write(
        self, quotes: Sequence[NewQuote], outcomes: Sequence[NewOutcome]
    ) -> tuple[list[QuoteAnswer], list[OutcomeAnswer]]:
        """Store all of it durably, in one transaction, quotes first; answers in the order asked."""
        ...

    def repeated(self, key: str, idempotency: bytes, fingerprint: bytes) -> QuoteAnswer | None:
        """What `write` would answer to a request that came before; None where none did. Nothing is stored."""
        ...

    def releases(self, product: str, after: int = 0) -> list[StoredRelease]:
        """Those with a sequence above `after`, in order."""
        ...

    def latest_release(self, product: str) -> StoredRelease | None: ...
    def latest_releases(self, names: Sequence[str]) -> list[StoredRelease]:
        """The last release of each of these products that has one, from one statement."""
        ...

    def history(self, product: str) -> list[ReleaseSummary]:
        """All releases without their numbers, in order."""
        ...

    def beat(self, now: float) -> float:
        """Move the service's clock; returns it. Waits for outcomes in flight, so that none is taken too late."""
        ...

    def report_seen(self, seen: Sequence[SeenRelease]) -> None:
        """Keep those that the store does not have and has not charged: until `skip_to`, nothing more is released."""
        ...

    def identity(self) -> bytes:
        """Random bytes that are this store's own; a restored backup has the same."""
        ...

    def location(self) -> str:
        """Where the store is, which a copy of it elsewhere does not share. No password is in it."""
        ...

    def is_at(self, location: str) -> bool:
        """Is there, or may there be, another store of this identity in that place?"""
        ...

    def certificate(self, product: str) -> bytes | None:
        """The newest, as the learner wrote it."""
        ...

    def learner_alive(self, now: float) -> bool:
        """Does somebody hold the lease?"""
        ...

    def learning_progress(self, now: float) -> LearningProgress:
        """How far learning is: for health."""
        ...

    def key_use(self, day: int) -> dict[str, int]:
        """How many quotes keys got on a day, by identity."""
        ...

    def note_key_use(self, keys: Sequence[str], day: int) -> None:
        """That these keys, by identity, were used on a day. Quotes are counted as they are stored."""
        ...

    # For an admin; the HTTP layer has checked the key. `by` goes into the trail, in the same transaction.
    def add_product(self, name: str, spec: bytes, rules: bytes, now: float, by: str = UNSIGNED) -> None: ...
    def set_status(self, product: str, status: Literal["open", "frozen"], now: float, by: str = UNSIGNED) -> None: ...
    def retire(self, product: str, now: float, by: str = UNSIGNED) -> None:
        """No quotes from now on, for good. Those given keep their slots; who is about to store one stores it."""
        ...

    def set_rules(self, product: str, rules: bytes, detail: str, now: float, by: str = UNSIGNED) -> None: ...
    def set_reference_price(self, product: str, price: float, now: float, by: str = UNSIGNED) -> None: ...
    def forget(self, customer: bytes, by: str = UNSIGNED) -> None:
        """Turn every quote of a customer into a tombstone: no context, no outcome, no customer; the slot stays."""
        ...

    def close(self) -> None: ...


class LearnerStore(QuoterStore, Protocol):
    """What the learner may do besides: read what is due, and release."""

    def take_lease(self, holder: str, now: float, report: LearnerReport = ALL_WELL) -> bool:
        """Take or renew the lease; False where another holds it.

        A lease lasts until its time is over. One that is further ahead than any lease can be has expired as well: its
        holder's clock was fast, and a learner that still lives finds out when it commits.
        """
        ...

    def drop_lease(self, holder: str) -> None: ...
    def state(self, product: str) -> LearnerState | None: ...
    def products_to_learn(self) -> list[str]:
        """Those that a learner has work with, from one statement.

        Their next slot is due, or a release was seen that the store lacks, or they are retired and learning must end.
        """
        ...

    def due(self, product: str, after: int, limit: int) -> list[Slot]:
        """The slots after `after` whose deadlines have passed: a contiguous run, `limit` at most."""
        ...

    def commit(self, holder: str, state: LearnerState, releases: Sequence[StoredRelease], now: float) -> None:
        """Store all of it durably in one transaction, and erase the contexts of the slots learned.

        LeaseLost where the lease is not the holder's, where the stored state is not older than this one (a stored
        `learned` or `sequence` above the one given), or where `highest_seen` has something: then nothing was stored.
        """
        ...

    def highest_seen(self, product: str) -> SeenRelease | None:
        """The highest of what was reported, is not in the store, and was not skipped yet."""
        ...

    def skip_to(self, holder: str, seen: SeenRelease, now: float) -> SeenRelease:
        """After a restored backup: give no slot up to seen.records any more, number releases after seen.sequence.

        Where another release has got that number since, after what is learned and released by now. Returns the slot and
        the number that were skipped to.
        """
        ...

    def oldest_quotes(self) -> list[tuple[str, int]]:
        """Products with quotes, and the day on which the oldest of them was given; from one statement."""
        ...

    def erase_quotes(self, product: str, before: int, limit: int, *, capped: bool) -> int:
        """Erase learned quotes given before a day (since 1970, UTC), lowest slots first; returns how many.

        Slots and figures stay as they are. Where records are `capped`, so do the counts behind the cap, under the
        customer's digest. An id or Idempotency-Key that was erased is unknown.
        """
        ...

    def snapshot(self) -> AbstractContextManager[Callable[..., list[tuple[Any, ...]]]]:
        """What asks queries of one moment, in words of both databases: values are ?, and tables have no schema."""
        ...

    def accept_lost_notes(self, now: float) -> None:
        """List of every product with quotes that its notes were lost: one more history may hold its records."""
        ...

    def become_copy(self, now: float) -> None:
        """Take an identity of its own, and list that the store it was copied from may go on with the same records."""
        ...

    def add_certificate(self, product: str, certificate: bytes | None, now: float, basis: str = "") -> None:
        """`basis` is what it came after, as `uncertified` has it. None where there is nothing to certify."""
        ...

    def last_change(self) -> tuple[int, int]:
        """The numbers of the newest product and of the newest change: where both are as before, nothing was changed."""
        ...

    def uncertified(self, today: str) -> list[tuple[str, str]]:
        """Products whose newest certificate came after something else than this, each with this: `basis`.

        It is made of `today`, the number of changes, and whether and with which version the last release came.
        """
        ...

    def key_counts(self, first: int = 0, last: int = LAST_DAY) -> list[KeyCount]:
        """Quotes of every key, by product, on days from `first` to `last` (since 1970, UTC); from one statement."""
        ...

    def quotes_by_key(self, product: str, after: int, upto: int) -> dict[str, int]:
        """How many of the slots after `after`, up to `upto`, each key's quotes have."""
        ...

    def add_api_key(self, key: ApiKey, by: str = UNSIGNED) -> None:
        """Add a key, or change the one of that name."""
        ...

    def remove_api_key(self, name: str, by: str = UNSIGNED) -> None: ...
    def last_use(self) -> dict[str, int]:
        """The last day on which keys were used, by identity."""
        ...

    def trail(self) -> list[TrailEntry]:
        """Everything that was done by hand, in order."""
        ...

    def figures(self, product: str) -> Figures: ...
    def daily_figures(self, product: str, days: int) -> list[tuple[str, Figures]]:
        """The figures of each of the last `days` days (UTC date of the quote), newest last."""
        ...
