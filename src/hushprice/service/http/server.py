"""uvicorn, set up for this service: no access log, because paths and queries may say something about a customer."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from hushprice.service.shared.problems import Complaint, ErrorBody

KEEP_ALIVE = 75  # seconds an idle connection is kept
FAREWELL = 5  # seconds that requests in progress have when the service ends


_NOT_HTTP = msgspec.json.encode(ErrorBody(Complaint("invalid_http", "this is no HTTP that can be read")))
_REFUSED = (
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b"
)


class _Protocol(HttpToolsProtocol):
    def send_400_response(self, msg: str) -> None:
        """What cannot be read is refused in the shape of every other refusal; uvicorn's way would be plain text."""
        self.transport.write(_REFUSED % (len(_NOT_HTTP), _NOT_HTTP))
        self.transport.close()


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are handled below; uvicorn's way would raise them again after the end."""
        yield


async def serve(
    application: Any, listening: socket.socket, *, started: Callable[[], None], stop: asyncio.Event
) -> None:
    """Serve until `stop` is set; `started` is called when requests are taken."""
    config = uvicorn.Config(
        application,
        http=_Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=FAREWELL,
    )
    logging.getLogger("uvicorn.access").disabled = True  # whatever handlers somebody attaches to it
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # its warnings are of odd requests
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started and not task.done():
        await asyncio.sleep(0.005)
    if not task.done():
        started()
        await asyncio.wait({task, asyncio.ensure_future(stop.wait())}, return_when=asyncio.FIRST_COMPLETED)
    server.should_exit = True
    await task


def on_signals(stop: asyncio.Event) -> None:
    """End cleanly on Ctrl-C and on SIGTERM."""
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stop.set)
