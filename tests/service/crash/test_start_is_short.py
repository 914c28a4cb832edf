"""A start reads as much of a store with many quotes as of one with few. benchmarks/restart.py measures the seconds."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.service.conftest import as_quoter
from tests.service.crash.filled import NAME, fill

from hushprice.service.learning.loop import CHUNK, LearningLoop
from hushprice.service.quoting.product_table import ProductTable
from hushprice.service.shared.seen_releases import SeenReleasesFile
from hushprice.service.store import consistency as store_consistency
from hushprice.service.store import open_store
from hushprice.service.store.sqlite import SqliteStore
from hushprice.service.store.values import SeenRelease

FEW, MANY = 100, 20_000


def start(uri: str, folder: Path) -> None:
    """What both processes ask of a store until the first quote can be given."""
    quoter, learner = open_store(as_quoter(uri), "quoter"), open_store(uri, "learner")
    try:
        board = ProductTable(SeenReleasesFile(folder / "seen.json"))
        board.refresh(quoter)
        assert board.products[NAME].slots > 0
        quoter.beat(time.time())
        quoter.report_seen([SeenRelease(NAME, 0, 0)])
        LearningLoop(learner).turn()
    finally:
        quoter.close()
        learner.close()


class Watch:
    """What SQLite does, by every connection made meanwhile: steps of its machine, and statements."""

    def __init__(self) -> None:
        self.steps = 0
        self.statements: set[str] = set()

    def step(self) -> None:
        self.steps += 1

    @contextmanager
    def on(self) -> Iterator[None]:
        connect = sqlite3.connect

        def watched(*given: Any, **more: Any) -> sqlite3.Connection:
            connection = connect(*given, **more)
            connection.set_progress_handler(self.step, 1)
            connection.set_trace_callback(self.statements.add)
            return connection

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sqlite3, "connect", watched)
            yield

    def plans(self, uri: str) -> list[str]:
        asked = [each for each in self.statements if each.lstrip()[:6].upper() in ("SELECT", "UPDATE", "DELETE")]
        with contextlib.closing(sqlite3.connect(uri)) as connection:
            return [str(row[3]) for each in asked for row in connection.execute(f"EXPLAIN QUERY PLAN {each}")]


def watched_start(folder: Path, count: int, learned: bool) -> int:
    """Steps of a start; no statement goes through all quotes, which one step may do."""
    uri, watch = str(folder / f"{count}-{learned}.db"), Watch()
    fill(uri, count, learned=learned)
    with watch.on():
        start(uri, folder)
    assert not [plan for plan in watch.plans(uri) if plan.startswith(("SCAN quote", "SCAN record"))]
    return watch.steps


def check_start(folder: Path, learned: bool) -> None:
    few, many = (watched_start(folder, count, learned) for count in (FEW, MANY))
    assert 0 < many <= few + FEW


@pytest.mark.parametrize("learned", [True, False])
def test_a_start_on_sqlite_takes_the_same_steps_whatever_is_stored(tmp_path: Path, learned: bool) -> None:
    check_start(tmp_path, learned)


@pytest.mark.parametrize("slow", ["SELECT count(*) FROM quote", "SELECT slot FROM quote WHERE product = 1"])
def test_a_start_that_reads_every_quote_is_caught(slow: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = SqliteStore.products

    def products(self: SqliteStore, names: Any = None) -> Any:
        self._rows(slow)
        return real(self, names)

    monkeypatch.setattr(SqliteStore, "products", products)
    with pytest.raises(AssertionError):
        check_start(tmp_path, True)


@pytest.mark.parametrize("learned", [True, False])
def test_a_start_on_postgresql_reads_a_chunk_of_slots_at_most(postgres_uri: str, tmp_path: Path, learned: bool) -> None:
    fill(postgres_uri, MANY, learned=learned)
    before = rows_read(postgres_uri)
    start(postgres_uri, tmp_path)
    assert rows_read(postgres_uri) - before <= 2 * CHUNK + FEW


def rows_read(uri: str) -> int:
    """Of quotes and records, as PostgreSQL counts; a connection's counts are there once it is closed."""
    with psycopg.connect(uri, autocommit=True) as connection:
        while connection.execute(
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND backend_type = 'client backend'"
        ).fetchone():
            time.sleep(0.02)
        row = connection.execute(
            """SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_user_tables
            WHERE schemaname = 'hushprice' AND relname IN ('quote', 'record')"""
        ).fetchone()
    assert row is not None
    return int(row[0])


def test_the_filled_store_is_one_that_the_service_could_have_made(store_uri: str) -> None:
    fill(store_uri, FEW, learned=True)
    store = open_store(store_uri, "learner")
    assert store_consistency.problems(store) == []
    store.close()
