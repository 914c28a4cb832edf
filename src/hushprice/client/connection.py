"""One kept connection a thread, one deadline a request, and no request sent twice."""

from __future__ import annotations

import contextlib
import http.client
import io
import os
import select
import socket
import threading
import time
import weakref
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from hushprice.client.problems import ServiceAway
from hushprice.errors import InvalidInput, first_line

LARGEST_ANSWER = 64 * 1024 * 1024


class HttpAnswer(NamedTuple):
    status: int
    body: bytes
    retry_after: float


class ThreadConnections:
    """Where the service is, and each thread's connection to it."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidInput(f"url must be http://... or https://..., got {url!r}")
        self._secure = parts.scheme == "https"
        self._host = parts.hostname
        self._port = parts.port
        self._path = parts.path.rstrip("/")
        self._own = threading.local()
        self._lock = threading.Lock()
        self._open: weakref.WeakSet[_ThreadConnection] = weakref.WeakSet()

    def send(
        self, method: str, path: str, *, body: bytes | None, headers: dict[str, str], timeout: float
    ) -> HttpAnswer:
        """One request, sent once. ServiceAway unless a whole answer came before `timeout`, connecting included."""
        deadline = time.monotonic() + timeout
        connection = self._connection()
        try:
            connection.timeout = timeout
            if connection.sock is not None:
                connection.sock.settimeout(timeout)
            connection.response_class = _until(deadline)
            connection.request(method, self._path + path, body=body, headers=headers)
            response = connection.getresponse()
            content = response.read(LARGEST_ANSWER)
            if not response.isclosed():
                raise http.client.HTTPException(f"an answer of more than {LARGEST_ANSWER} bytes")
            return HttpAnswer(response.status, content, _seconds(response.getheader("Retry-After")))
        except (OSError, http.client.HTTPException) as problem:
            connection.close()
            why = f"no answer within {timeout:g} s" if isinstance(problem, TimeoutError) else first_line(problem)
            raise ServiceAway(f"the pricing service did not answer: {why}") from problem
        except BaseException:
            connection.close()  # half a request or half an answer is on it
            raise

    def close(self) -> None:
        """Close the connections of all threads; the next request opens a new one."""
        with self._lock:
            open_now = list(self._open)
        for current in open_now:
            current.connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        current: _ThreadConnection | None = getattr(self._own, "current", None)
        if current is None or current.process != os.getpid():  # after a fork it is the parent's
            kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
            current = self._own.current = _ThreadConnection(kind(self._host, self._port))
            with self._lock:
                self._open.add(current)
        elif current.connection.sock is not None and _has_ended(current.connection.sock):
            current.connection.close()  # by the server, while idle; http.client opens a new one
        return current.connection


class _ThreadConnection:
    """A thread's connection; it goes with its thread."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self.connection = connection
        self.process = os.getpid()

    def __del__(self) -> None:
        self.connection.close()


def _has_ended(idle: socket.socket) -> bool:
    """Is there something to read before anything was asked? Then the server has hung up.

    Looking first is why an idle connection that a server closed costs no quote, although no quote is sent twice.
    """
    return bool(select.select([idle], [], [], 0)[0])


def _until(deadline: float) -> Any:
    """A response class that reads until `deadline`: a time-out of a socket alone starts again with every byte."""

    def response(sock: socket.socket, *arguments: Any, **options: Any) -> http.client.HTTPResponse:
        return http.client.HTTPResponse(_DeadlineReader(sock, deadline), *arguments, **options)  # type: ignore[arg-type]

    return response


class _DeadlineReader(io.RawIOBase):
    def __init__(self, sock: socket.socket, deadline: float) -> None:
        super().__init__()
        self._socket = sock
        self._raw = sock.makefile("rb", buffering=0)
        self._deadline = deadline

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        remaining = self._deadline - time.monotonic()
        if not remaining > 0:
            raise TimeoutError
        self._socket.settimeout(remaining)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


def _seconds(header: str | None) -> float:
    with contextlib.suppress(TypeError, ValueError):
        return max(0.0, float(header))  # type: ignore[arg-type]
    return 0.0
