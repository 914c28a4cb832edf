"""One product as a quoting process prices it: its declaration, its rules, and the belief of the last release."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec
import numpy as np

from hushprice.errors import InvalidInput
from hushprice.policies.cautious.policy import CautiousPolicy
from hushprice.policies.cautious.pricing import population as populations
from hushprice.policies.cautious.pricing.quoter import CautiousQuoter, coin_of
from hushprice.policies.newton.pricing.quoter import NewtonQuoter
from hushprice.policies.protocol import Policy
from hushprice.service.quoting.cautious_prices import CautiousPrices
from hushprice.service.quoting.quick_context import QuickContextReader
from hushprice.service.shared import problems
from hushprice.service.shared.contexts import ContextReader
from hushprice.service.shared.device_state import DeviceState, device_state
from hushprice.service.shared.product import Product, policy_of, quoter_of, reader_of, schema_of, tariff_of
from hushprice.service.shared.product_view import ProductView, view_of
from hushprice.service.shared.quoters import ProductQuoter
from hushprice.service.shared.tariff import Charged, PriceRules, Tariff
from hushprice.service.store.lost_releases import digest
from hushprice.service.store.values import SeenRelease, Status, StoredProduct, StoredRelease
from hushprice.settings import PRODUCT_POLICY

_SERIALS = itertools.count(1)
Value = TypeVar("Value")
Ended = Literal["horizon", "policy fixed", "retired"]
_product = msgspec.json.Decoder(Product).decode
_rules = msgspec.json.Decoder(PriceRules).decode


def _declared(decode: Callable[[bytes], Value], text: bytes) -> Value:
    """What an admin declared. InvalidInput where it is no declaration of this version: others are sold all the same."""
    try:
        return decode(text)
    except msgspec.MsgspecError as problem:
        raise InvalidInput(f"declared by another version of hushprice: {problem}") from None


class _Parts(NamedTuple):
    """What takes a millisecond or two to make: noise is calibrated."""

    tariff: Tariff
    reader: ContextReader
    quick: QuickContextReader
    policy: Policy
    view: ProductView  # for an admin


class _Pricing(NamedTuple):
    """What reads a belief; without one, policy cautious has its first batch to plan, which takes ten times as long."""

    quoter: ProductQuoter | None
    cautious: CautiousPrices | None  # of its quoter


class ClippedCustomers:
    """How many customers had a number out of its bounds; raw, for the operator alone. Counted by the event loop."""

    def __init__(self) -> None:
        self.count = 0


class PricedProduct:
    """Everything a quote needs. Replaced, never changed, except for counts.

    Of a thousand products most are not asked for in the first second: the costly parts are made by `open`, or by who
    needs them first.
    """

    def __init__(
        self,
        stored: StoredProduct,
        release: StoredRelease | None,
        product: Product | None = None,
        clipped: ClippedCustomers | None = None,
        lineage: bytes = b"",
    ) -> None:
        self.serial = next(_SERIALS)  # of what is made of it: never another product's, nor another release's
        self.stored = stored
        self.release = release
        self.lineage = lineage  # of the history up to `release`: see lost_releases.py
        self.product = product or _declared(_product, stored.spec)
        self.rules = _declared(_rules, stored.rules)
        self.slots = stored.slots
        self.clipped = clipped or ClippedCustomers()  # its predecessor's, which counts on until this one replaces it
        self.healths: dict[tuple[Status, bool], Any] = {}  # what product_health.py says of it, by status
        self.frozen_here = False  # by this process alone, at once, while the store is away
        self._personal = self.product.policy != "fixed" and stored.status == "open"
        self.version = 0 if release is None else release.version

    @cached_property
    def _parts(self) -> _Parts:
        product, changed = self.product, self._changed
        reader = reader_of(product)
        return _Parts(
            tariff=tariff_of(product, self.rules, changed),
            reader=reader,
            quick=QuickContextReader(schema_of(product), len(reader.names)),
            policy=policy_of(product),
            view=view_of(self.stored, with_cost=True),
        )

    @cached_property
    def _pricing(self) -> _Pricing:
        product, parts = self.product, self._parts
        if product.policy == "fixed":
            return _Pricing(None, None)
        quoter = quoter_of(product, self._changed, None if self.release is None else self.release.belief)
        if not isinstance(quoter, CautiousQuoter):
            return _Pricing(quoter, None)
        assert isinstance(parts.policy, CautiousPolicy)
        return _Pricing(quoter, CautiousPrices(product, parts.policy, quoter, parts.tariff))

    @property
    def _changed(self) -> float | None:
        """The reference price, in currency, where one was set later."""
        share, product = self.stored.reference_price, self.product
        # The share was made from a price with so many decimals; this is that price again.
        return None if share is None else round(share * product.ceiling, product.decimals)

    @property
    def planned(self) -> bool:
        """Is it known what it prices by? Otherwise that is found out by who needs it first."""
        return "_pricing" in self.__dict__

    def plan(self) -> PricedProduct:
        """Itself, with all that it prices by; HushpriceError where the store has what cannot be priced by."""
        _ = self._pricing
        return self

    def open(self) -> PricedProduct:
        """Itself, with all that is quickly made: a first batch is not planned. HushpriceError as with `plan`."""
        _ = self._parts
        return self if self.release is None and self.product.policy == PRODUCT_POLICY else self.plan()

    @property
    def tariff(self) -> Tariff:
        """How a price in [0, 1] becomes one that is charged."""
        return self._parts.tariff

    @property
    def reader(self) -> ContextReader:
        """What reads a customer's attributes."""
        return self._parts.reader

    @property
    def policy(self) -> Policy:
        """The policy with its noise."""
        return self._parts.policy

    @property
    def quoter(self) -> ProductQuoter | None:
        """The belief, and the search for the best price; None for a fixed price."""
        return self._pricing.quoter

    @property
    def personal(self) -> bool:
        """Do prices depend on the customer?"""
        return self._personal and not self.frozen_here

    @property
    def status(self) -> Status:
        """The product's status as the store has it, unless this process has frozen it."""
        return "frozen" if self.frozen_here and self.stored.status == "open" else self.stored.status

    @property
    def retired(self) -> bool:
        """Is nothing quoted any more?"""
        return self.stored.status == "retired"

    def view(self, *, with_cost: bool) -> ProductView:
        """What is told about it; the unit cost to an admin alone."""
        made = self._parts.view
        cost = made.unit_cost if with_cost else None
        return msgspec.structs.replace(made, quotes=self.slots, unit_cost=cost, status=self.status)

    @cached_property
    def seen(self) -> SeenRelease | None:
        """The release that must be noted before this is used or shown; None where there is none."""
        stored, release = self.stored, self.release
        if release is None:
            return None
        made = digest(release.numbers)
        return SeenRelease(
            stored.name, release.sequence, release.records, made, stored.restores, stored.overlaps, self.lineage
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
        if self.retired:
            return "retired"
        return "horizon" if self.slots >= self.product.horizon else None

    @property
    def reference(self) -> Charged:
        """The public price: for a holdout, a frozen product, a fixed policy."""
        return self._parts.tariff.reference

    def context(self, attributes: Mapping[str, object] | None, context: list[float] | None) -> bytes:
        """A customer's context as a record keeps it, or a Problem that names the field and no value."""
        parts = self._parts
        quick = parts.quick.read(attributes, context)
        if quick is not None:
            return quick
        try:
            read = parts.reader.read(attributes, context)
            self.clipped.count += bool(read.clipped)
            return read.context.astype("<f8").tobytes()
        except InvalidInput as problem:
            text = str(problem)
            first = text.split(" ", 1)[0]
            raise problems.invalid(first if first.startswith(("attributes", "context")) else None, text) from None

    def price(self, context: bytes, uniform: float) -> Charged:
        """The price charged to a customer; `uniform` in [0, 1) disperses it, and 1/2 leaves it where it is."""
        tariff = self._parts.tariff
        if not self.personal:
            return tariff.reference
        quoter, cautious = self._pricing
        if cautious is not None:
            return cautious.price(context, coin_of(uniform))
        assert isinstance(quoter, NewtonQuoter)
        # A bytearray, because the compiled search is compiled for arrays that can be written to.
        read = np.frombuffer(bytearray(context), dtype="<f8")
        return tariff.charge(quoter.price_of_checked(read, uniform))

    def offer(self, context: bytes, uniform: float, *, holdout: bool) -> tuple[Charged, float | None]:
        """The price charged to a customer, and how likely it was; None where no policy says so.

        A probability given the customer and the releases so far: of the coin's two prices and of the reference price,
        those that come out as the one charged. It tells no more than the price itself does to who knows the customer,
        and like the price it is between the shop and that customer.
        """
        if not self.personal:
            return self._parts.tariff.reference, 1.0
        cautious = self._pricing.cautious
        if cautious is None:  # a rounded draw of a density
            return self._parts.tariff.reference if holdout else self.price(context, uniform), None
        return cautious.offer(context, uniform, holdout=holdout)

    @cached_property
    def device_state(self) -> DeviceState | None:
        """What devices are told; None where customers are priced here."""
        if self.product.trust == "central":
            return None
        parts, quoter = self._parts, self.quoter
        assert isinstance(parts.policy, CautiousPolicy)
        assert isinstance(quoter, CautiousQuoter)
        return device_state(self.product, parts.policy, quoter, parts.tariff)

    @cached_property
    def range(self) -> tuple[float, float]:
        """Policy cautious: the lowest and the highest price, without the coin, of customers of all kinds."""
        quoter, cautious = self._pricing
        assert isinstance(quoter, CautiousQuoter)
        assert cautious is not None
        people = populations.Population(quoter.model.contexts, 0.0).people()  # as before anything is released
        relative = np.zeros(1) if cautious.still else quoter.relative_prices(people, np.zeros(len(people)))
        prices = [float(cautious.charged(each).charged) for each in relative.tolist()]
        return min(prices), max(prices)
