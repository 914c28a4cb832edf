"""The quoting process: prepares keys and files, warms up, and serves the public port."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import time
from collections.abc import Callable

import uvloop

from hushprice.errors import InvalidInput
from hushprice.service.http import server, sockets
from hushprice.service.http.app import Application
from hushprice.service.http.routes.table import CALLS
from hushprice.service.quoting import state
from hushprice.service.quoting.precompile import warm_up
from hushprice.service.quoting.product_table import Board
from hushprice.service.shared import setup
from hushprice.service.shared.config import Settings
from hushprice.service.shared.processes import LearnerProcess
from hushprice.service.shared.seen_releases import SeenFile
from hushprice.service.store import open_store
from hushprice.service.store.protocol import StoreUnavailable

_TELL = 1.0  # seconds between two words to the learner's process
_NOTICEABLE = 2.0  # seconds of compiling that are worth a line


def run(settings: Settings, say: Callable[[str], None]) -> None:
    """Serve until a signal ends it."""
    with contextlib.ExitStack() as sockets_open:
        public = sockets_open.enter_context(sockets.listen(settings.host, settings.port, "port"))
        operator = None
        if settings.role == "all":
            listening = sockets.listen(settings.host, settings.operator_port, "operator_port")
            operator = sockets_open.enter_context(listening)
        secret = setup.customer_secret(settings, say)
        seen = setup.quoters_seen_file(settings)
        if operator is not None:
            setup.report_seen(settings, seen.all())
        began = time.monotonic()
        warm_up()
        took = time.monotonic() - began
        if took > _NOTICEABLE:
            say(f"compiled the price search in {took:.0f} s; it is kept for the next start")
        logging.basicConfig(format="hushprice: %(message)s", level=logging.WARNING)
        try:
            uvloop.run(_serve(settings, public, operator, secret, seen, say))
        except StoreUnavailable as problem:
            raise InvalidInput(f"store: {problem}") from None


async def _serve(
    settings: Settings,
    public: socket.socket,
    operator: socket.socket | None,
    secret: bytes,
    seen: SeenFile,
    say: Callable[[str], None],
) -> None:
    stop = asyncio.Event()
    server.on_signals(stop)
    learner = None if operator is None else LearnerProcess(settings, operator)
    if learner is not None:
        learner.start()
    service = None
    try:
        service = await state.start(
            settings, lambda: open_store(settings.store.reveal(), "quoter"), secret, Board(seen)
        )
        service.learner = learner

        def started() -> None:
            urls = sockets.address(public)
            urls += "" if operator is None else f", for the operator {sockets.address(operator)}"
            say(f"serving {urls}; keys are in {setup.keys_file(settings)}")

        telling = asyncio.create_task(_tell(learner, service.board))
        await server.serve(Application(service, CALLS), public, started=started, stop=stop)
        telling.cancel()
    finally:
        if learner is not None:
            await learner.stop()
        if service is not None:
            await service.stop()


async def _tell(learner: LearnerProcess | None, board: Board) -> None:
    while learner is not None:
        await asyncio.sleep(_TELL)
        learner.tell(board.clipped())
