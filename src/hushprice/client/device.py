"""A customer's own device where the shop is not to be trusted (docs/guide/trust.md): standard library and msgspec only.

The shop's server asks the service for a quote without attributes, and hands the quote and the belief to the device.
The device makes the price, shows it, and later gives one bit for the shop's server to send:

    quote, belief = client.quote_for_device("tea"), client.belief("tea")      # in the shop
    device = Device(context=[0.2, -0.5], epsilon=1.0)                         # at the customer's
    price = device.price(belief, quote)
    report = device.report(belief, quote, purchased=True)
    client.send_report(quote, report)                                         # in the shop again
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hushprice.client.answers import Quote
from hushprice.errors import InvalidInput
from hushprice.trust import bits
from hushprice.trust.question import Question, Record
from hushprice.trust.till import Till

_LARGEST, _FINEST = 1e6, 1e-6  # of a question's numbers, and of its step


class Belief(msgspec.Struct, frozen=True):
    """What a product asks of devices: public, the same for every customer until a quote names another mark."""

    product: str
    currency: str
    version: int
    keep: float
    most: float
    question: Question
    till: Till
    mark: str

    def __post_init__(self) -> None:
        """Refuse numbers at which arithmetic fails for some customers: that no report comes would tell of them."""
        asked = self.question
        sizes = (*asked.theta, asked.margin, asked.level, asked.response, asked.lowest, asked.highest, asked.spread)
        sizes += (asked.move, self.most)
        if not all(abs(size) <= _LARGEST for size in sizes) or 0.0 < abs(asked.step) < _FINEST or not self.most > 0.0:
            raise InvalidInput(f"belief must be of numbers up to {_LARGEST:g}, and of steps above {_FINEST:g}")


class DeviceReport(msgspec.Struct, frozen=True):
    """All that leaves the device: as private by itself as `keep` says, whatever was asked."""

    about: int
    up: bool


class Device:
    """One customer's device. It trusts nobody: whatever belief it is handed, a report tells no more than `epsilon`.

    `reports` is how many it ever sends: each costs `epsilon`, so k of them tell k times as much. A quote gets one, and
    asked again for it the device says the same bit: a second draw would tell more.
    """

    def __init__(self, context: Sequence[float] = (), *, epsilon: float, reports: int = 1) -> None:
        self._context = tuple(context)
        self._keep = bits.keep_of(epsilon)
        self._left = reports
        self._said: dict[str, DeviceReport] = {}

    def __repr__(self) -> str:
        return "Device(<sensitive>)"

    def price(self, belief: Belief, quote: Quote) -> float:
        """What to show, and to charge: the quote's own price where the belief is not the one it names."""
        if not _asked(belief, quote):
            return quote.price
        return belief.till.amount(belief.till.charged(belief.question.price(self._context, float(quote.coin or 0))))

    def report(
        self, belief: Belief, quote: Quote, *, purchased: bool | None = None, quantity: float | None = None
    ) -> DeviceReport | None:
        """What to send once it is known whether the customer bought; None: nothing, whatever they did.

        The price that was shown is not needed: the report is about the price that the belief led to.
        """
        if (purchased is None) == (quantity is None):
            raise InvalidInput("a report needs either purchased or quantity")
        if quote.id in self._said:
            return self._said[quote.id]
        if belief.keep > self._keep:
            raise InvalidInput(
                f"belief.keep must be at most {self._keep!r} for the epsilon accepted, got {belief.keep!r}"
            )
        if quote.id is None or self._left < 1 or not _asked(belief, quote):
            return None
        demand = float(purchased if quantity is None else quantity) / belief.most  # type: ignore[arg-type]
        bit = bits.answer(belief.question, belief.keep, Record(self._context, float(quote.coin or 0), 0.0, demand))
        self._left -= 1
        self._said[quote.id] = DeviceReport(bit.about, bit.up)
        return self._said[quote.id]


def _asked(belief: Belief, quote: Quote) -> bool:
    """Does the quote ask by this belief? Not where the product is frozen, or the service has learned since."""
    return quote.coin in (-1, 1) and quote.belief == belief.mark and quote.product == belief.product
