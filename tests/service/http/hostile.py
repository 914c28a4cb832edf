"""Clients that mean no good, or mean well and are slow: plain sockets."""

from __future__ import annotations

import json
import select
import socket
from itertools import chain, repeat
from typing import Any
from urllib.parse import urlsplit

from tests.service.http.running import KEYS, ask
from tests.waiting import PATIENCE

MEBIBYTE = 2**20


def connect(url: str) -> socket.socket:
    """A connection with small buffers: what is sent is soon the server's."""
    address = urlsplit(url)
    made = socket.socket()
    for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        made.setsockopt(socket.SOL_SOCKET, option, 65536)
    made.settimeout(PATIENCE)
    made.connect((address.hostname, address.port))
    return made


def wire(path: str = "/v1/quotes", body: Any = None, key: str = "shop") -> bytes:
    """A POST as bytes."""
    content = json.dumps(ask() if body is None else body).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {KEYS[key]}\r\ncontent-length: {len(content)}"
    return head.encode() + b"\r\n\r\n" + content


def answer(connection: socket.socket) -> tuple[int, Any]:
    """One answer: its status and what its JSON says."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        read = connection.recv(1)
        if not read:
            raise ConnectionError(f"the answer ended after {head!r}")
        head += read
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    body = b""
    while len(body) < length:
        body += connection.recv(length - len(body))
    return int(head.split()[1]), json.loads(body)


def exchange(connection: socket.socket, sent: bytes) -> tuple[int, Any]:
    connection.sendall(sent)
    return answer(connection)


def readable(connection: socket.socket) -> bool:
    """Has the server sent something?"""
    return bool(select.select([connection], [], [], 0)[0])


def ended(connection: socket.socket) -> bool:
    """Has the server closed it, with nothing left to read?"""
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True
    finally:
        connection.settimeout(PATIENCE)


def pour(connection: socket.socket, start: bytes, again: bytes, most: int, patience: float = 0.2) -> int:
    """Send `start`, and then `again` without end; returns how many bytes were taken, until none were for a while."""
    connection.settimeout(patience)
    taken = 0
    block = again * (65536 // len(again) + 1)
    try:
        for data in chain([start], repeat(block)):
            rest = data
            while rest:
                sent = connection.send(rest)
                taken += sent
                rest = rest[sent:]
            if taken > most:
                break
    except (TimeoutError, ConnectionError):
        pass
    connection.settimeout(PATIENCE)
    return taken
