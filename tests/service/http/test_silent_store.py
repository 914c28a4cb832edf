"""A service whose link to PostgreSQL falls silent: it goes on, keeps what it promised to keep, comes back, and ends."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.service.conftest import as_quoter
from tests.service.http.running import Running, running
from tests.service.http.test_serve import Served
from tests.service.http.test_store_in_trouble import slots, tell
from tests.service.silent_link import SilentLink, silent_link
from tests.waiting import eventually

from hushprice.service.quoting import reader, writer


@pytest.fixture
def link(postgres_uri: str) -> Iterator[SilentLink]:
    with silent_link(postgres_uri) as made:
        yield made


@contextlib.contextmanager
def served_over(link: SilentLink, store: str, folder: Path) -> Iterator[Running]:
    with running(store, folder, as_quoter(link.uri), patience=0.5) as made:
        made.create()
        eventually(lambda: made.quote()["recorded"])
        yield made


def test_quotes_go_on_within_a_bounded_buffer_and_are_stored_when_the_link_is_back(
    link: SilentLink,
    postgres_uri: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with served_over(link, postgres_uri, tmp_path) as server:
        monkeypatch.setattr(writer, "BUFFER", 4)
        before = server.quote()
        server.look()
        stored = slots(server)
        link.fall_silent()
        during = [server.quote() for _ in range(12)]
        assert [each["recorded"] for each in during] == [False] * 12
        assert server.service.writer.buffered == 4
        assert tell(server, before) == 503
        eventually(lambda: server.client().get("/readyz").status_code == 503)
        link.speak()
        eventually(lambda: tell(server, before) == 200)
        eventually(lambda: slots(server) == stored + 4)
        assert [tell(server, each) for each in during] == [200] * 4 + [404] * 8
        eventually(lambda: server.client().get("/readyz").status_code == 200)
        assert server.quote()["recorded"] is True
    for line in (
        "the store is away: no answer for 0.5 s",
        "PostgreSQL is silent: no answer for 1 s. The connection is given up",
        "4 quotes wait for the store: those beyond are not kept",
        "connected to PostgreSQL again",
        "the store is back",
        "8 quotes were not kept while too many waited for the store",
    ):
        assert line in caplog.messages


def test_a_service_whose_store_hangs_ends_in_time_and_says_what_it_lost(
    link: SilentLink,
    postgres_uri: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(writer, "FAREWELL", 0.3)
    monkeypatch.setattr(reader, "FAREWELL", 0.3)
    with served_over(link, postgres_uri, tmp_path) as server:
        link.fall_silent()
        monkeypatch.setattr("hushprice.service.store.postgres_connection.DEADLINE", 30.0)
        assert [server.quote()["recorded"] for _ in range(3)] == [False] * 3
    assert "the store hangs: the service ends with 3 quotes given and not stored" in caplog.messages


def test_sigterm_ends_both_processes_while_the_link_is_silent(
    link: SilentLink, postgres_uri: str, tmp_path: Path
) -> None:
    served = Served(tmp_path, HUSHPRICE_STORE=as_quoter(link.uri), HUSHPRICE_LEARNER_STORE=link.uri)
    try:
        eventually(lambda: served.public.get("/readyz/learning").status_code == 200)
        link.fall_silent()
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait() == 0
        assert "Traceback" not in served.log()
    finally:
        served.close()
