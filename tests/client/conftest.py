"""A real server that misbehaves as told: it answers, waits, drips, or hangs up, and counts what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from hushprice.client import Client

QUOTE = {
    "id": "0" * 32,
    "product": "coffee",
    "price": 14.99,
    "currency": "EUR",
    "expires_at": "2030-01-01T00:00:00Z",
    "version": 3,
    "recorded": True,
    "a field of a later version": 1,
}

TOO_LONG = 60.0  # seconds


class Service(ThreadingHTTPServer):
    """Plays `script` one step a request, and its last step for ever."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[Any] = [(201, QUOTE)]
        self.asked: list[tuple[str, str, Any, dict[str, str]]] = []
        self.connections = 0
        self.closed = threading.Semaphore(0)  # connections that the server has ended
        self.over = threading.Event()  # the test is
        self.outwaited = False  # somebody stayed to the end of a step that is far too long

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        self.closed.release()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is part of the play."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Service

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_any(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.asked.append((self.command, self.path, json.loads(raw) if raw else None, dict(self.headers)))
        script = self.server.script
        step = script.pop(0) if len(script) > 1 else script[0]
        if callable(step):
            step(self)
        else:
            self.answer(*step)

    def answer(self, status: int, body: Any, **headers: str) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_any  # noqa: N815


def hang_up(handler: Handler) -> None:
    """Close without a word."""
    handler.close_connection = True


def answer_then_hang_up(handler: Handler) -> None:
    """A whole answer, and then the server closes its side without having said so."""
    handler.answer(201, QUOTE)
    handler.close_connection = True


def wait(handler: Handler) -> None:
    """Answer nothing for much too long."""
    handler.server.outwaited = not handler.server.over.wait(TOO_LONG)
    hang_up(handler)


def drip(handler: Handler) -> None:
    """A byte of a header every 20 ms, for much too long: no single wait is."""
    handler.close_connection = True
    handler.wfile.write(b"HTTP/1.1 201 Created\r\nX-Slow: ")
    for _ in range(int(TOO_LONG / 0.02)):
        if handler.server.over.wait(0.02):
            return
        handler.wfile.write(b".")
        handler.wfile.flush()
    handler.server.outwaited = True


@pytest.fixture
def play() -> dict[str, Callable[[Handler], None]]:
    return {"hang up": hang_up, "answer then hang up": answer_then_hang_up, "wait": wait, "drip": drip}


@pytest.fixture
def quote_body() -> dict[str, Any]:
    return QUOTE


@pytest.fixture
def service() -> Iterator[Service]:
    server = Service()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.over.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def client(service: Service) -> Iterator[Client]:
    """Patient: a busy machine is not a service that is away."""
    with Client(service.url, "a-key", timeout=60.0, outcome_deadline=600.0, reference_prices={"coffee": 12.5}) as made:
        yield made


@pytest.fixture
def hasty(service: Service) -> Iterator[Client]:
    """For services that never answer, or answer at once: on a busy machine that takes a while, too."""
    with Client(service.url, "a-key", timeout=2.0, outcome_deadline=600.0, reference_prices={"coffee": 12.5}) as made:
        yield made
