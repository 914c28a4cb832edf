"""A proxy on loopback between a client and PostgreSQL, which can fall silent as a dead link does: nothing is refused,
nothing is closed, and nothing comes through."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

import pytest

from hushprice.service.store import postgres_connection

HASTE = 1.0  # seconds that a statement waits while the link is silent: only then, as this machine may be slow


class SilentLink:
    """Forwards until `fall_silent`; `speak` lets new connections through, those from before stay dead."""

    def __init__(self, uri: str) -> None:
        parts = urlsplit(uri)
        query = parse_qs(parts.query)
        self._server = f"{query['host'][0]}/.s.PGSQL.5432"
        self._listening = socket.create_server(("127.0.0.1", 0))
        port = self._listening.getsockname()[1]
        query.update(host=["127.0.0.1"], port=[str(port)])
        self.uri = urlunsplit(parts._replace(query=urlencode(query, doseq=True)))
        self._forwards = threading.Event()
        self._forwards.set()
        self._haste = pytest.MonkeyPatch()
        self._sockets: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def fall_silent(self) -> None:
        """From now on nothing comes through, on these connections for good."""
        self._haste.setattr(postgres_connection, "DEADLINE", HASTE)
        self._forwards.clear()
        self._forwards = threading.Event()

    def speak(self) -> None:
        """Let connections made from now on through."""
        self._haste.undo()
        self._forwards.set()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                self._sockets.append(client)
                forwards = self._forwards
                if not forwards.is_set():
                    continue
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._server)
                self._sockets.append(server)
                for ends in ((client, server), (server, client)):
                    self._threads.append(threading.Thread(target=_pump, args=(*ends, forwards)))
                    self._threads[-1].start()

    def close(self) -> None:
        self._haste.undo()
        for each in (self._listening, *self._sockets):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join()


def _pump(source: socket.socket, target: socket.socket, forwards: threading.Event) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            if not forwards.is_set():
                return
            target.sendall(data)
        target.shutdown(socket.SHUT_RDWR)


@contextmanager
def silent_link(uri: str) -> Iterator[SilentLink]:
    link = SilentLink(uri)
    try:
        yield link
    finally:
        link.close()
