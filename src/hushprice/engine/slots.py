"""Quotes and their outcomes: when each is learned, and that none is learned twice.

Slot n is fixed when quote n is given and is learned exactly when quote n + delay + 1 is issued. A missing outcome then
counts as no purchase. So what is learned when depends on slot numbers alone, and arrival times tell nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets
from collections import deque
from dataclasses import dataclass
from enum import Enum

from hushprice.errors import InvalidInput, RepeatedOutcome, UnknownQuote
from hushprice.types import FloatArray

_OPEN, _OBSERVED, _CLOSED, _LATE = range(4)


class Observation(Enum):
    """What became of an outcome."""

    RECORDED = "recorded"
    LATE = "late"  # its slot was already learned as no purchase; logged, not learned
    NOT_LEARNED = "not learned"  # its quote came too near the horizon's end to be learned from


@dataclass(slots=True, repr=False)
class _Pending:
    context: FloatArray
    price: float
    demand: float | None = None


class Slots:
    """The slots of one product. Ids are unguessable: the slot number and a keyed digest of it."""

    def __init__(self, *, horizon: int, delay: int, key: bytes | None = None) -> None:
        self.horizon = horizon
        self.delay = delay
        self.key = key or secrets.token_bytes(32)
        self.count = 0
        self.status = bytearray()
        self._pending: deque[_Pending] = deque()

    def due(self) -> tuple[FloatArray, float, float] | None:
        """Close and hand over the slot that the next quote makes due: context, price, demand."""
        slot = self.count - self.delay
        if slot < 1 or self.count >= self.horizon:
            return None
        pending = self._pending.popleft()
        if pending.demand is None:
            self.status[slot - 1] = _CLOSED
            pending.demand = 0.0
        return pending.context, pending.price, pending.demand

    def open(self, context: FloatArray, price: float) -> str:
        """Give the next slot to a quote; returns its id."""
        self.count += 1
        self.status.append(_OPEN)
        if self._learnable(self.count):
            self._pending.append(_Pending(context.copy(), price))
        return f"{self.count:x}-{self._digest(self.count)}"

    def observe(self, quote_id: str, demand: float) -> Observation:
        """Take an outcome for a quote; an unknown or repeated id is refused and changes nothing."""
        slot = self._slot(quote_id)
        if not (isinstance(demand, (int, float)) and math.isfinite(demand)):
            raise InvalidInput(f"demand must be a finite number, got {demand!r}")
        status = self.status[slot - 1]
        if status in (_OBSERVED, _LATE):
            raise RepeatedOutcome(f"quote {quote_id!r} already has an outcome; nothing was changed")
        if status == _CLOSED:
            self.status[slot - 1] = _LATE
            return Observation.LATE
        self.status[slot - 1] = _OBSERVED
        if not self._learnable(slot):
            return Observation.NOT_LEARNED
        self._pending[slot - self._first_pending()].demand = float(demand)
        return Observation.RECORDED

    def _learnable(self, slot: int) -> bool:
        """Will some quote within the horizon make this slot due?"""
        return slot + self.delay + 1 <= self.horizon

    def _first_pending(self) -> int:
        last = min(self.count, self.horizon - self.delay - 1)
        return last - len(self._pending) + 1

    def _slot(self, quote_id: str) -> int:
        number, _, digest = str(quote_id).partition("-")
        try:
            slot = int(number, 16)
        except ValueError:
            slot = 0
        if not (1 <= slot <= self.count and hmac.compare_digest(digest.encode(), self._digest(slot).encode())):
            raise UnknownQuote(f"no quote has id {quote_id!r}; nothing was changed")
        return slot

    def _digest(self, slot: int) -> str:
        return hmac.new(self.key, slot.to_bytes(8, "big"), hashlib.sha256).hexdigest()[:32]

    def pending(self) -> list[tuple[FloatArray, float, float | None]]:
        """What must survive a restart."""
        return [(p.context, p.price, p.demand) for p in self._pending]

    def restore(self, count: int, status: bytes, pending: list[tuple[FloatArray, float, float | None]]) -> None:
        """Take up after `count` quotes."""
        self.count = count
        self.status = bytearray(status)
        self._pending = deque(_Pending(*entry) for entry in pending)

    def __repr__(self) -> str:
        return f"Slots(count={self.count}, <sensitive>)"
