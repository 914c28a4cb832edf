"""The thread that reads: looks at the store twice a second, and answers questions that need it.

It has a connection of its own, so that a long report never holds up a quote.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from hushprice.service.quoting.product_table import POLL, ProductTable
from hushprice.service.store.protocol import QuoterStore, StoreUnavailable

PATIENCE = 10.0  # seconds a question waits for its answer, and a look may be old
FAREWELL = 3.0  # seconds that the thread has to end

log = logging.getLogger("hushprice.service")
Value = TypeVar("Value")
_AT_ONCE, _PAUSE = 4, 0.01  # products opened in one go, and seconds until the next
_REST = 1.0  # times as long as planning a first batch took: quotes come first


class StoreReader:
    """Belongs to one event loop; the thread alone uses the store."""

    def __init__(self, store: QuoterStore, product_table: ProductTable, every: float = POLL) -> None:
        self._store = store
        self._every = every
        self._product_table = product_table
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="hushprice-reader")
        self._task: asyncio.Task[None] | None = None
        self._opening: asyncio.Task[None] | None = None
        self.opened = asyncio.Event()  # all products of the first look: who needs all of them waits for it
        self.planned = asyncio.Event()  # their first batches
        self._failed = False
        self._looked = time.monotonic()

    @property
    def away(self) -> bool:
        """Has the last look failed, or is it too long ago?"""
        return self._failed or self.age > PATIENCE

    @property
    def age(self) -> float:
        """Seconds since the last look that succeeded."""
        return time.monotonic() - self._looked

    async def call(self, work: Callable[[QuoterStore], Value]) -> Value:
        """Ask the store something. Who has waited long enough is answered, and asks no more if it has not begun."""
        try:
            return await asyncio.wait_for(self._ask(work), PATIENCE)
        except TimeoutError:
            raise StoreUnavailable("the store does not answer") from None

    def _ask(self, work: Callable[[QuoterStore], Value]) -> asyncio.Future[Value]:
        return asyncio.get_running_loop().run_in_executor(self._thread, work, self._store)

    async def refresh(self) -> None:
        """Look at the store now."""
        await self._ask(self._product_table.refresh)
        self._looked, self._failed = time.monotonic(), False

    async def catch_up(self) -> None:
        """Look at the store after a change that is stored: a connection that broke meanwhile is made anew."""
        try:
            await self.refresh()
        except StoreUnavailable:
            await self.refresh()

    async def start(self) -> None:
        """Look once, then again and again."""
        await self.refresh()
        self._task = asyncio.create_task(self._poll())
        self._opening = asyncio.create_task(self._open())

    async def _open(self) -> None:
        """Open the products that were found, a few at a time: quotes come first, and open their own."""
        try:
            while await self.call(lambda _: self._product_table.open_some(_AT_ONCE)):
                await asyncio.sleep(_PAUSE)
        except Exception as problem:
            log.error("products could not be opened: %s", type(problem).__name__)
        self.opened.set()
        try:
            while (took := await self.call(lambda _: self._product_table.plan_one())) is not None:
                await asyncio.sleep(_REST * took)
        except Exception as problem:
            log.error("first batches could not be planned: %s", type(problem).__name__)
        self.planned.set()

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(self._every)
            try:
                await self.refresh()
            except StoreUnavailable:
                self._failed = True  # the writer says so in the log
            except Exception as problem:
                log.error("a look at the store failed: %s", type(problem).__name__)

    async def close(self) -> bool:
        """End the thread after what it is doing; returns whether it ended in time."""
        for each in (self._task, self._opening):
            if each is not None:
                each.cancel()
        closed = self._thread.submit(self._store.close)
        self._thread.shutdown(wait=False)
        ended, _ = await asyncio.wait([asyncio.wrap_future(closed)], timeout=FAREWELL)
        if not ended:
            log.error("the store hangs: the service ends without an answer to what it asked last")
        return bool(ended)
