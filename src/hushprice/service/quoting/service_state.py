"""What the calls of one process share. Nothing here is a record: quotes leave by the writer and do not come back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from hushprice.service.http.answer_counts import AnswerCounts
from hushprice.service.http.connections import Connections, EdgeLimits
from hushprice.service.http.metrics import Latencies
from hushprice.service.http.visitor_queues import VisitorQueues
from hushprice.service.quoting.freezes import FreezeFile, Freezes
from hushprice.service.quoting.learner_process import LearnerProcess
from hushprice.service.quoting.learning_health import LearnerStatus
from hushprice.service.quoting.list_cache import ListCache
from hushprice.service.quoting.map_cache import MapCache
from hushprice.service.quoting.product_table import POLL, ProductTable
from hushprice.service.quoting.reader import StoreReader
from hushprice.service.quoting.recent_keys import RecentKeys
from hushprice.service.quoting.writer import Writer
from hushprice.service.shared.config import ServiceSettings
from hushprice.service.shared.rate_limits import Allowances
from hushprice.service.store.protocol import QuoterStore


@dataclass(slots=True)
class Service:
    """One process's side of the service, between start and stop."""

    settings: ServiceSettings
    customer_secret: bytes
    product_table: ProductTable
    reader: StoreReader
    writer: Writer
    allowances: Allowances
    latencies: Latencies
    connections: Connections
    freezes: Freezes
    answers: AnswerCounts = field(default_factory=AnswerCounts)
    recent: RecentKeys = field(default_factory=RecentKeys)
    maps: MapCache = field(default_factory=MapCache)
    lists: ListCache = field(default_factory=ListCache)
    visitor_queues: VisitorQueues = field(default_factory=VisitorQueues)
    alarms: Mapping[str, int] | None = None  # raised so far, by kind, where this process watches keys
    learner: LearnerProcess | None = None  # the child, where this process started one

    @property
    def learner_status(self) -> LearnerStatus:
        """How learning does. A child that failed holds its lease for some seconds more."""
        if self.learner is not None and not self.learner.running:
            return "stopped" if self.learner.stopped else "away"
        return self.product_table.learning.status if self.store_up else "away"

    @property
    def store_up(self) -> bool:
        """Does the store answer, and is all of it used?"""
        return not (self.writer.away or self.reader.away or self.product_table.unnoted)

    async def stop(self) -> bool:
        """Store what waits, and close the store; returns whether both threads ended in time."""
        self.maps.close()
        self.freezes.close()
        return all(await asyncio.gather(self.reader.close(), self.writer.close()))


async def start(
    settings: ServiceSettings,
    open_store: Callable[[], QuoterStore],
    customer_secret: bytes,
    product_table: ProductTable,
    *,
    quotes: bool = True,
) -> Service:
    """Open the store for reading, for quotes and for outcomes, and look at it once. `quotes`: does this one quote?"""
    writer = Writer(open_store(), open_store(), beats=quotes)
    reader = StoreReader(
        open_store(), product_table, POLL if quotes else 2 * POLL
    )  # no price waits for one that only shows
    await reader.start()
    freezes = Freezes(product_table, reader, writer, FreezeFile(product_table.freeze_file))
    if quotes:
        freezes.recover()
    return Service(
        settings,
        customer_secret,
        product_table,
        reader,
        writer,
        Allowances(settings.rate_per_second, customer_secret),
        Latencies(),
        Connections(EdgeLimits(connections=settings.connections)),
        freezes,
    )
