"""Quotes and their outcomes: when each is learned, and that none is learned twice.

Slot n is fixed when quote n is given and is learned exactly when quote n + delay + 1 is issued. A missing outcome then
counts as no purchase. So what is learned when depends on slot numbers alone, and arrival times tell nothing.
"""

from __future__ import annotations

import hmac
import secrets
from collections import deque
from dataclasses import dataclass
from enum import Enum

import numpy as np

from hushprice import checks
from hushprice.errors import RepeatedOutcome, UnknownQuote
from hushprice.types import FloatArray

_OPEN, _OBSERVED, _MISSED, _LATE = range(4)


class Observation(Enum):
    """What became of an outcome."""

    RECORDED = "recorded"
    LATE = "late"  # its slot was already learned as no purchase; noted as late, its value is dropped
    NOT_LEARNED = "not learned"  # learning ended before its slot: at the horizon, or with the last estimate


@dataclass(slots=True, repr=False)
class Pending:
    """A slot that waits to be learned: its features, fixed with the price, and its outcome once there is one."""

    phi: FloatArray
    demand: float | None = None

    def __repr__(self) -> str:
        return "Pending(<sensitive>)"


class Slots:
    """The slots of one product. Ids are unguessable: the slot number and a keyed digest of it."""

    def __init__(self, *, horizon: int, delay: int) -> None:
        self.delay = delay
        self.last = max(0, horizon - delay - 1)  # the last slot that a quote within the horizon makes due
        self.key = secrets.token_bytes(32)
        self.count = 0
        self.learned = 0
        self.status = bytearray()
        self.pending: deque[Pending] = deque()  # slots learned + 1 to min(count, last)

    def due(self) -> tuple[FloatArray, float] | None:
        """Hand over the slot that the next quote makes due, once, however often that quote is tried."""
        if self.learned >= min(self.count - self.delay, self.last):
            return None
        due = self.pending.popleft()
        if due.demand is None:
            self.status[self.learned] = _MISSED
            due.demand = 0.0
        self.learned += 1
        return due.phi, due.demand

    def open(self, phi: FloatArray) -> str:
        """Give the next slot to a quote with these features; returns its id."""
        self.count += 1
        self.status.append(_OPEN)
        if self.count <= self.last:
            self.pending.append(Pending(phi))
        return self._id(self.count)

    def observe(self, quote_id: str, demand: float) -> Observation:
        """Take an outcome for a quote; an unknown or repeated id is refused and changes nothing. True is one sale."""
        slot = self._slot(quote_id)
        bought = float(demand) if isinstance(demand, (bool, np.bool_)) else demand
        checks.finite(demand=bought)
        status = self.status[slot - 1]
        if status in (_OBSERVED, _LATE):
            raise RepeatedOutcome(f"quote {quote_id!r} already has an outcome; nothing was changed")
        if status == _MISSED:
            self.status[slot - 1] = _LATE
            return Observation.LATE
        self.status[slot - 1] = _OBSERVED
        if slot > self.last:
            return Observation.NOT_LEARNED
        self.pending[slot - self.learned - 1].demand = float(bought)
        return Observation.RECORDED

    def close(self) -> None:
        """Learn no further slot, and forget what waited for it."""
        self.last = self.learned
        self.pending.clear()

    def _slot(self, quote_id: str) -> int:
        text = quote_id if isinstance(quote_id, str) else ""
        try:
            slot = int(text.partition("-")[0], 16)
        except ValueError:
            slot = 0
        expected = self._id(slot) if 1 <= slot <= self.count else ""
        if not (expected and hmac.compare_digest(text.encode(errors="replace"), expected.encode())):
            raise UnknownQuote(f"no quote has id {checks.shown(quote_id)}; nothing was changed")
        return slot

    def _id(self, slot: int) -> str:
        return f"{slot:x}-{hmac.digest(self.key, slot.to_bytes(8, 'big'), 'sha256').hex()[:32]}"

    def __repr__(self) -> str:
        return f"Slots(count={self.count}, <sensitive>)"
