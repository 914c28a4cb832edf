"""What goes to the service and what comes back, as values. Fields the service adds later are ignored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from hushprice.errors import InvalidInput

Attributes = Mapping[str, str | bool | int | float | None]


class Ask(msgspec.Struct, frozen=True, omit_defaults=True):
    """One quote to be asked for: named attributes, or a numeric context in [-1, 1]."""

    product: str
    attributes: Attributes | None = None
    context: Sequence[float] | None = None
    customer: str | None = None  # who it is, in the shop's own words; the service keeps a keyed digest

    def __post_init__(self) -> None:
        if (self.attributes is None) == (self.context is None):
            raise InvalidInput("a quote needs either attributes or a context")

    def __repr__(self) -> str:
        return f"Ask(product={self.product!r}, <sensitive>)"


class Quote(msgspec.Struct, frozen=True):
    """A price for one customer. With `fallback` it is the local reference price: the service did not answer."""

    product: str
    price: float
    id: str | None = None  # None: the service knows nothing of this quote
    currency: str | None = None
    expires_at: str | None = None
    version: int = 0  # of what is known of demand; 0: nothing is yet
    recorded: bool = True  # False: the database is away; the quote is stored when it is back, if there is room
    fallback: bool = False
    propensity: float | None = None  # probability of this price for this customer: keep it with the sale, in your log
    coin: int | None = None  # +1 or -1: the customer's device makes the price of it, and shows that instead
    belief: str | None = None  # the mark of the belief to make it of


class Outcome(msgspec.Struct, frozen=True):
    """What the service did with an outcome; "late" is kept in its log and not learned from.

    "not told": the quote was the local reference price, of which the service knows nothing. Nothing was sent.
    """

    status: Literal["recorded", "late", "not told"]
    repeat: bool = False


class ItemError(msgspec.Struct, frozen=True):
    """One quote of a batch that was refused."""

    code: str
    message: str
    field: str | None = None


class BatchItem(msgspec.Struct, frozen=True):
    """A quote's fields, or `error`."""

    product: str = ""
    price: float = 0.0
    id: str | None = None
    currency: str | None = None
    expires_at: str | None = None
    version: int = 0
    recorded: bool = True
    error: ItemError | None = None


class SlotRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """A quote that the customer's device prices: nothing is said of the customer."""

    product: str
    customer: str | None = None  # as in `Ask`


class BatchAnswer(msgspec.Struct, frozen=True):
    quotes: list[BatchItem]
