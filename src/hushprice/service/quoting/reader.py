"""The thread that reads: looks at the store twice a second, and answers questions that need it.

It has a connection of its own, so that a long report never holds up a quote.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from hushprice.service.quoting.product_table import POLL, ProductTable
from hushprice.service.store.protocol import QuoterStore, StoreUnavailable

log = logging.getLogger("hushprice.service")
Value = TypeVar("Value")
_AT_ONCE, _PAUSE = 4, 0.01  # products opened in one go, and seconds until the next


class Reader:
    """Belongs to one event loop; the thread alone uses the store."""

    def __init__(self, store: QuoterStore, product_table: ProductTable, every: float = POLL) -> None:
        self._store = store
        self._every = every
        self._product_table = product_table
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="hushprice-reader")
        self._task: asyncio.Task[None] | None = None
        self._opening: asyncio.Task[None] | None = None
        self.opened = asyncio.Event()  # all products of the first look: who needs all of them waits for it
        self.away = False

    async def call(self, work: Callable[[QuoterStore], Value]) -> Value:
        """Ask the store something."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, self._store)

    async def refresh(self) -> None:
        """Look at the store now."""
        await self.call(self._product_table.refresh)

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

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(self._every)
            try:
                await self.refresh()
                self.away = False
            except StoreUnavailable:
                self.away = True  # the writer says so in the log
            except Exception as problem:
                log.error("a look at the store failed: %s", type(problem).__name__)

    async def close(self) -> None:
        """End the thread after what it is doing."""
        for each in (self._task, self._opening):
            if each is not None:
                each.cancel()
        await self.call(lambda store: store.close())
        self._thread.shutdown()
