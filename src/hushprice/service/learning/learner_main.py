"""The learning process: learns under a lease, and serves the operator's port. Its side of the wall holds records."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable

import uvloop
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hushprice.errors import HushpriceError, InvalidInput
from hushprice.privacy.certificates import signing
from hushprice.service.http import server, sockets
from hushprice.service.http.app import Application
from hushprice.service.http.routes.table import READS
from hushprice.service.learning.activity import activity_call
from hushprice.service.learning.child import Parent
from hushprice.service.learning.key_watch import KeyWatch
from hushprice.service.learning.loop import LearningLoop
from hushprice.service.learning.operator_port import operator_calls
from hushprice.service.learning.precompile_learner import precompile_learner
from hushprice.service.learning.trail_call import TRAIL
from hushprice.service.quoting import service_state
from hushprice.service.quoting.product_table import ProductTable
from hushprice.service.shared import child_settings, logs, setup
from hushprice.service.shared.config import ServiceSettings
from hushprice.service.shared.process_exit import exit_at_once
from hushprice.service.store import open_store
from hushprice.service.store.protocol import LearnerStore, StoreUnavailable

log = logging.getLogger("hushprice.service")
_FAREWELL = 10.0  # seconds to end cleanly after the parent is gone
_FAREWELL_OF_LOOP = 3.0  # seconds for a chunk at hand: what is not stored by then is learned again


def run(settings: ServiceSettings, say: Callable[[str], None], *, accept_lost_notes: bool = False) -> None:
    """Learn until a signal ends it: role learner."""
    with sockets.listen(settings.operator_host, settings.operator_port, "operator_port") as listening:
        setup.customer_secret(settings, say)
        try:
            setup.prepare_learning(settings, accept_lost_notes=accept_lost_notes)
            _run(settings, listening, lambda: say(f"learning; for the operator {sockets.address(listening)}"))
        except StoreUnavailable as problem:
            raise InvalidInput(f"store: {problem}") from None


def _run(
    settings: ServiceSettings, listening: socket.socket, started: Callable[[], None], parent: Parent | None = None
) -> None:
    logs.set_up(settings.log_format, "learner")
    address, key = settings.learner_address.reveal(), _signing_key(settings)
    stopping = threading.Event()
    # By the quoter beside this process, where there is one.
    clipped, record_answers = ({}, {}) if parent is None else (parent.clipped, parent.record_answers)

    def opened() -> LearnerStore:
        return open_store(address, "learner")

    async def main() -> bool:
        """Returns whether everything that was started has ended."""
        stop = asyncio.Event()
        _end_when_told(stop, listening, parent)
        store = opened()
        seen_file = setup.seen_file(settings, store)
        store.report_seen(seen_file.all())  # before anything is learned
        learning = LearningLoop(store, signing_key=key)
        # It notes what it shows like a quoter: a release on the operator's page is seen as well.
        service = await service_state.start(settings, opened, b"", ProductTable(seen_file), quotes=False)
        watch = KeyWatch(service.product_table)
        service.alarms = watch.raised
        figures = (*operator_calls(learning, opened, clipped), activity_call(watch, record_answers))
        # Last: up to here no record is read, so that a store which is away ends this process and tells nothing.
        keys = threading.Thread(target=watch.run, args=(opened, stopping), name="hushprice-keys", daemon=True)
        thread = threading.Thread(target=_learn, args=(learning, stopping), name="hushprice-learner", daemon=True)
        keys.start()
        thread.start()
        try:
            application = Application(service, (*READS, *figures, TRAIL))
            await server.serve(application, listening, started=started, stop=stop, connections=service.connections)
        finally:
            stopping.set()
            joined = [asyncio.to_thread(each.join, _FAREWELL_OF_LOOP) for each in (thread, keys)]
            served, _ = await asyncio.gather(service.stop(), asyncio.gather(*joined))
        if thread.is_alive():
            log.error("the learner hangs: it ends without storing what it has not stored; nobody has seen that")
            return False
        store.close()
        return served and not keys.is_alive()

    if not uvloop.run(main()):
        exit_at_once()


def _signing_key(settings: ServiceSettings) -> Ed25519PrivateKey:
    """What certificates are signed with; made at the first start."""
    file = settings.beside_store(".signing.pem")
    if not file.exists():
        public = signing.new_key(file)
        log.info("certificates are signed with a new key: give %s to auditors", public)
    return signing.read_key(file)


def _end_when_told(stop: asyncio.Event, listening: socket.socket, parent: Parent | None) -> None:
    """Set `stop` at a signal, or where the parent says so or is gone."""
    if parent is None:
        server.on_signals(stop)
        return
    loop = asyncio.get_running_loop()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches both; the parent says when to end
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    parent.ended = _when_orphaned(loop, stop, listening)


def _learn(learning: LearningLoop, stopping: threading.Event) -> None:
    try:
        precompile_learner()  # before the lease is taken, which nobody renews while a compiler works
        learning.run(stopping)
    except BaseException as problem:  # what it says may come from a record
        log.error("the learner failed: %s", type(problem).__name__)
        os._exit(1)  # started again, it reads everything back


def _when_orphaned(
    loop: asyncio.AbstractEventLoop, stop: asyncio.Event, listening: socket.socket
) -> Callable[[], None]:
    """What ends this process when the one that started it is gone."""

    def ended() -> None:
        with contextlib.suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)  # the service may be about to start again, on the same port
        loop.call_soon_threadsafe(stop.set)
        threading.Event().wait(_FAREWELL)
        os._exit(1)

    return ended


def run_child(line: bytes, parent: Parent) -> None:
    """Learn as a child: settings came over the pipe, with the operator's socket."""
    child = child_settings.decode(line)
    assert child.listening is not None
    try:
        if child.again:
            setup.check_undamaged(child.settings)
        with socket.socket(fileno=child.listening) as listening:
            _run(child.settings, listening, lambda: None, parent)
    except StoreUnavailable as problem:
        log.error("store: %s", problem)
        sys.exit(child_settings.STORE_AWAY)
    except HushpriceError as problem:
        log.error("%s", problem)
        sys.exit(2)
    sys.stderr.flush()
    os._exit(0)  # everything is stored and closed; unloading compiled code would take another second
