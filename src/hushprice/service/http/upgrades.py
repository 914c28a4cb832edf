"""Reading on after a request for another protocol: none is offered, so it is a request like any other.

The parser leaves such a request's body, and all that follows, to the other protocol. Java's own client asks for HTTP/2
this way at its first request, a quote too.
"""

from __future__ import annotations

from typing import Protocol

import httptools

_FRAMING = (b"content-length", b"transfer-encoding")


class ParserCallbacks(Protocol):
    """What a parser calls."""

    headers: list[tuple[bytes, bytes]]

    def on_message_begin(self) -> None: ...
    def on_url(self, url: bytes) -> None: ...
    def on_header(self, name: bytes, value: bytes) -> None: ...
    def on_headers_complete(self) -> None: ...
    def on_body(self, body: bytes) -> None: ...
    def on_message_complete(self) -> None: ...


class _AfterHead:
    """The callbacks of a connection that has this request's head already."""

    def __init__(self, callbacks: ParserCallbacks) -> None:
        self._callbacks = callbacks
        self._known = True
        self.on_body, self.on_message_complete = callbacks.on_body, callbacks.on_message_complete

    def on_message_begin(self) -> None:
        if not self._known:
            self._callbacks.on_message_begin()

    def on_url(self, url: bytes) -> None:
        if not self._known:
            self._callbacks.on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._known:
            self._callbacks.on_header(name, value)

    def on_headers_complete(self) -> None:
        if not self._known:
            self._callbacks.on_headers_complete()
        self._known = False


def without_upgrade(
    parser: httptools.HttpRequestParser, callbacks: ParserCallbacks
) -> tuple[httptools.HttpRequestParser, bytes]:
    """A parser to read on with, and what to feed it first: the same request's head, without its wish."""
    lines = [name + b": " + value for name, value in callbacks.headers if name in _FRAMING]
    if not parser.should_keep_alive():
        lines.append(b"connection: close")
    return httptools.HttpRequestParser(_AfterHead(callbacks)), b"\r\n".join((b"POST / HTTP/1.1", *lines, b"", b""))
