"""Price maps, drawn once for each release, by a thread that lets quotes go first.

A map is up to thousands of prices and anybody may ask for one, so it is kept until prices change, paid for by its size,
and drawn in small steps with pauses: the thread holds the interpreter for a fifth of the time at most.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import msgspec

from hushprice.service.quoting.price_maps import MapPlan, draw_map
from hushprice.service.quoting.priced_product import PricedProduct
from hushprice.service.shared import problems

KEPT = 256  # maps of all products; one has 15 kB at most, or 60 for long names
WAITING = 16  # maps that are asked for and not drawn yet
POINTS = 50  # prices that cost a token
_PAUSE = 4.0  # times as long as a row took


class MapCache:
    """Price maps as they were drawn, the last few of them; for one event loop."""

    def __init__(self) -> None:
        self._drawn: dict[tuple[object, ...], bytes] = {}
        self._drawing: dict[tuple[object, ...], asyncio.Future[bytes]] = {}
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="hushprice-maps")

    async def get(self, priced: PricedProduct, plan: MapPlan, charge: Callable[[int], None]) -> bytes:
        """The map as JSON. `charge` is called with what it costs, where it is not there yet."""
        key = (priced.serial, priced.personal, *plan.name)  # a freeze may come before its product is read anew
        known = self._drawn.pop(key, None)
        if known is not None:
            self._drawn[key] = known  # the newest again: the oldest leave first
            return known
        drawing = self._drawing.get(key)
        if drawing is None:
            if len(self._drawing) >= WAITING:
                raise problems.busy()
            charge(plan.points // POINTS)
            drawing = asyncio.get_running_loop().run_in_executor(self._thread, _drawn, priced, plan)
            self._drawing[key] = drawing
            drawing.add_done_callback(lambda done: self._keep(key, done))
        return await asyncio.shield(drawing)  # others may wait for it when this reader is gone

    def _keep(self, key: tuple[object, ...], done: asyncio.Future[bytes]) -> None:
        del self._drawing[key]
        if not done.cancelled() and done.exception() is None:
            self._drawn[key] = done.result()
            if len(self._drawn) > KEPT:
                del self._drawn[next(iter(self._drawn))]

    def close(self) -> None:
        """End the thread that draws; maps that wait are given up."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def _drawn(priced: PricedProduct, plan: MapPlan) -> bytes:
    return msgspec.json.encode(draw_map(priced, plan, lambda took: time.sleep(_PAUSE * took)))
