"""A wish for another protocol is passed over: the request is answered, and so is what comes after it."""

from __future__ import annotations

import json

import pytest
from tests.service.http.hostile import answer, connect, readable
from tests.service.http.running import KEYS, Running, ask

JAVA = b"connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAEAAEAAAAIAAAABAAMAAABkAAQB\r\n"
WEBSOCKET = b"connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: x\r\n"
BODY = json.dumps(ask()).encode()
KEY = b"host: x\r\nauthorization: Bearer " + KEYS["shop"].encode() + b"\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"


def asked(wish: bytes, *, chunked: bool = False, body: bytes = BODY) -> bytes:
    head = b"POST /v1/quotes HTTP/1.1\r\n" + KEY + wish
    if chunked:
        half = len(body) // 2
        pieces = (body[:half], body[half:], b"")
        return head + b"transfer-encoding: chunked\r\n\r\n" + b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces)
    return head + b"content-length: %d\r\n\r\n" % len(body) + body


@pytest.mark.parametrize("wish", [b"", JAVA, WEBSOCKET], ids=["none", "java", "websocket"])
@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_a_quote_is_given_and_the_connection_goes_on(shared: Running, wish: bytes, chunked: bool, size: int) -> None:
    sent = asked(wish, chunked=chunked) + HEALTH + asked(wish, chunked=not chunked) + HEALTH
    with connect(shared.url) as connection:
        for start in range(0, len(sent), size):
            connection.sendall(sent[start : start + size])
        assert [answer(connection)[0] for _ in range(4)] == [201, 200, 201, 200]


def test_a_request_without_a_body_hides_none_behind_it(shared: Running) -> None:
    wished = HEALTH[:-2] + JAVA + b"\r\n"
    with connect(shared.url) as connection:
        connection.sendall(20 * wished + asked(JAVA))
        assert [answer(connection)[0] for _ in range(21)] == [200] * 20 + [201]
        assert not readable(connection)


def test_a_body_is_not_read_as_a_request(shared: Running) -> None:
    with connect(shared.url) as connection:
        connection.sendall(asked(JAVA, body=HEALTH) + HEALTH)
        assert [answer(connection)[0] for _ in range(2)] == [400, 200]
        assert not readable(connection)


def test_what_closes_the_connection_closes_it_still(shared: Running) -> None:
    for wish in (JAVA.replace(b"Upgrade,", b"Upgrade, close,"), JAVA + b"connection: close\r\n"):
        with connect(shared.url) as connection:
            connection.sendall(asked(wish))
            assert answer(connection)[0] == 201
            assert connection.recv(1) == b""


@pytest.mark.parametrize("framing", [b"content-length: 5\r\ncontent-length: 5\r\n", b"content-length: +5\r\n"])
def test_a_body_of_unclear_length_is_refused_still(shared: Running, framing: bytes) -> None:
    with connect(shared.url) as connection:
        connection.sendall(b"POST /v1/quotes HTTP/1.1\r\n" + KEY + JAVA + framing + b"\r\n" + HEALTH)
        assert answer(connection)[0] == 400
        assert connection.recv(1) == b""
