"""The quoting process: prepares keys and files, warms up, and serves the public port."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Callable

import uvloop

from hushprice.errors import InvalidInput
from hushprice.service import server, setup, sockets, state
from hushprice.service.app import Application
from hushprice.service.board import Board
from hushprice.service.config import Settings
from hushprice.service.processes import LearnerProcess
from hushprice.service.routes.table import CALLS
from hushprice.service.seen import SeenFile
from hushprice.service.store import open_store
from hushprice.service.store.protocol import StoreUnavailable
from hushprice.service.warm import warm_up

_SWITCH = 0.0005  # seconds: the writer's thread must get its turn quickly


def run(settings: Settings, say: Callable[[str], None]) -> None:
    """Serve until a signal ends it."""
    public = sockets.listen(settings.host, settings.port, "port")
    operator = (
        sockets.listen(settings.host, settings.operator_port, "operator_port") if settings.role == "all" else None
    )
    secret = setup.customer_secret(settings, say)
    seen = SeenFile(setup.beside(settings, ".seen"))
    began = time.monotonic()
    warm_up()
    if time.monotonic() - began > 1.0:
        say(f"compiled the price search in {time.monotonic() - began:.0f} s (once for each version)")
    sys.setswitchinterval(_SWITCH)
    logging.basicConfig(format="hushprice: %(message)s", level=logging.WARNING)

    async def main() -> None:
        stop = asyncio.Event()
        server.on_signals(stop)
        board = Board(seen)
        learner = None if operator is None else LearnerProcess(settings, operator)
        if learner is not None:
            learner.start()
        service = await state.start(settings, lambda: open_store(settings.store.reveal(), "quoter"), secret, board)
        service.learner = learner

        def started() -> None:
            urls = sockets.address(public)
            urls += "" if operator is None else f", for the operator {sockets.address(operator)}"
            say(f"serving {urls}; keys are in {setup.keys_file(settings)}")

        try:
            await server.serve(Application(service, CALLS), public, started=started, stop=stop)
        finally:
            if learner is not None:
                await learner.stop()
            await service.stop()

    try:
        uvloop.run(main())
    except StoreUnavailable as problem:
        raise InvalidInput(f"store: {problem}") from None
