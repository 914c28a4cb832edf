"""The HTTP edge: whoever sends without end, reads nothing, or stays for ever, quotes are answered meanwhile."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest
from tests.planted.planting import Bug, changed
from tests.service.http.hostile import MEBIBYTE, answer, connect, ended, exchange, pour, readable, wire
from tests.service.http.limit_worlds import PURCHASES, REPORTS, Sold
from tests.service.http.running import Running, ask, running
from tests.waiting import PATIENCE, eventually

from hushprice.errors import InvalidInput
from hushprice.service.http import limited_protocol, server
from hushprice.service.http.connections import Connections, EdgeLimits, Kind

HOUR = 3600.0
PATIENT = {"head_seconds": HOUR, "body_seconds": HOUR, "idle_seconds": HOUR, "unread_seconds": HOUR}
MOST = MEBIBYTE  # more than both sides' buffers hold
CHUNKED = b"POST /v1/quotes HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n"


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server that ends nothing for being slow, with ten places of each kind."""
    folder = tmp_path_factory.mktemp("calm")
    with running(str(folder / "shop.db"), folder, limits=EdgeLimits(connections=10, **PATIENT)) as made:
        made.create()
        yield made


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server that waits a second and no longer."""
    folder = tmp_path_factory.mktemp("hasty")
    limits = EdgeLimits(**dict.fromkeys(PATIENT, 1.0))
    with pytest.MonkeyPatch.context() as patch, running(str(folder / "shop.db"), folder, limits=limits) as made:
        patch.setattr(server, "_LOOK", 0.02)
        patch.setattr(limited_protocol, "LINGER", 0.1)
        made.create()
        yield made


class Counted:
    """How often connections met a limit since the test began, by reason."""

    def __init__(self, made: Running) -> None:
        self._made = made
        self._before = self._all()

    def __getitem__(self, why: str) -> int:
        return self._all()[why] - self._before[why]

    def _all(self) -> dict[str, int]:
        return dict(self._made.service.connections.ended)


def still_quotes(made: Running) -> None:
    """An honest shop is answered. Where the machine stalls, it may count as a slow one and come again."""

    def quoted() -> bool:
        with contextlib.suppress(httpx.TransportError):
            return made.client("shop").post("/v1/quotes", json=ask()).status_code == 201
        return False

    eventually(quoted)


@pytest.mark.parametrize(
    ("start", "again", "status", "code"),
    [
        (b"GET / HTTP/1.1\r\nx: ", b"a", 431, "head_too_large"),
        (b"GET / HTTP/1.1\r\n", b"x: a\r\n", 431, "head_too_large"),
        (b"GET / HTTP/1.1\r\n", b"x", 431, "head_too_large"),
        (b"GET /", b"a", 414, "target_too_long"),
        (b"", b"\r\n", 431, "head_too_large"),
        (CHUNKED + b"1;", b"a", 431, "head_too_large"),
        (CHUNKED + b"0\r\nx: ", b"a", 431, "head_too_large"),
        (CHUNKED + b"0\r\n", b"x: a\r\n", 431, "head_too_large"),
    ],
    ids=["value", "lines", "name", "target", "empty lines", "extension", "trailer", "trailers"],
)
def test_a_head_without_end_is_refused_and_hardly_read(
    calm: Running, start: bytes, again: bytes, status: int, code: str
) -> None:
    counted = Counted(calm)
    with connect(calm.url) as connection:
        assert pour(connection, start, again, 8 * MOST) < MOST
        calm.quote()
        if not start.startswith(b"POST"):  # which has its answer: it came without a key
            found, body = answer(connection)
            assert (found, body["error"]["code"]) == (status, code)
    assert counted[code] == 1


def test_a_head_of_the_largest_size_is_read(calm: Running) -> None:
    client = calm.client("shop")
    lines = {f"x-{n}": "v" * 300 for n in range(90)}
    assert client.post("/v1/quotes", json=ask(), headers=lines).status_code == 201
    assert client.get("/v1/products?x=" + "a" * 8000).status_code == 200


def test_pipelined_requests_that_nobody_reads_are_not_taken(calm: Running, caplog: pytest.LogCaptureFixture) -> None:
    strangers = calm.service.connections.strangers.members
    before = len(strangers)
    with ExitStack() as stack:
        opened = [stack.enter_context(connect(calm.url)) for _ in range(3)]
        taken = [pour(each, b"", b"GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n", 8 * MOST) for each in opened]
        assert max(taken) < MOST
        calm.quote()
    eventually(lambda: len(strangers) <= before)
    calm.quote()
    assert not caplog.text  # nobody fills the log by going away


def test_pipelined_requests_are_answered_all_and_in_order(calm: Running) -> None:
    count = 300
    with connect(calm.url) as connection:
        sent = b"".join(wire(body=ask(product="umbrella" if n % 3 else "none")) for n in range(count))
        connection.sendall(sent)
        assert [answer(connection)[0] for _ in range(count)] == [201 if n % 3 else 404 for n in range(count)]
        connection.sendall(wire() + b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n\r\n")
        assert [answer(connection)[0] for _ in range(2)] == [201, 414]
        eventually(lambda: ended(connection))


def test_idle_connections_beyond_the_limit_make_room_for_honest_ones(calm: Running) -> None:
    counted = Counted(calm)
    with ExitStack() as stack:
        honest = stack.enter_context(connect(calm.url))
        assert exchange(honest, wire())[0] == 201
        half = stack.enter_context(connect(calm.url))
        half.sendall(b"POST /v1/quotes HTTP/1.1\r\nhost:")
        eventually(lambda: any(each._in_head for each in list(calm.service.connections.strangers.members)))
        idle = [stack.enter_context(connect(calm.url)) for _ in range(40)]
        calm.quote()
        assert exchange(honest, wire())[0] == 201  # a connection with a key has a place of another kind
        assert answer(half)[1]["error"]["code"] == "displaced"
        eventually(lambda: sum(map(ended, idle)) >= 30)
        assert counted["displaced"] >= 31


def test_a_key_has_half_the_places_and_takes_none_of_anothers(calm: Running) -> None:
    with ExitStack() as stack:
        other = stack.enter_context(connect(calm.url))
        assert exchange(other, wire(key="other"))[0] == 201
        opened = []
        for _ in range(12):
            opened.append(stack.enter_context(connect(calm.url)))
            assert exchange(opened[-1], wire())[0] == 201
        eventually(lambda: [ended(each) for each in opened] == [True] * 7 + [False] * 5)
        assert exchange(other, wire(key="other"))[0] == 201


@pytest.mark.parametrize("sold", [PURCHASES, REPORTS], ids=["purchase", "report"])
def test_outcomes_take_no_place_from_a_quote(calm: Running, sold: Sold) -> None:
    calm.client("admin").post("/v1/products", json=sold.product)  # it may be there
    quoted = wire(body=sold.asked)

    def alive(told: int) -> list[bool]:
        """Quotes on five connections, which is all a key may have; outcomes on others; which of the five are left?"""
        time.sleep(0.5)  # by then the service knows of those that were closed before
        with ExitStack() as stack:
            quoting = [stack.enter_context(connect(calm.url)) for _ in range(5)]
            ids = [exchange(each, quoted)[1]["id"] for each in quoting]
            for n in range(told):
                telling = stack.enter_context(connect(calm.url))
                sent = wire(f"/v1/quotes/{ids[n % 5]}/{sold.call}", sold.told)
                assert exchange(telling, sent)[0] == 200
            return [not ended(each) and exchange(each, quoted)[0] == 201 for each in quoting]

    eventually(lambda: not calm.service.connections.strangers.members)  # who was refused stays for two seconds
    without = alive(0)  # whoever an earlier test left makes room
    counted = Counted(calm)
    assert without == alive(8) == [True] * 5
    assert counted["displaced"] == 0  # the outcomes' own are in the log alone


@pytest.mark.parametrize("sold", [PURCHASES, REPORTS], ids=["purchase", "report"])
def test_an_outcome_keeps_no_connection_open_in_the_place_of_anothers(calm: Running, sold: Sold) -> None:
    """A shop asks for quotes and tells outcomes on the same connections: which is closed is decided by quotes."""
    calm.client("admin").post("/v1/products", json=sold.product)  # it may be there
    quoted = wire(body=sold.asked)

    def alive(tells: bool) -> list[bool]:
        """Of five connections, which is all a key may have, the first two tell; a sixth takes the place of one."""
        with ExitStack() as stack:
            quoting = [stack.enter_context(connect(calm.url)) for _ in range(5)]
            ids = [exchange(each, quoted)[1]["id"] for each in quoting]
            for each, told in zip(quoting[: 2 * tells], ids, strict=False):
                assert exchange(each, wire(f"/v1/quotes/{told}/{sold.call}", sold.told))[0] == 200
            assert exchange(stack.enter_context(connect(calm.url)), quoted)[0] == 201
            eventually(lambda: any(map(ended, quoting)))
            return [not ended(each) for each in quoting]

    assert alive(False) == alive(True) == [False, True, True, True, True]


def test_an_outcome_being_answered_is_interrupted_where_its_connection_would_have_been_closed(calm: Running) -> None:
    """The same while the store takes its time over the outcome, which will be told again; a quote would be lost."""
    store = calm.service.writer._outcomes.store
    quoted, held, real = wire(), threading.Event(), store.write
    with ExitStack() as stack:
        quoting = [stack.enter_context(connect(calm.url)) for _ in range(5)]
        ids = [exchange(each, quoted)[1]["id"] for each in quoting]
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(store, "write", lambda *given: held.wait(PATIENCE) and real(*given))
        quoting[0].sendall(wire(f"/v1/quotes/{ids[0]}/outcome", {"purchased": True}))
        eventually(lambda: calm.service.writer._outcomes.since > 0.0)
        sixth = stack.enter_context(connect(calm.url))
        sixth.sendall(quoted)
        eventually(lambda: any(map(ended, quoting)))
        left = [not ended(each) for each in quoting]
        held.set()
        assert answer(sixth)[0] == 201
        assert left == [False, True, True, True, True]


OUTCOMES_AMONG_QUOTES = changed(
    Connections, "signed", lambda real: lambda self, place, key, tells: real(self, place, key, tells=False)
)
OUTCOMES_COUNTED = changed(Connections, "note", lambda real: lambda self, refusal, kind: real(self, refusal, None))


@pytest.mark.parametrize("bug", [OUTCOMES_AMONG_QUOTES, OUTCOMES_COUNTED], ids=["among quotes", "counted"])
def test_planted_bugs_in_the_places_are_caught(calm: Running, bug: Bug) -> None:
    with bug(), pytest.raises(AssertionError):
        test_outcomes_take_no_place_from_a_quote(calm, PURCHASES)


OUTCOMES_AS_GOOD_AS_QUOTES = changed(
    Connections,
    "signed",
    lambda real: (
        lambda self, place, key, tells: real(self, place, key, tells=tells and place.kind is not self.with_key)
    ),
)
OUTCOMES_ANSWERED = changed(
    limited_protocol.LimitedProtocol,
    "signed",
    lambda real: lambda self, key, tells: (real(self, key, tells=tells), setattr(self, "_tells", False))[0],
)


def test_planted_bugs_in_who_is_closed_are_caught(calm: Running) -> None:
    with OUTCOMES_AS_GOOD_AS_QUOTES(), pytest.raises(AssertionError):
        test_an_outcome_keeps_no_connection_open_in_the_place_of_anothers(calm, PURCHASES)
    with OUTCOMES_ANSWERED(), pytest.raises(AssertionError):
        test_an_outcome_being_answered_is_interrupted_where_its_connection_would_have_been_closed(calm)


def test_half_sent_heads_and_bodies_are_ended(hasty: Running) -> None:
    counted = Counted(hasty)
    with ExitStack() as stack:
        heads, bodies = [], []
        for kept, sent in ((heads, wire()[:30]), (bodies, wire()[:-1])) * 20:
            kept.append(stack.enter_context(connect(hasty.url)))
            kept[-1].sendall(sent)
        still_quotes(hasty)
        assert {answer(each)[1]["error"]["code"] for each in heads} == {"slow_head"}
        assert {answer(each)[1]["error"]["code"] for each in bodies} == {"slow_body"}
        eventually(lambda: all(map(ended, heads + bodies)))
    assert (counted["slow_head"], counted["slow_body"]) == (20, 20)


def test_a_body_that_drips_is_ended(hasty: Running) -> None:
    counted = Counted(hasty)
    head = wire().partition(b"content-length")[0] + b"content-length: 200000\r\n\r\n"

    with connect(hasty.url) as connection:
        connection.sendall(head)
        eventually(lambda: readable(connection) or connection.sendall(b" "))
        assert answer(connection)[1]["error"]["code"] == "slow_body"
    assert counted["slow_body"] == 1


def test_a_refused_request_whose_body_never_ends_is_ended_too(hasty: Running) -> None:
    with connect(hasty.url) as connection:
        assert exchange(connection, CHUNKED)[0] == 401
        eventually(lambda: ended(connection))


def test_answers_that_nobody_reads_end_the_connection(hasty: Running) -> None:
    counted = Counted(hasty)
    with connect(hasty.url) as connection:
        pour(connection, b"", b"GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n", 8 * MOST)
        eventually(lambda: counted["unread"] == 1)
        still_quotes(hasty)


def test_silent_connections_are_closed_without_a_word(hasty: Running, caplog: pytest.LogCaptureFixture) -> None:
    with connect(hasty.url) as fresh, connect(hasty.url) as kept:
        assert exchange(kept, wire())[0] == 201
        eventually(lambda: ended(fresh) and ended(kept))
    assert not caplog.text


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        (b"GET /" + b"canary" * 2000 + b" HTTP/1.1\r\n\r\n", 414, "target_too_long"),
        (b"canary canary\r\n\r\n", 400, "invalid_http"),
    ],
)
def test_a_limit_is_logged_once_a_minute_and_without_what_was_sent(
    sent: bytes, status: int, code: str, calm: Running, caplog: pytest.LogCaptureFixture
) -> None:
    calm.service.connections._said.clear()
    counted = Counted(calm)
    for _ in range(3):
        with connect(calm.url) as connection:
            assert exchange(connection, sent)[0] == status
    lines = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert lines == [f"connection ended: {code} (0 more since the last such line)"]
    assert counted[code] == 3


class Answering:
    """A connection that is being answered."""

    kind: Kind | None = None
    key = ""
    answering = True

    def close_now(self) -> None:
        raise AssertionError("its answer would be lost")


def test_where_all_are_being_answered_a_newcomer_is_refused_and_nobody_is_cut_off() -> None:
    everybody = Connections(EdgeLimits(connections=4))
    members = [Answering() for _ in range(4)]
    assert [everybody.made(each) for each in members] == [True] * 4
    late = Answering()
    assert not everybody.made(late)
    assert [everybody.signed(each, "shop", tells=False) for each in members] == [True, True, False, False]
    assert everybody.ended["too_many_connections"] == 3
    assert everybody.made(late)


def test_another_uvicorn_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    limited_protocol.check_version()
    monkeypatch.setattr("uvicorn.__version__", "0.99.0")
    with pytest.raises(InvalidInput, match=r"uvicorn 0\.99\.0"):
        limited_protocol.check_version()


def test_buffers_of_the_system_are_bounded(calm: Running) -> None:
    for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        with connect(calm.url) as connection:
            exchange(connection, wire())
            member = next(iter(calm.service.connections.with_key.members))
            found = member.transport.get_extra_info("socket").getsockopt(socket.SOL_SOCKET, option)  # type: ignore[attr-defined]
            assert found <= 256 * 1024
