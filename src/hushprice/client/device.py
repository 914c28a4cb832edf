"""A customer's own device where the shop is not to be trusted (docs/guide/trust.md): standard library and msgspec only.

The shop's server asks the service for a quote without attributes, and hands the quote and the belief to the device.
The device makes the price, shows it, and later gives one bit for the shop's server to send:

    quote, belief = client.quote_for_device("tea"), client.belief("tea")      # in the shop
    device = Device(context=[0.2, -0.5], epsilon=1.0)                         # at the customer's
    price = device.price(belief, quote)
    report = device.report(belief, quote, purchased=True)
    client.send_report(quote, report)                                         # in the shop again

A product that declares attributes is told them by name: `Device(attributes={"age": 41}, epsilon=1.0)`. With
`price_epsilon` the price is drawn, and tells the shop no more than that of the attributes. Where trust is aggregated it
is a `SharingDevice`, and what leaves it goes to `Aggregators`, past the shop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from hushprice.client.answers import Quote
from hushprice.errors import InvalidInput
from hushprice.trust import attributes, bits, shares
from hushprice.trust.drawn_price import drawn
from hushprice.trust.question import Question, Record
from hushprice.trust.shares import Grids
from hushprice.trust.till import Till

_LARGEST, _FINEST = 1e6, 1e-6  # of a question's numbers, and of its step


class Belief(msgspec.Struct, frozen=True):
    """What a product asks of devices: public, the same for every customer until a quote names another mark."""

    product: str
    currency: str
    version: int
    most: float
    question: Question
    till: Till
    mark: str
    keep: float | None = None  # trust local
    choice: int | None = None  # trust aggregated, like the grids
    grids: Grids | None = None
    schema: dict[str, Any] | None = None  # of named attributes, where the product declares them

    def context_of(self, context: Sequence[float], customer: Mapping[str, object]) -> Sequence[float]:
        """The entries that stand for a customer; those that were given, where no attributes are declared."""
        return context if self.schema is None else attributes.encode(attributes.declared(self.schema), customer)

    def __post_init__(self) -> None:
        """Refuse numbers at which arithmetic fails for some customers: that no report comes would tell of them."""
        asked = self.question
        sizes = (*asked.theta, asked.margin, asked.level, asked.response, asked.lowest, asked.highest, asked.spread)
        sizes += (asked.move, asked.offset, self.most)
        if not all(abs(size) <= _LARGEST for size in sizes) or 0.0 < abs(asked.step) < _FINEST or not self.most > 0.0:
            raise InvalidInput(f"belief must be of numbers up to {_LARGEST:g}, and of steps above {_FINEST:g}")
        if not asked.margin + asked.highest > 0.0:
            raise InvalidInput("belief must have a price that earns something")
        if self.schema is not None and len(self.context_of((), {})) != asked.contexts:
            raise InvalidInput(f"belief must have a schema of {asked.contexts} entries")


class DeviceReport(msgspec.Struct, frozen=True):
    """All that leaves the device: as private by itself as `keep` says, whatever was asked."""

    about: int
    up: bool


class _PricedCustomer:
    """What a customer is like, and the price that follows from it.

    With `price_epsilon` the price is drawn, once a quote and for `reports` quotes at most, since k draws tell k times
    as much; where none is left it is the quote's own.
    """

    def __init__(
        self,
        context: Sequence[float],
        customer: Mapping[str, object] | None,
        reports: int,
        price_epsilon: float | None,
    ) -> None:
        self._given, self._customer, self._left = tuple(context), dict(customer or {}), reports
        self._price_keep = None if price_epsilon is None else bits.keep_of(price_epsilon)
        self._draws, self._drawn = reports, dict[str, float]()

    def _context(self, belief: Belief) -> Sequence[float]:
        return belief.context_of(self._given, self._customer)

    def _relative(self, belief: Belief, quote: Quote) -> float | None:
        """The price before the till; None: the quote's own."""
        if not _asked(belief, quote):
            return None
        coin, context = float(quote.coin or 0), self._context(belief)
        if self._price_keep is None:
            return belief.question.price(context, coin)
        if quote.id is not None and quote.id not in self._drawn and self._draws > 0:
            self._draws -= 1
            self._drawn[quote.id] = drawn(belief.question, self._price_keep, context, coin)
        return self._drawn.get(quote.id or "")

    def price(self, belief: Belief, quote: Quote) -> float:
        """What to show, and to charge: the quote's own price where the belief is not the one it names."""
        relative = self._relative(belief, quote)
        return quote.price if relative is None else belief.till.amount(belief.till.charged(relative))

    def _record(self, belief: Belief, quote: Quote, purchased: bool | None, quantity: float | None) -> Record | None:
        """At the price before the till, to the last digit; None where the quote's own price was shown."""
        if (purchased is None) == (quantity is None):
            raise InvalidInput("a report needs either purchased or quantity")
        demand = float(purchased if quantity is None else quantity)  # type: ignore[arg-type]
        price, context = self._relative(belief, quote), self._context(belief)
        return None if price is None else Record(context, float(quote.coin or 0), price, demand / belief.most)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(<sensitive>)"


class Device(_PricedCustomer):
    """One customer's device. It trusts nobody: whatever belief it is handed, a report tells no more than `epsilon`.

    `reports` is how many it ever sends: each costs `epsilon`, so k of them tell k times as much. A quote gets one, and
    asked again for it the device says the same bit: a second draw would tell more. A price that is drawn costs
    `price_epsilon` besides; one that is not tells what prices go by.
    """

    def __init__(
        self,
        context: Sequence[float] = (),
        *,
        epsilon: float,
        attributes: Mapping[str, object] | None = None,
        reports: int = 1,
        price_epsilon: float | None = None,
    ) -> None:
        super().__init__(context, attributes, reports, price_epsilon)
        self._keep = bits.keep_of(epsilon)
        self._said: dict[str, DeviceReport] = {}

    def report(
        self, belief: Belief, quote: Quote, *, purchased: bool | None = None, quantity: float | None = None
    ) -> DeviceReport | None:
        """What to send once it is known whether the customer bought; None: nothing, whatever they did."""
        record = self._record(belief, quote, purchased, quantity)
        if quote.id in self._said:
            return self._said[quote.id]
        if belief.keep is None or belief.keep > self._keep:
            raise InvalidInput(
                f"belief.keep must be at most {self._keep!r} for the epsilon accepted, got {belief.keep!r}"
            )
        if quote.id is None or self._left < 1 or record is None:
            return None
        bit = bits.answer(belief.question, belief.keep, record, priced=True)
        self._left -= 1
        self._said[quote.id] = DeviceReport(bit.about, bit.up)
        return self._said[quote.id]


class DeviceShares(msgspec.Struct, frozen=True, kw_only=True):
    """A record in two shares, each of which alone is noise: one for each aggregator, and none for anybody else."""

    product: str
    quote: str
    choice: int
    least: float
    most: float
    grids: Grids
    first: str
    second: str

    def __repr__(self) -> str:
        return "DeviceShares(<sensitive>)"


class SharingDevice(_PricedCustomer):
    """One customer's device where two aggregators add up shares, of which it trusts that one is honest.

    It needs to know no more than who they are: what its numbers are bounded and rounded by goes with its shares, and an
    aggregator refuses what its noise was not bought for. A quote gets one report: asked again, the same two shares.
    """

    def __init__(
        self,
        context: Sequence[float] = (),
        *,
        attributes: Mapping[str, object] | None = None,
        reports: int = 1,
        price_epsilon: float | None = None,
    ) -> None:
        super().__init__(context, attributes, reports, price_epsilon)
        self._said: dict[str, DeviceShares] = {}

    def report(
        self, belief: Belief, quote: Quote, *, purchased: bool | None = None, quantity: float | None = None
    ) -> DeviceShares | None:
        """What to send to the aggregators once it is known whether the customer bought; None: nothing."""
        record = self._record(belief, quote, purchased, quantity)
        if quote.id in self._said:
            return self._said[quote.id]
        if belief.grids is None or belief.choice is None:
            raise InvalidInput("belief must be of a product whose trust is aggregated")
        if quote.id is None or self._left < 1 or record is None:
            return None
        asked, grids = belief.question, belief.grids
        first, second = shares.split(shares.numbers(asked, grids, record))
        self._left -= 1
        self._said[quote.id] = DeviceShares(
            product=belief.product,
            quote=quote.id,
            choice=belief.choice,
            least=asked.least,
            most=asked.most,
            grids=grids,
            first=shares.written(first),
            second=shares.written(second),
        )
        return self._said[quote.id]


def _asked(belief: Belief, quote: Quote) -> bool:
    """Does the quote ask by this belief? Not where the product is frozen, or the service has learned since."""
    return quote.coin in (-1, 1) and quote.belief == belief.mark and quote.product == belief.product
