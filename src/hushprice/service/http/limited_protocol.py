"""uvicorn's HTTP protocol with limits: on heads, on pipelined requests, and on the time that everything may take.

It reaches into uvicorn, whose versions pyproject.toml bounds for that; other versions are refused at the start.
"""

from __future__ import annotations

import contextlib
import math
from typing import Any

import httptools
import uvicorn
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from hushprice.errors import InvalidInput
from hushprice.service.http import refusals
from hushprice.service.http.connections import Connections, Kind
from hushprice.service.http.refusals import Refusal
from hushprice.service.http.upgrades import without_upgrade

KNOWN = ((0, 50), (0, 54))  # uvicorn's oldest and newest version that this was tried with
LINGER = 2.0  # seconds for a refusal to be read; closing at once would throw it away with what was sent
_PIECE = 1024  # bytes parsed at a time: so few that not many requests can be in them


class _Refused(Exception):
    """Raised inside the parser to end its work on a refused request."""


class _PendingFlow(FlowControl):
    """Reading goes on only when nothing that was read still waits."""

    pending = False

    def resume_reading(self) -> None:
        if not self.pending:
            super().resume_reading()


class LimitedProtocol(HttpToolsProtocol):
    """One connection of uvicorn's, held to the limits of this service."""

    flow: _PendingFlow

    def __init__(self, everybody: Connections, **given: Any) -> None:
        super().__init__(**given)
        self._everybody = everybody
        self._limits = everybody.limits
        self.kind: Kind | None = None
        self.key = ""
        self._rest = b""  # read, and not parsed: an earlier request is being answered
        self._framing = 0  # bytes since the last that was a body's
        self._in_head = self._in_body = False
        self._tells = False  # of an outcome, in the last request with a key
        self._running: RequestResponseCycle | None = None  # while `cycle` is the last that was read
        self._deadline = math.inf
        self._unread_until = math.inf
        self._refusal: Refusal | None = None

    @property
    def answering(self) -> bool:
        """Is a request being answered? One whose body is still to come is not."""
        running = self._running
        if running is None or running.response_complete or self._unread_until < math.inf:
            return False
        if self._tells and self.kind is self._everybody.with_key:
            return False  # it would be kept for a purchase, and another one closed
        return not (self._in_body and running is self.cycle)

    def signed(self, key: str, *, tells: bool) -> bool:
        """This request came with a valid key; False where the key has too many connections."""
        self._tells = tells
        return self.transport.is_closing() or self._everybody.signed(self, key, tells=tells)

    # What the transport calls.

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.flow = _PendingFlow(transport)
        self._deadline = self.loop.time() + self._limits.head_seconds
        if not self._everybody.made(self):
            transport.write(refusals.FULL.answer())
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._everybody.lost(self)
        super().connection_lost(exc)
        self.pipeline.clear()
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True
        # No ring of references that keeps what was sent until the collector comes.
        self.cycle = self.scope = self._running = None  # type: ignore[assignment]
        self.headers, self._rest = [], b""

    def data_received(self, data: bytes) -> None:
        if len(data) <= _PIECE and not self.flow.pending:
            self._parse(data)
        else:
            self._rest += data
            self._go_on()

    def pause_writing(self) -> None:
        self._unread_until = self.loop.time() + self._limits.unread_seconds
        super().pause_writing()

    def resume_writing(self) -> None:
        self._unread_until = math.inf
        super().resume_writing()

    # What the parser calls.

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["connection"] = self  # type: ignore[typeddict-unknown-key]
        self._in_head = True
        self._wait(self._limits.head_seconds)

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > self._limits.target_bytes:
            raise self._refused(refusals.TARGET)

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(self.headers) >= self._limits.head_lines:
            raise self._refused(refusals.HEAD)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if self.parser.get_http_version() == "1.1" and [name for name, _ in self.headers].count(b"host") != 1:
            raise self._refused(refusals.NO_HOST)  # RFC 9112, 3.2: who takes it anyway may not see whom a proxy meant
        super().on_headers_complete()
        self._framing = 0
        self._in_head, self._in_body = False, True
        self._deadline = self.loop.time() + self._limits.body_seconds
        self.flow.pending = bool(self.pipeline)

    def on_body(self, body: bytes) -> None:
        self._framing = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return  # its body, if it has one, is still to come
        super().on_message_complete()
        self._framing = 0
        self._in_body = False
        self._deadline = math.inf
        if self.cycle.response_complete:
            self._wait(self._limits.idle_seconds)

    # What uvicorn calls.

    def on_response_complete(self) -> None:
        """Start the next request that waits; uvicorn's way would read on while some do."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            self._deadline = self.loop.time() + self._limits.unread_seconds
            return
        if self.pipeline and self.kind is self._everybody.strangers:
            self.loop.call_at(self._everybody.next_turn(self.loop.time()), self._start_next)
            return
        if self.pipeline:
            self._start_next()
            return
        if self._refusal is not None:
            self._send_refusal()
        elif not self._in_head and not self._in_body:
            self._wait(self._limits.idle_seconds)
        if self.flow.pending:
            self._go_on()
        else:
            self.flow.resume_reading()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running, self._tells = cycle, False
        super()._start_asgi_task(cycle, app)

    def _start_next(self) -> None:
        if self.pipeline and not self.transport.is_closing():
            self._start_asgi_task(*self.pipeline.pop())
            if not self.pipeline:
                self._go_on()

    def send_400_response(self, msg: str) -> None:
        """The parser gave up: on what is no HTTP, or because of a refusal of ours."""
        self._refuse(self._refusal or refusals.NOT_HTTP)

    # Ends.

    def look(self, now: float) -> None:
        """Once a second: is something overdue?"""
        if now >= self._unread_until:
            self._everybody.note(refusals.UNREAD, self.kind)
            self.transport.abort()
        elif now < self._deadline or (self.flow.pending and self._refusal is None):
            return  # what is held back waits for us
        elif self._refusal is not None or self.transport.is_closing():
            self.transport.abort()
        elif self._in_head:
            self._refuse(refusals.SLOW_HEAD)
        elif self._in_body:
            self._refuse(refusals.SLOW_BODY)
        else:
            self._end()

    def close_now(self) -> None:
        """End the connection now, to leave its place to another."""
        with contextlib.suppress(RuntimeError):  # it has just ended, and was not told so yet
            if (self._in_head or self._in_body) and self._refusal is None and not self._answers_due():
                self.transport.write(refusals.DISPLACED.answer())
            self._drop_request()
            self._end()

    def _wait(self, seconds: float) -> None:
        """Wait for the client, from now on; who has waited longer makes room first (with a key: see `signed`)."""
        self._deadline = self.loop.time() + seconds
        if self.kind is not None and self.kind is not self._everybody.with_key:
            self.kind.members.move_to_end(self)

    def _parse(self, data: bytes) -> None:
        self._framing += len(data)
        try:
            self._feed(data)
        except httptools.HttpParserError:
            self.send_400_response("")
        if self._framing > self._limits.head_bytes and self._refusal is None:
            self._refuse(refusals.HEAD)

    def _feed(self, data: bytes) -> None:
        while True:
            try:
                return self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                self.parser, head = without_upgrade(self.parser, self)
                data = head + data[upgrade.args[0] :]

    def _go_on(self) -> None:
        """Parse what was read, until a request has to wait for another."""
        rest, place, waited = self._rest, 0, self.flow.pending
        while place < len(rest) and not (self.pipeline or self._refusal or self.transport.is_closing()):
            self._parse(rest[place : place + _PIECE])
            place += _PIECE
        self._rest = rest[place:]
        self.flow.pending = bool(self._rest or self.pipeline or self._refusal)
        if self.flow.pending:
            self.flow.pause_reading()
            return
        if waited and (self._in_head or self._in_body):  # their time did not run meanwhile
            allowed = self._limits.head_seconds if self._in_head else self._limits.body_seconds
            self._deadline = self.loop.time() + allowed
        self.flow.resume_reading()

    def _refused(self, refusal: Refusal) -> _Refused:
        self._refusal = refusal
        return _Refused(refusal.code)

    def _refuse(self, refusal: Refusal) -> None:
        """Read no more, and say why once all earlier requests are answered."""
        self._everybody.note(refusal, self.kind)
        self._refusal = refusal
        self._rest = b""
        self.flow.pending = True
        self.flow.pause_reading()
        due = self._answers_due()
        self._drop_request()
        if not due:
            self._send_refusal()

    def _answers_due(self) -> bool:
        """Must something else be sent before a refusal of what is being read?"""
        if self.pipeline:
            return True
        unanswered = self.cycle is not None and not self.cycle.response_complete
        return unanswered and (self.cycle.response_started or not self._in_body)

    def _drop_request(self) -> None:
        """Forget the request whose body will not come."""
        if self._in_body and not self.cycle.response_started:
            if self.pipeline:
                self.pipeline.popleft()
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def _send_refusal(self) -> None:
        assert self._refusal is not None
        self._deadline = self.loop.time() + LINGER
        if not (self._in_body and self.cycle.response_complete):  # else it has its answer
            self.transport.write(self._refusal.answer())
        self.transport.write_eof()

    def _end(self) -> None:
        if self.transport.get_write_buffer_size():
            self.transport.abort()  # closing would wait for a client who does not read
        else:
            self.transport.close()


def check_version() -> None:
    """Refuse a uvicorn that this was not tried with."""
    found = tuple(int(part) for part in uvicorn.__version__.split(".")[:2])
    if not KNOWN[0] <= found <= KNOWN[1]:
        low, high = (".".join(map(str, each)) for each in KNOWN)
        raise InvalidInput(f"uvicorn {uvicorn.__version__} is not known to this service; it takes {low} to {high}")
