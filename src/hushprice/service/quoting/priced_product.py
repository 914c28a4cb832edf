"""One product as a quoting process prices it: its declaration, its rules, and the belief of the last release."""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from hushprice.errors import InvalidInput
from hushprice.policies.newton.pricing.quoter import NewtonQuoter
from hushprice.service.quoting.quick_context import QuickContextReader
from hushprice.service.shared import problems
from hushprice.service.shared.belief import Belief, set_belief
from hushprice.service.shared.product import Product, policy_of, quoter_of, reader_of, schema_of, tariff_of
from hushprice.service.shared.tariff import Charged, PriceRules, Tariff
from hushprice.service.store.lost_releases import Mark, mark_of, trail_of
from hushprice.service.store.values import SeenRelease, StoredProduct, StoredRelease

_SERIALS = itertools.count(1)
Ended = Literal["horizon", "policy fixed"]
_product = msgspec.json.Decoder(Product).decode
_rules = msgspec.json.Decoder(PriceRules).decode
_belief = msgspec.json.Decoder(Belief).decode


class ReleaseSummary(NamedTuple):
    """A release without its numbers, for the history."""

    sequence: int
    version: int
    kind: Literal["curvature", "score"]
    records: int
    at: float
    mark: Mark


def summary_of(release: StoredRelease) -> ReleaseSummary:
    """A release as the history lists it."""
    return ReleaseSummary(
        release.sequence, release.version, release.kind, release.records, release.at, mark_of(release)
    )


class ClippedCustomers:
    """How many customers had a number out of its bounds; raw, for the operator alone. Counted by the event loop."""

    def __init__(self) -> None:
        self.count = 0


class PricedProduct:
    """Everything a quote needs, worked out before it is asked. Replaced, never changed, except for counts."""

    def __init__(
        self,
        stored: StoredProduct,
        release: StoredRelease | None,
        product: Product | None = None,
        history: tuple[ReleaseSummary, ...] = (),
        clipped: ClippedCustomers | None = None,
    ) -> None:
        self.serial = next(_SERIALS)  # of what is made of it: never another product's, nor another release's
        self.stored = stored
        self.release = release
        self.history = history  # up to `release`, which is noted before it is used: nothing else is shown
        self.product = product or _product(stored.spec)
        self.rules = _rules(stored.rules)
        self.slots = stored.slots
        self.clipped = clipped or ClippedCustomers()  # its predecessor's, which counts on until this one replaces it
        changed = None if stored.reference_price is None else stored.reference_price * self.product.ceiling
        # The share was made from a price with so many decimals; this is that price again.
        changed = None if changed is None else round(changed, self.product.decimals)
        self.tariff: Tariff = tariff_of(self.product, self.rules, changed)
        self.reader = reader_of(self.product)
        self._quick = QuickContextReader(schema_of(self.product), len(self.reader.names))
        self.policy = policy_of(self.product)
        self.quoter: NewtonQuoter | None = None
        if self.product.policy != "fixed":
            self.quoter = quoter_of(self.product, changed)
            if release is not None:
                set_belief(self.quoter, _belief(release.belief))
        self.personal = self.quoter is not None and stored.status == "open"
        self.version = 0 if release is None else release.version

    @cached_property
    def seen(self) -> SeenRelease | None:
        """The release that must be noted before this is used or shown; None where there is none."""
        release = self.release
        if release is None:
            return None
        stored, made = self.stored, mark_of(release)
        trail = trail_of([*(each.mark for each in self.history if each.sequence < made.sequence), made])
        return SeenRelease(
            stored.name, made.sequence, release.records, made.digest, stored.restores, stored.overlaps, trail
        )

    @property
    def sequence(self) -> int:
        """The number of releases so far."""
        return 0 if self.release is None else self.release.sequence

    @property
    def learned(self) -> int:
        """The number of slots learned up to the last release."""
        return 0 if self.release is None else self.release.records

    @property
    def label(self) -> Literal["public", "noised"]:
        """Where prices, demand and the history of releases come from: from declarations alone, until the first one."""
        return "public" if self.release is None else "noised"

    @property
    def ended(self) -> Ended | None:
        """Why nothing is learned from a new quote. Pricing goes on. (A frozen product is learned at its one price.)"""
        if self.product.policy == "fixed":
            return "policy fixed"
        return "horizon" if self.slots >= self.product.horizon else None

    @property
    def reference(self) -> Charged:
        """The public price: for a holdout, a frozen product, a fixed policy."""
        return self.tariff.reference

    def context(self, attributes: dict[str, float | bool | str] | None, context: list[float] | None) -> bytes:
        """A customer's context as a record keeps it, or a Problem that names the field and no value."""
        quick = self._quick.read(attributes, context)
        if quick is not None:
            return quick
        try:
            read = self.reader.read(attributes, context)
            self.clipped.count += bool(read.clipped)
            return read.context.astype("<f8").tobytes()
        except InvalidInput as problem:
            text = str(problem)
            first = text.split(" ", 1)[0]
            raise problems.invalid(first if first.startswith(("attributes", "context")) else None, text) from None

    def price(self, context: bytes, uniform: float) -> Charged:
        """The price charged to a customer; `uniform` in [0, 1) disperses it, and 1/2 leaves it where it is."""
        if not self.personal:
            return self.tariff.reference
        assert self.quoter is not None
        # A bytearray, because the compiled search is compiled for arrays that can be written to.
        read = np.frombuffer(bytearray(context), dtype="<f8")
        return self.tariff.charge(self.quoter.price_of_checked(read, uniform))

    def same_but_slots(self, stored: StoredProduct, release: StoredRelease | None) -> bool:
        """Is there nothing new about the product but slots?"""
        return self.release == release and msgspec.structs.replace(self.stored, slots=stored.slots) == stored
