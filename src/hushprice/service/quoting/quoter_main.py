"""The quoting process: prepares keys and files, compiles, and serves the public port."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable
from typing import NamedTuple

import uvloop

from hushprice.errors import InvalidInput
from hushprice.service.http import server, sockets
from hushprice.service.http.app import Application
from hushprice.service.http.routes.table import CALLS
from hushprice.service.quoting import service_state
from hushprice.service.quoting.learner_process import LearnerProcess
from hushprice.service.quoting.precompile import precompile
from hushprice.service.quoting.product_table import ProductTable
from hushprice.service.shared import setup
from hushprice.service.shared.config import ServiceSettings
from hushprice.service.shared.process_exit import exit_at_once
from hushprice.service.shared.seen_releases import SeenReleasesFile
from hushprice.service.store import open_store
from hushprice.service.store.protocol import StoreUnavailable

_REPORT = 1.0  # seconds between two reports to the learner's process
_NOTICEABLE = 2.0  # seconds of compiling that are worth a line


def run(settings: ServiceSettings, say: Callable[[str], None], *, accept_lost_notes: bool = False) -> None:
    """Serve until a signal ends it."""
    with contextlib.ExitStack() as sockets_open:
        public = sockets_open.enter_context(sockets.listen(settings.host, settings.port, "port"))
        operator = None
        if settings.role == "all":
            listening = sockets.listen(settings.operator_host, settings.operator_port, "operator_port")
            operator = sockets_open.enter_context(listening)
        setup.check_undamaged(settings)
        secret = setup.customer_secret(settings, say)
        if operator is not None:
            setup.prepare_learning(settings, accept_lost_notes=accept_lost_notes)
        seen_file = setup.quoters_seen_file(settings)
        if operator is not None:
            setup.report_seen(settings, seen_file.all())
        began = time.monotonic()
        precompile()
        took = time.monotonic() - began
        if took > _NOTICEABLE:
            say(f"compiled the price search in {took:.0f} s; it is kept for the next start")
        server.keep_what_is_loaded()
        try:
            ended = uvloop.run(_serve(settings, Sockets(public, operator), secret, seen_file, say))
        except StoreUnavailable as problem:
            raise InvalidInput(f"store: {problem}") from None
        if not ended:
            exit_at_once()


class Sockets(NamedTuple):
    """What this process listens on; `operator` is for the learner's process, where this one starts it."""

    public: socket.socket
    operator: socket.socket | None


async def _serve(
    settings: ServiceSettings,
    listening: Sockets,
    secret: bytes,
    seen_file: SeenReleasesFile,
    say: Callable[[str], None],
) -> bool:
    """Returns whether everything that was started has ended."""
    public, operator = listening
    stop = asyncio.Event()
    server.on_signals(stop)
    learner = None if operator is None else LearnerProcess(settings, operator, stop)
    if learner is not None:
        learner.start()
    service = None
    try:
        service = await service_state.start(
            settings, lambda: open_store(settings.store.reveal(), "quoter"), secret, ProductTable(seen_file)
        )
        service.learner = learner

        def started() -> None:
            urls = sockets.address(public)
            urls += "" if operator is None else f", for the operator {sockets.address(operator)}"
            say(f"serving {urls}; keys are in {setup.keys_file(settings)}")

        reporting = asyncio.create_task(_report(learner, service))
        await server.serve(
            Application(service, CALLS), public, started=started, stop=stop, connections=service.connections
        )
        reporting.cancel()
    finally:  # at once, so that the end takes no longer than the longest of them
        ended = await asyncio.gather(*(each.stop() for each in (learner, service) if each is not None))
    return all(ended)


async def _report(learner: LearnerProcess | None, service: service_state.Service) -> None:
    while learner is not None:
        await asyncio.sleep(_REPORT)
        learner.report(service.product_table.clipped(), service.answers.of_records())
