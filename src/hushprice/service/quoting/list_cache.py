"""Answers about all products, made once for what is in them: with a thousand products one takes as long as 100 quotes.

Anybody may ask for them. Who does not read on holds the same bytes as all others, and no copy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any

import msgspec

from hushprice.service.quoting.priced_product import PricedProduct

_state_of = attrgetter("serial", "slots", "frozen_here")  # what such an answer may depend on


class ListCache:
    """The last answer of each name; for one event loop."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[list[Any], asyncio.Future[bytes]]] = {}

    async def get(
        self, name: str, products: Iterable[PricedProduct], make: Callable[[list[PricedProduct]], object]
    ) -> bytes:
        """What `make` says of the products, as JSON."""
        listed = list(products)
        state = [_state_of(each) for each in listed]
        known, making = self._made.get(name, ([], None))
        if making is None or known != state or _failed(making):
            making = asyncio.ensure_future(asyncio.to_thread(lambda: msgspec.json.encode(make(listed))))
            self._made[name] = state, making
        return await asyncio.shield(making)  # others may wait for it when this reader is gone


def _failed(making: asyncio.Future[bytes]) -> bool:
    return making.done() and (making.cancelled() or making.exception() is not None)
