"""Who is connected. Three kinds have places of their own, and whoever waits longest makes room for a newcomer.

Every connection begins as a stranger, and a valid key takes it to those with a key. One that has only told outcomes is
counted apart, so that telling of a purchase takes no place from a quote. Peers' addresses do not count: behind a proxy
all shops have the same one.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, OrderedDict
from dataclasses import dataclass
from typing import Protocol

from hushprice.service.http import refusals
from hushprice.service.http.refusals import Refusal

log = logging.getLogger("hushprice.service")
_TURN = 0.01  # seconds from one pipelined request without a key to the next, over all connections
_QUIET = 60.0  # seconds between two lines about the same thing


@dataclass(frozen=True, kw_only=True, slots=True)
class EdgeLimits:
    """What one process takes from the network."""

    connections: int = 1000  # of each kind; one key has half of them at most
    head_bytes: int = 32 * 1024  # of a request line and header lines; also of what frames a body's pieces
    head_lines: int = 100
    target_bytes: int = 8 * 1024  # of a path and query
    head_seconds: float = 10.0  # from the connection, or from a request's first byte
    body_seconds: float = 30.0  # from the head's end
    idle_seconds: float = 75.0  # between two requests
    unread_seconds: float = 30.0  # that answers wait for a client who does not read


class KnownConnection(Protocol):
    """A connection, as seen from here."""

    kind: Kind | None
    key: str

    @property
    def answering(self) -> bool:
        """Is a request being answered? Such a connection is left alone, unless it tells an outcome beside quotes."""

    def close_now(self) -> None:
        """End the connection now, to leave its place to another."""


class Kind:
    """Connections of one kind, those that wait longest first; with a key, since a request that told no outcome."""

    def __init__(self) -> None:
        self.members: OrderedDict[KnownConnection, None] = OrderedDict()
        self.by_key: Counter[str] = Counter()

    def longest_waiting(self, key: str | None = None) -> KnownConnection | None:
        """Who has waited longest, for a request's end or for the next one; of this key, where one is given."""
        return next((each for each in self.members if not each.answering and key in (None, each.key)), None)


class Connections:
    """All connections of a process."""

    def __init__(self, limits: EdgeLimits | None = None) -> None:
        self.limits = limits or EdgeLimits()
        self.places = self.limits.connections  # of each kind; fewer where the machine has fewer descriptors
        self.strangers, self.with_key, self.tellers = Kind(), Kind(), Kind()  # the last: outcomes alone
        self.ended: Counter[str] = Counter({each.code: 0 for each in refusals.ALL})
        self._turn = 0.0
        self._said: dict[str, tuple[float, int]] = {}  # when, and how many so far

    def made(self, connection: KnownConnection) -> bool:
        """A new connection; False where no place can be made for it."""
        return self._enter(self.strangers, connection, "")

    def signed(self, connection: KnownConnection, key: str, *, tells: bool) -> bool:
        """A request with a valid key. `tells`: of an outcome, which moves nobody but a stranger.

        Nor does it make its own connection one that has waited less: another's would be closed for that, with a quote.
        """
        if connection.kind is self.with_key and (tells or connection.key == key):
            if not tells:
                self.with_key.members.move_to_end(connection)
            return True
        if tells:
            return connection.kind is self.tellers or self._enter(self.tellers, connection, key)
        return self._enter(self.with_key, connection, key)

    def lost(self, connection: KnownConnection) -> None:
        """Take a connection that ended off the counts."""
        if connection.kind is not None:
            connection.kind.members.pop(connection, None)
            connection.kind.by_key[connection.key] -= 1
            if not connection.kind.by_key[connection.key]:
                del connection.kind.by_key[connection.key]
            connection.kind = None

    def _enter(self, kind: Kind, connection: KnownConnection, key: str) -> bool:
        self.lost(connection)
        of_key = bool(key) and kind.by_key[key] >= max(1, self.places // 2)
        if of_key or len(kind.members) >= self.places:
            last = kind.longest_waiting(key if of_key else None)
            if last is None:
                self.note(refusals.FULL, kind)
                return False
            self.note(refusals.DISPLACED, kind)
            self.lost(last)
            last.close_now()
        connection.kind, connection.key = kind, key
        kind.members[connection] = None
        kind.by_key[key] += 1
        return True

    def next_turn(self, now: float) -> float:
        """When the next pipelined request without a key may start: a key has a rate limit, and these have this."""
        self._turn = max(self._turn + _TURN, now)
        return self._turn

    def note(self, refusal: Refusal, kind: Kind | None) -> None:
        """Count, and say so at most once a minute. Those who only tell of outcomes are in the log alone:
        a figure that purchases move is a release that nobody paid for.
        """
        if kind is not self.tellers:
            self.ended[refusal.code] += 1
        when, count = self._said.get(refusal.code, (-_QUIET, 0))
        if time.monotonic() - when >= _QUIET:
            log.warning("connection ended: %s (%d more since the last such line)", refusal.code, count)
            when, count = time.monotonic(), -1
        self._said[refusal.code] = (when, count + 1)
