"""uvicorn, set up for this service: no access log, because paths and queries may say something about a customer."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn

KEEP_ALIVE = 75  # seconds an idle connection is kept
FAREWELL = 5  # seconds that requests in progress have when the service ends


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
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=FAREWELL,
    )
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
