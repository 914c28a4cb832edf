"""Freezes: taken by this process at once, whatever the store does, and written to the store when it is there.

Somebody who must stop personal prices cannot wait for a database. Until the store has the freeze it holds here alone,
and is kept in a file, so that a restart does not forget it. Other quoters learn of it from the store.
"""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path
from typing import NamedTuple

import msgspec

from hushprice.errors import InvalidInput, first_line
from hushprice.service.quoting.product_table import ProductTable
from hushprice.service.quoting.reader import StoreReader
from hushprice.service.quoting.writer import Writer
from hushprice.service.shared.durable_file import locked, replace_file
from hushprice.service.store.protocol import StoreUnavailable, UnknownProduct

log = logging.getLogger("hushprice.service")
RETRY = 1.0  # seconds between two tries to tell the store


class FreezeAsked(NamedTuple):
    """When a freeze was asked for, and by whom: the store lists it so, also when it hears of it later."""

    at: float  # wall-clock
    by: str


class FreezeFile:
    """Products that were frozen and that the store may not know of; processes may share the file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> dict[str, FreezeAsked]:
        """The freezes in the file, by product."""
        if not self._path.exists():
            return {}
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=dict[str, FreezeAsked])
        except (OSError, msgspec.DecodeError, UnicodeError) as problem:
            raise InvalidInput(f"file {str(self._path)!r} cannot be read: {first_line(problem)}") from None

    def set(self, name: str, freeze: FreezeAsked | None) -> None:
        """Write down one freeze, or with None that the store has it."""
        with locked(self._path):
            asked = {each: known for each, known in self.read().items() if each != name}
            replace_file(self._path, msgspec.json.encode(asked if freeze is None else asked | {name: freeze}))


class Freezes:
    """Freezes asked for while the store is away, brought to it later; for one event loop."""

    def __init__(self, product_table: ProductTable, reader: StoreReader, writer: Writer, file: FreezeFile) -> None:
        self._product_table, self._reader, self._writer, self._file = product_table, reader, writer, file
        self._asked: dict[str, FreezeAsked] = {}  # what the store may not know
        self._task: asyncio.Task[None] | None = None

    def recover(self) -> None:
        """Hold what was frozen before the last stop and never reached the store, and tell it."""
        self._asked = self._file.read()
        if self._asked:
            log.warning("frozen before the last stop: %s", ", ".join(self._asked))
            self._hold()
            self._start_telling()

    async def freeze(self, name: str, by: str) -> bool:
        """Freeze a product here, now; then tell the store. Returns whether that knows."""
        self._asked.setdefault(name, FreezeAsked(time.time(), by))
        self._hold()
        if await self._tell(name):
            return True
        self._note(name, self._asked[name])
        log.warning("product %s is frozen by this process alone: the store is away", name)
        self._start_telling()
        return False

    async def resume(self, name: str, by: str) -> None:
        """Personal prices again; StoreUnavailable, and as frozen as before, where the store cannot be told."""
        asked = self._asked.pop(name, None)  # so that nobody tells the store the opposite meanwhile
        try:
            await self._writer.call(lambda store: store.set_status(name, "open", time.time(), by))
        except StoreUnavailable:
            if asked is not None:
                self._asked[name] = asked
                self._start_telling()
            raise
        self._forget(name)

    def close(self) -> None:
        """Stop telling the store; what it has not heard is in the file."""
        if self._task is not None:
            self._task.cancel()

    def _hold(self) -> None:
        self._product_table.freeze_here(frozenset(self._asked))

    async def _tell(self, name: str) -> bool:
        asked = self._asked.get(name)
        if asked is None:  # resumed
            return True
        try:
            await self._writer.call(lambda store: store.set_status(name, "frozen", *asked))
            await self._reader.catch_up()
        except UnknownProduct:
            log.error("product %s was frozen here, and the store does not have it", name)
        except StoreUnavailable:
            return False
        self._forget(name)
        return True

    def _forget(self, name: str) -> None:
        """The store knows: what it says is followed from now on."""
        self._asked.pop(name, None)
        self._hold()
        if name in self._file.read():
            self._note(name, None)

    def _note(self, name: str, freeze: FreezeAsked | None) -> None:
        try:
            self._file.set(name, freeze)
        except OSError as problem:
            log.error("freezes that the store lacks cannot be noted: %s", first_line(problem))

    def _start_telling(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._keep_telling())

    async def _keep_telling(self) -> None:
        while self._asked:
            for name in list(self._asked):
                if await self._tell(name):
                    log.warning("the store knows that product %s is frozen", name)
            await asyncio.sleep(RETRY)
