"""What goes to an aggregator and what it answers, the same for it and for the shop's learner.

Nobody logs in: the ids of quotes are random, and known to the shop and to the customer's device alone, so whoever names
a batch by the ids in it is one of these. To name too few, too many or others costs the shop sums and tells it nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import Meta

from hushprice.service.shared.product import Name
from hushprice.trust.shares import Grids, Promise

ID = 16  # bytes of a quote's id
PURPOSE = b"hushprice aggregated total\n"  # what is signed begins with this
Words = Annotated[str, Meta(pattern="^([0-9a-f]{16})+$", description="numbers of 64 bits, one after the other")]


class Share(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A device's share of one record, with what its numbers were bounded by: an aggregator holds them to its own."""

    product: Name
    quote: Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
    choice: int
    least: float
    most: float
    grids: Grids
    words: Words

    def __repr__(self) -> str:
        return "Share(<sensitive>)"


class ShareTaken(msgspec.Struct, frozen=True):
    """`late`: the batch was over, and the record is left out."""

    status: str
    repeat: bool = False


class _OfQuotes(msgspec.Struct, frozen=True, kw_only=True):
    """What names quotes: their ids, one after the other. There may be millions: a pattern would take seconds of all."""

    quotes: str

    def __post_init__(self) -> None:
        if len(self.quotes) % (2 * ID) or bytes.fromhex(self.quotes).hex() != self.quotes:
            raise ValueError(f"quotes must be of {2 * ID} hexadecimal digits each")


class BatchOver(_OfQuotes, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A batch is over, in which these reports were asked for after so many slots: from now on no share enters it."""

    product: Name
    follows: int
    choice: int

    @property
    def name(self) -> str:
        """The batch's: nobody can make another batch of this name."""
        told = f"{self.product} {self.follows} {self.choice} {self.quotes}"
        return hashlib.sha256(told.encode()).hexdigest()


class Received(_OfQuotes, frozen=True, kw_only=True):
    """The reports of a batch that are here."""


class Agreed(_OfQuotes, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The reports of a batch that are at both aggregators, in their order: these are to be added up."""

    product: Name
    batch: str


class Total(msgspec.Struct, frozen=True, kw_only=True):
    """What an aggregator publishes of a batch, once: its shares of the agreed reports, added up, with all its noise."""

    product: Name
    batch: str
    agreed: str  # the SHA-256 of their ids
    words: Words
    signature: str = ""

    def signed(self) -> bytes:
        """What the signature is of."""
        return PURPOSE + msgspec.json.encode(msgspec.structs.replace(self, signature=""))


class AggregatorFacts(msgspec.Struct, frozen=True):
    """What an aggregator says of itself."""

    key: str
    products: dict[str, Promise]


def digest_of(quotes: str) -> str:
    """Of a list of ids."""
    return hashlib.sha256(quotes.encode()).hexdigest()


def ids_of(quotes: str) -> Iterator[bytes]:
    """The ids in such a text, one at a time: there may be millions."""
    joined = bytes.fromhex(quotes)
    return (joined[start : start + ID] for start in range(0, len(joined), ID))
