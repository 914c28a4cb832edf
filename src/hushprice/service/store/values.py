"""What goes into a store and comes out of it, as values. Field names are stored or sent: they do not change."""

from __future__ import annotations

from typing import Literal

import msgspec

Role = Literal["shop", "auditor", "admin"]
Status = Literal["open", "frozen", "retired"]
OutcomeStatus = Literal["recorded", "late", "conflict", "unknown", "too much", "another kind"]
ChangeKind = Literal[
    "freeze", "resume", "retire", "rules", "reference price", "restored backup", "overlapping histories", "lost notes"
]
ReleaseKind = Literal["curvature", "score", "moments"]  # moments: of policy cautious, all sums of a batch in one array
UNPRICED = -1.0  # the price of a quote that a customer's own device prices, and tells nobody
LAST_DAY = 2**31 - 1  # since 1970: later than any


class ApiKey(msgspec.Struct, frozen=True):
    """An API key as the store has it: a name and a digest, never the key."""

    name: str
    role: Role
    digest: bytes  # SHA-256 of the key, which has 256 random bits
    expires: float | None = None  # wall-clock
    products: tuple[str, ...] = ()  # that it may quote; none named: all
    quota: int | None = None  # quotes a day (UTC), over all quoters

    @property
    def identity(self) -> str:
        """A short text that quotes are bound to. Of the key itself: a name may be given to another key later."""
        return self.digest[:8].hex()

    @property
    def signature(self) -> str:
        """How the key stands in the trail of what was done by hand."""
        return f"key {self.name} {self.identity}"

    @classmethod
    def of_row(cls, row: tuple[str, Role, bytes, float | None, str, int | None]) -> ApiKey:
        """The key in a row of the table."""
        name, role, digest, expires, products, quota = row
        return cls(name, role, digest, expires, msgspec.json.decode(products, type=tuple[str, ...]), quota)

    @property
    def row(self) -> tuple[str, Role, bytes, float | None, str, int | None]:
        """The key as a row of the table."""
        products = msgspec.json.encode(self.products).decode()
        return self.name, self.role, self.digest, self.expires, products, self.quota


class StoredProduct(msgspec.Struct, frozen=True):
    """A product's public side. `spec` is the JSON of service.shared.product.Product, fixed at creation."""

    name: str
    spec: bytes
    status: Status
    rules: bytes  # JSON of service.shared.tariff.PriceRules, which an admin may change
    reference_price: float | None  # in [0, 1], where an admin has changed it
    slots: int  # quotes given
    created: float
    skipped_releases: int = 0  # the highest number that a restored backup had lost: taken, and not in the store
    restores: int = 0  # restored backups: caps on records were counted anew after each
    overlaps: int = 0  # those of them whose histories may hold the same records


class Change(msgspec.Struct, frozen=True):
    """What somebody did by hand that moves prices. It goes into the certificate, outside the guarantee."""

    product: str
    at: float  # wall-clock, seconds since 1970
    what: ChangeKind
    detail: str  # public: no customer is in it


class NewQuote(msgspec.Struct, frozen=True):
    """A quote to be stored, price rules applied."""

    id: str  # 32 hexadecimal digits, of service.shared.quote_ids
    product: str
    key: str  # the identity of the API key that asked
    context: bytes  # little-endian float64, the product's number of them; UNPRICED: the version asked, or nothing
    price: float  # charged, as a share of the ceiling; what the record keeps. UNPRICED: the device knows it
    charged: str  # the same in currency, as text such as "12.99"
    expires: float  # wall-clock
    version: int  # of the belief that made the price
    holdout: bool
    window: float  # seconds until the deadline, by the service's clock
    cap: int | None  # records a customer may have in this product
    customer: bytes | None = None  # keyed digest of the customer key
    idempotency: bytes | None = None  # keyed digest of the Idempotency-Key
    fingerprint: bytes | None = None  # keyed digest of the request that came with it
    propensity: float | None = None  # probability of the price, given the customer and the releases so far

    def __repr__(self) -> str:
        return "NewQuote(<sensitive>)"


class QuoteAnswer(msgspec.Struct, frozen=True):
    """The quote that an asker gets: the new one, or for an Idempotency-Key of the same API key seen before, the old."""

    id: str
    charged: str
    expires: float
    version: int
    fresh: bool
    conflict: bool = False  # the Idempotency-Key came with another request before: no quote is given
    propensity: float | None = None


class NewOutcome(msgspec.Struct, frozen=True):
    """What became of a quote."""

    quote: str
    key: str  # the identity of the API key that tells; a quote of another key is unknown
    demand: float
    report: bool = False  # a device's, by its code: of a quote that is UNPRICED, and of no other

    def __repr__(self) -> str:
        return "NewOutcome(<sensitive>)"


class OutcomeAnswer(msgspec.Struct, frozen=True):
    """What became of an outcome. `repeat`: the same was told before, and the answer is the same again."""

    status: OutcomeStatus
    repeat: bool = False
    bound: float | None = None  # "too much": the largest demand of the quote's product. Nothing was stored


class StoredRelease(msgspec.Struct, frozen=True):
    """One release of one product, public. `sequence` counts all of them, `version` those that moved the belief."""

    product: str
    sequence: int
    version: int
    kind: ReleaseKind
    records: int  # slots learned when it was made
    batch: int  # the slot its batch follows
    numbers: bytes  # little-endian float64, as released
    belief: bytes  # JSON of the belief after it (service.shared.quoters): all a quoter needs
    at: float  # wall-clock

    @property
    def summary(self) -> ReleaseSummary:
        """What may be shown of the release: everything but its numbers and belief."""
        return ReleaseSummary(self.sequence, self.version, self.kind, self.records, self.at)


class ReleaseSummary(msgspec.Struct, frozen=True):
    """A release without its numbers, for the history."""

    sequence: int
    version: int
    kind: ReleaseKind
    records: int
    at: float


class ProductHead(msgspec.Struct, frozen=True, array_like=True):
    """Enough of a product to see that something is new; `mark` is of its changes and of its last release."""

    id: int
    name: str
    slots: int
    mark: tuple[float | str | None, ...]


class KeyCount(msgspec.Struct, frozen=True, array_like=True):
    """How many quotes of a product an API key got. Public: the key that asked is no part of a record."""

    product: str
    key: str  # its identity
    quoted: int


class Slot(msgspec.Struct, frozen=True):
    """A slot that is due, for the learner."""

    slot: int
    context: bytes | None  # None: a tombstone
    price: float
    demand: float | None  # None: no outcome came
    counts: bool  # False: over the customer's cap, or deleted. It keeps its slot and contributes zero
    holdout: bool = False  # charged today's price, by a coin
    id: bytes = b""  # the quote's; its random bytes are the coin of the price

    def __repr__(self) -> str:
        return f"Slot(slot={self.slot}, <sensitive>)"


class LearnerState(msgspec.Struct, frozen=True):
    """Where the learner of one product is: sensitive, the exact sums of the batch at hand are in it."""

    product: str
    learned: int  # slots
    sequence: int  # releases made
    state: bytes
    ledger: bytes  # JSON of what was paid for and spent
    ended: bool = False  # it learns nothing more, and holds no sums

    def __repr__(self) -> str:
        return f"LearnerState(product={self.product!r}, <sensitive>)"


class LearnerReport(msgspec.Struct, frozen=True):
    """What the holder of the lease says of its work."""

    since_look: float = 0.0  # seconds since it had looked at all products; see decisions.coarse
    set_aside: int = 0  # products that failed


ALL_WELL = LearnerReport()


class LearningProgress(msgspec.Struct, frozen=True):
    """How far learning is. Nothing here depends on what a customer is like or did."""

    held: bool  # does somebody hold the lease?
    report: LearnerReport  # the last holder's
    overdue: dict[str, float]  # by product: how long, by the service's clock, its oldest slot not learned has been due


class SeenRelease(msgspec.Struct, frozen=True):
    """The highest release a process has seen. A store without that release was restored from a backup."""

    product: str
    sequence: int
    records: int
    digest: bytes = b""  # SHA-256 of its numbers: another release may have got the same number since. Empty: not known
    restores: int = 0  # restored backups that the store knew of
    overlaps: int = 0
    lineage: bytes = b""  # a mark of every release up to this one: MARK bytes a number, zeros where it was skipped


class Figures(msgspec.Struct, frozen=True):
    """Raw counts of one product, for the operator alone."""

    quoted: int
    bought: int
    declined: int  # an outcome came: nothing bought; or a device's report did
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
