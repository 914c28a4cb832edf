"""A shop whose product leaves prices and reports to its customers' devices."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from tests.service.cautious_runs import cautious_spec, priced
from tests.service.learning_runs import WINDOW, Shop

from hushprice.client.answers import Quote
from hushprice.client.device import Belief, Device
from hushprice.policies.cautious.pricing.quoter import coin_of
from hushprice.service.shared.device_state import asked_by
from hushprice.service.shared.quote_ids import uniform_of
from hushprice.service.store.values import UNPRICED, NewOutcome, NewQuote

LOCAL: dict[str, Any] = {"trust": "local", "holdout": 0.0, "epsilon": 4.0}


def local_spec(**changes: Any) -> bytes:
    return cautious_spec(**LOCAL | changes)


def belief_of(shop: Shop, product: str = "tea") -> Belief:
    """As a device reads it."""
    told = priced(shop, product).device_state
    assert told is not None
    return msgspec.json.decode(msgspec.json.encode(told), type=Belief)


def asked_quote(shop: Shop, belief: Belief, **more: Any) -> tuple[NewQuote, Quote]:
    """A quote for a device that has this belief: as the store has it, and as the shop does."""
    identity = secrets.token_hex(16)
    given: dict[str, Any] = {
        "id": identity,
        "product": "tea",
        "key": "web",
        "context": asked_by(belief.version),
        "price": UNPRICED,
        "charged": "10.00",
        "expires": shop.time + WINDOW,
        "version": belief.version,
        "holdout": False,
        "window": WINDOW,
        "cap": None,
    }
    coin = 1 if coin_of(uniform_of(bytes.fromhex(identity))) > 0.0 else -1
    quote = Quote(product="tea", price=10.0, id=identity, coin=coin, belief=belief.mark)
    return NewQuote(**given | more), quote


def serve_devices(shop: Shop, bought: Sequence[float], seed: int = 0, **more: Any) -> list[NewQuote]:
    """Customers who come at once, with a device each that reports; quotes are straight in the store."""
    chance, belief = np.random.default_rng(seed), belief_of(shop)
    quotes, told = [], []
    for demand in bought:
        stored, quote = asked_quote(shop, belief, **more)
        quotes.append(stored)
        device = Device(chance.uniform(-1.0, 1.0, belief.question.contexts).tolist(), epsilon=4.0)
        report = device.report(belief, quote, quantity=demand)
        assert report is not None
        told.append(NewOutcome(str(quote.id), "web", float(2 * report.about + report.up), report=True))
    shop.store.write(quotes, told)
    return quotes
