"""uvicorn, set up for this service: no access log, because paths and queries may say something about a customer."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn

from hushprice.service.http import descriptors
from hushprice.service.http.connections import Connections
from hushprice.service.http.limited_protocol import LimitedProtocol, check_version

FAREWELL = 5  # seconds that requests in progress have when the service ends
_LOOK = 1.0  # seconds between two looks at what is overdue


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are handled below; uvicorn's way would raise them again after the end."""
        yield


async def serve(
    application: Any,
    listening: socket.socket,
    *,
    started: Callable[[], None],
    stop: asyncio.Event,
    connections: Connections | None = None,
) -> None:
    """Serve until `stop` is set; `started` is called when requests are taken."""
    check_version()
    connections = connections or Connections()
    descriptors.fit(connections)
    config = uvicorn.Config(
        application,
        http=functools.partial(LimitedProtocol, connections),  # type: ignore[arg-type]
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,  # who reads without a key is looked up where it matters (peer.py), not at every quote
        server_header=False,
        timeout_graceful_shutdown=FAREWELL,
    )
    logging.getLogger("uvicorn.access").disabled = True  # whatever handlers somebody attaches to it
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # its warnings are of odd requests
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=[listening]))
    looking = asyncio.create_task(_look_at_all(server))
    while not server.started and not task.done():
        await asyncio.sleep(0.005)
    if not task.done():
        started()
        await asyncio.wait({task, asyncio.ensure_future(stop.wait())}, return_when=asyncio.FIRST_COMPLETED)
    server.should_exit = True
    await task
    looking.cancel()


async def _look_at_all(server: uvicorn.Server) -> None:
    while True:
        await asyncio.sleep(_LOOK)
        now = asyncio.get_running_loop().time()
        for each in list(server.server_state.connections):
            with contextlib.suppress(RuntimeError):  # it has just ended, and was not told so yet
                each.look(now)  # type: ignore[union-attr]


def keep_what_is_loaded() -> None:
    """Tell the collector that what is loaded stays: to look it through would stop all answers for 0.1 s."""
    gc.collect()
    gc.freeze()


def on_signals(stop: asyncio.Event) -> None:
    """End cleanly on Ctrl-C and on SIGTERM."""
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stop.set)
