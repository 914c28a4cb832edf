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

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

GRACE = 5.0  # seconds without a beat that still count as time in service
LEASE = 5.0  # seconds a learner's lease lasts unless renewed

Role = Literal["shop", "auditor", "admin"]
OutcomeStatus = Literal["recorded", "late", "conflict", "unknown"]


class StoreUnavailable(Exception):
    """The database cannot be reached, or is locked, read-only or full. The message is one line without any record."""


class LeaseLost(Exception):
    """Another learner holds the lease; this one must forget what it holds and release nothing."""


class DuplicateProduct(Exception):
    """A product of that name exists."""


class UnknownProduct(Exception):
    """No product has that name."""


class ApiKey(msgspec.Struct, frozen=True):
    """An API key as the store has it: a name and a digest, never the key."""

    name: str
    role: Role
    digest: bytes  # SHA-256 of the key, which has 256 random bits

    @property
    def identity(self) -> str:
        """What its quotes are bound to. Of the key itself: a name may be given to another key later."""
        return self.digest[:8].hex()


class StoredProduct(msgspec.Struct, frozen=True):
    """A product's public side. `spec` is the JSON of service.product.Product, fixed at creation."""

    name: str
    spec: bytes
    status: Literal["open", "frozen"]
    rules: bytes  # JSON of service.prices.PriceRules, which an admin may change
    reference_price: float | None  # in [0, 1], where an admin has changed it
    slots: int  # quotes given
    created: float
    skipped_releases: int = 0  # the highest number that a restored backup had lost: taken, and not in the store
    restores: int = 0  # restored backups: caps on records were counted anew after each


class Change(msgspec.Struct, frozen=True):
    """What somebody did by hand that moves prices. It goes into the certificate, outside the guarantee."""

    product: str
    at: float  # wall-clock, seconds since 1970
    what: Literal["freeze", "resume", "rules", "reference price", "restored backup"]
    detail: str  # public: no customer is in it


class NewQuote(msgspec.Struct, frozen=True):
    """A quote to be stored, price rules applied."""

    id: str  # 32 hexadecimal digits: 128 random bits
    product: str
    key: str  # the identity of the API key that asked
    context: bytes  # little-endian float64, the product's number of them
    price: float  # charged, as a share of the ceiling; what the record keeps
    charged: str  # the same in currency, as text such as "12.99"
    expires: float  # wall-clock
    version: int  # of the belief that made the price
    holdout: bool
    window: float  # seconds until the deadline, by the service's clock
    cap: int | None  # records a customer may have in this product
    customer: bytes | None = None  # keyed digest of the customer key
    idempotency: bytes | None = None  # keyed digest of the Idempotency-Key
    fingerprint: bytes | None = None  # keyed digest of the request that came with it

    def __repr__(self) -> str:
        return "NewQuote(<sensitive>)"


class Given(msgspec.Struct, frozen=True):
    """The quote that an asker gets: the new one, or for an Idempotency-Key of the same API key seen before, the old."""

    id: str
    charged: str
    expires: float
    version: int
    fresh: bool
    conflict: bool = False  # the Idempotency-Key came with another request before: no quote is given


class NewOutcome(msgspec.Struct, frozen=True):
    """What became of a quote."""

    quote: str
    key: str  # the identity of the API key that tells; a quote of another key is unknown
    demand: float

    def __repr__(self) -> str:
        return "NewOutcome(<sensitive>)"


class Told(msgspec.Struct, frozen=True):
    """What became of an outcome. `repeat`: the same was told before, and the answer is the same again."""

    status: OutcomeStatus
    repeat: bool = False


class StoredRelease(msgspec.Struct, frozen=True):
    """One release of one product, public. `sequence` counts all of them, `version` those that moved the belief."""

    product: str
    sequence: int
    version: int
    kind: Literal["curvature", "score"]
    records: int  # slots learned when it was made
    batch: int  # the slot its batch follows
    numbers: bytes  # little-endian float64, as released
    belief: bytes  # JSON of service.belief.Belief after it: all a quoter needs
    at: float  # wall-clock


class Slot(msgspec.Struct, frozen=True):
    """A slot that is due, for the learner."""

    slot: int
    context: bytes | None  # None: a tombstone
    price: float
    demand: float | None  # None: no outcome came
    counts: bool  # False: over the customer's cap, or deleted. It keeps its slot and contributes zero

    def __repr__(self) -> str:
        return f"Slot(slot={self.slot}, <sensitive>)"


class LearnerState(msgspec.Struct, frozen=True):
    """Where the learner of one product is: sensitive, the exact sums of the batch at hand are in it."""

    product: str
    learned: int  # slots
    sequence: int  # releases made
    state: bytes
    ledger: bytes  # JSON of what was paid for and spent

    def __repr__(self) -> str:
        return f"LearnerState(product={self.product!r}, <sensitive>)"


class Seen(msgspec.Struct, frozen=True):
    """The highest release a process has seen. A store without that release was restored from a backup."""

    product: str
    sequence: int
    records: int
    digest: bytes = b""  # SHA-256 of its numbers: another release may have got the same number since. Empty: not known
    restores: int = 0  # restored backups that the store knew of


class Figures(msgspec.Struct, frozen=True):
    """Raw counts of one product, for the operator alone."""

    quoted: int
    bought: int
    declined: int  # an outcome came: nothing bought
    expired: int  # the deadline passed without one
    waiting: int
    repeated: int  # outcomes told again
    conflicting: int
    late: int
    over_cap: int
    forgotten: int
    holdout_quotes: int
    holdout_revenue: float  # sum of price charged times demand, in shares of the ceiling, outcomes in time only
    personal_quotes: int
    personal_revenue: float
    holdout_squares: float  # sum of squares of the same, for standard errors
    personal_squares: float


class Inspection(msgspec.Struct, frozen=True):
    """Counts of one product that consistency.py compares; "after skip" is after what a restored backup had lost."""

    slots: int
    skipped_slots: int
    skipped_releases: int
    quotes: int
    quotes_after_skip: int
    counted: int  # quotes in the figures
    contexts_learned: int  # contexts of slots learned: there may be none
    contexts_missing: int  # slots after skip, not learned and not forgotten, without one
    learned_early: int  # slots after skip, learned, whose deadline the clock has not reached


class QuoterStore(Protocol):
    """What a process that quotes may do. On PostgreSQL its role can do nothing else: it cannot read a record."""

    def products(self) -> list[StoredProduct]: ...
    def api_keys(self) -> list[ApiKey]: ...
    def changes(self, product: str) -> list[Change]: ...
    def write(self, quotes: Sequence[NewQuote], outcomes: Sequence[NewOutcome]) -> tuple[list[Given], list[Told]]:
        """Store all of it durably, in one transaction, quotes first; answers in the order asked."""
        ...

    def releases(self, product: str, after: int = 0) -> list[StoredRelease]:
        """Those with a sequence above `after`, in order."""
        ...

    def latest_release(self, product: str) -> StoredRelease | None: ...
    def beat(self, now: float) -> float:
        """Move the service's clock; returns it. Waits for outcomes in flight, so that none is taken too late."""
        ...

    def report_seen(self, seen: Sequence[Seen]) -> None:
        """Keep those that the store does not have and has not charged: until `skip_to`, nothing more is released."""
        ...

    def identity(self) -> bytes:
        """Random bytes that are this store's own; a restored backup has the same."""
        ...

    def certificate(self, product: str) -> bytes | None:
        """The newest, as the learner wrote it."""
        ...

    def learner_alive(self, now: float) -> bool:
        """Does somebody hold the lease?"""
        ...

    # For an admin; the HTTP layer has checked the key.
    def add_product(self, name: str, spec: bytes, rules: bytes, now: float) -> None: ...
    def set_status(self, product: str, status: Literal["open", "frozen"], now: float) -> None: ...
    def set_rules(self, product: str, rules: bytes, detail: str, now: float) -> None: ...
    def set_reference_price(self, product: str, price: float, now: float) -> None: ...
    def forget(self, customer: bytes) -> None:
        """Turn every quote of a customer into a tombstone: no context, no outcome, no customer; the slot stays."""
        ...

    def close(self) -> None: ...


class LearnerStore(QuoterStore, Protocol):
    """What the learner may do besides: read what is due, and release."""

    def take_lease(self, holder: str, now: float) -> bool:
        """Take or renew the lease; False where another holds it."""
        ...

    def drop_lease(self, holder: str) -> None: ...
    def state(self, product: str) -> LearnerState | None: ...
    def due(self, product: str, after: int, limit: int) -> list[Slot]:
        """The slots after `after` whose deadlines have passed: a contiguous run, `limit` at most."""
        ...

    def commit(self, holder: str, state: LearnerState, releases: Sequence[StoredRelease], now: float) -> None:
        """Store all of it durably in one transaction, and erase the contexts of the slots learned.

        LeaseLost where the lease is not the holder's, where the stored state is not older than this one (a stored
        `learned` or `sequence` above the one given), or where `highest_seen` has something: then nothing was stored.
        """
        ...

    def highest_seen(self, product: str) -> Seen | None:
        """The highest of what was reported, is not in the store, and was not skipped yet."""
        ...

    def skip_to(self, holder: str, seen: Seen, now: float) -> Seen:
        """After a restored backup: give no slot up to seen.records any more, number releases after seen.sequence.

        Where another release has got that number since, after what is learned and released by now. Returns the slot and
        the number that were skipped to.
        """
        ...

    def add_certificate(self, product: str, certificate: bytes, now: float) -> None: ...
    def add_api_key(self, key: ApiKey) -> None: ...
    def remove_api_key(self, name: str) -> None: ...
    def figures(self, product: str) -> Figures: ...
    def daily_figures(self, product: str, days: int) -> list[tuple[str, Figures]]:
        """The same by day (UTC date of the quote), newest last, for the operator's picture."""
        ...

    def inspect(self, product: str) -> Inspection:
        """Reads every row, unlike everything else here."""
        ...
