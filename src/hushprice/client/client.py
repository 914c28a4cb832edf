"""The client itself: quotes asked for once, outcomes sent until they are answered."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote as percent_encoded

from hushprice.client.answers import Ask, Attributes, BatchAnswer, BatchItem, Outcome, Quote, SlotRequest
from hushprice.client.calls import Calls, read, until_answered
from hushprice.client.device import Belief, DeviceReport
from hushprice.client.problems import Refused, ServiceAway
from hushprice.errors import InvalidInput

LARGEST_BATCH = 100  # quotes in one request; the service takes no more

_LOG = logging.getLogger(__name__)


class Client(Calls):
    """A shop's way to the service. Threads may share one; each has a connection of its own.

    `timeout` bounds one request in seconds. `reference_prices` are what a product costs while the service is away, in
    currency: the same number as the product's reference price there, so that customers see nothing odd.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        timeout: float = 1.0,
        outcome_deadline: float = 10.0,
        reference_prices: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(url, key, timeout)
        self._outcome_deadline = outcome_deadline
        self._reference_prices = dict(reference_prices or {})
        self._currencies: dict[str, str | None] = {}

    @classmethod
    def from_environment(cls, **settings: Any) -> Self:
        """A client of the service at HUSHPRICE_URL, with the key in HUSHPRICE_KEY."""
        missing = [name for name in ("HUSHPRICE_URL", "HUSHPRICE_KEY") if not os.environ.get(name)]
        if missing:
            raise InvalidInput(f"the environment lacks {' and '.join(missing)}")
        return cls(os.environ["HUSHPRICE_URL"], os.environ["HUSHPRICE_KEY"], **settings)

    def __repr__(self) -> str:
        return "Client(<key>)"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection."""
        self._connections.close()

    def quote(
        self,
        product: str,
        attributes: Attributes | None = None,
        *,
        context: Sequence[float] | None = None,
        customer: str | None = None,
        idempotency_key: str | None = None,
    ) -> Quote:
        """A price. Asked for once; the local reference price, with `fallback`, where the service does not answer.

        Without a reference price for the product, ServiceAway. With an `idempotency_key` you may ask again yourself:
        the service then gives the same quote.
        """
        return self._quote(product, Ask(product, attributes, context, customer), idempotency_key)

    def _quote(self, product: str, ask: Ask | SlotRequest, idempotency_key: str | None) -> Quote:
        extra = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        try:
            quote = read(self._send("POST", "/v1/quotes", ask, extra), Quote)
        except ServiceAway as away:
            return self._fallback(product, away)
        self._currencies[product] = quote.currency
        return quote

    def quote_for_device(
        self, product: str, *, customer: str | None = None, idempotency_key: str | None = None
    ) -> Quote:
        """A quote whose price the customer's `Device` makes (trust local); `quote` says what becomes of failures."""
        return self._quote(product, SlotRequest(product, customer), idempotency_key)

    def belief(self, product: str) -> Belief:
        """What devices are told; good until a quote names another mark."""
        return read(self._send("GET", f"/v1/products/{percent_encoded(product, safe='')}/belief"), Belief)

    def quotes(self, batch: Sequence[Ask]) -> list[Quote | Refused]:
        """Prices for many customers, in their order; what the service refused is an error in its place, not raised."""
        answers: list[Quote | Refused] = []
        for start in range(0, len(batch), LARGEST_BATCH):
            part = batch[start : start + LARGEST_BATCH]
            try:
                items = read(self._send("POST", "/v1/quotes/batch", {"quotes": part}), BatchAnswer).quotes
            except ServiceAway as away:
                answers += [self._fallback(ask.product, away) for ask in part]
            else:
                answers += [_of_batch(item) for item in items]
        return answers

    def outcome(self, quote: Quote | str, *, purchased: bool | None = None, quantity: float | None = None) -> Outcome:
        """Tell what became of a quote, again and again until it is heard or `outcome_deadline` seconds have passed.

        Then ServiceAway; telling it once more later is safe. The same outcome told before is a success, with `repeat`.
        Conflict: another outcome was told before. UnknownQuote: not a quote of this key.
        """
        if (purchased is None) == (quantity is None):
            raise InvalidInput("an outcome needs either purchased or quantity")
        if isinstance(quote, Quote) and quote.id is None:
            return Outcome("not told")
        return self._tell(quote, "outcome", {"purchased": purchased} if quantity is None else {"quantity": quantity})

    def send_report(self, quote: Quote, report: DeviceReport | None) -> Outcome:
        """Send what a customer's device says of a quote, as `outcome` tells outcomes; None is nothing to send."""
        return Outcome("not told") if report is None else self._tell(quote, "report", report)

    def _tell(self, quote: Quote | str, what: str, body: object) -> Outcome:
        name = quote if isinstance(quote, str) else str(quote.id)
        path = f"/v1/quotes/{percent_encoded(name, safe='')}/{what}"
        return read(until_answered(lambda: self._send("POST", path, body), self._outcome_deadline), Outcome)

    def _fallback(self, product: str, away: ServiceAway) -> Quote:
        if product not in self._reference_prices:
            raise away
        _LOG.warning("quoting the local reference price: %s", away)
        price = self._reference_prices[product]
        return Quote(product=product, price=price, currency=self._currencies.get(product), fallback=True)


def _of_batch(item: BatchItem) -> Quote | Refused:
    if item.error is not None:
        return Refused(item.error.message, status=422, code=item.error.code, field=item.error.field)
    return Quote(**{name: getattr(item, name) for name in BatchItem.__struct_fields__ if name != "error"})
