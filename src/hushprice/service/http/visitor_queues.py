"""Requests without a key wait in a queue, from all addresses together.

Every answer holds up the quotes that wait meanwhile. An address has a rate of its own (shared/rate_limits.py), but who
has many addresses would have as many rates. So there are only so many answers a second in all, spread evenly: a quote
waits for one of them at most, and a reader among very many waits, or comes again later.
"""

from __future__ import annotations

import asyncio
import math

A_SECOND = 250.0  # answers of one queue; such an answer takes about 0.3 ms
LONGEST = 5.0  # seconds that somebody waits for a turn; longer than all connections without a key need


class PacedQueue:
    """A queue of those who wait. Belongs to one event loop."""

    def __init__(self) -> None:
        self._last = -math.inf

    async def wait(self) -> float:
        """Wait for one's turn; returns 0, or the seconds that would be too long to wait, and then at once."""
        now = asyncio.get_running_loop().time()
        turn = max(self._last + 1.0 / A_SECOND, now)
        if turn - now > LONGEST:
            return turn - now
        self._last = turn
        if turn > now:
            await asyncio.sleep(turn - now)
        return 0.0


class VisitorQueues:
    """Three queues: health must be told while many read, and no record may keep a reader waiting."""

    def __init__(self) -> None:
        self.reads, self.health, self.of_records = PacedQueue(), PacedQueue(), PacedQueue()
