"""A store of the version before is brought up to date when it is opened, and keeps what it has."""

from __future__ import annotations

import sqlite3
from importlib import resources
from pathlib import Path

import psycopg

from hushprice.service.store import open_store, postgres_setup, sqlite_file
from hushprice.service.store.protocol import LearnerStore
from hushprice.service.store.values import ApiKey, NewQuote, StoredRelease

_OLD = "hushprice.service.store"


def test_a_sqlite_file_of_version_1(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(resources.files(_OLD).joinpath("sqlite_1.sql").read_text())
        connection.execute("INSERT INTO api_key VALUES ('web', 'shop', x'07')")
        connection.execute("INSERT INTO product (name, spec, rules, created) VALUES ('tea', x'7b7d', x'7b7d', 9.0)")
        connection.execute("INSERT INTO quote VALUES (1, 1, x'05', 'web', 0.5, 0, 1, 9.0, 3, 0" + ", NULL" * 7 + ")")
        connection.execute("UPDATE product SET slots = 1")
        connection.execute("INSERT INTO release VALUES (1, 1, 1, 'score', 5, 0, x'0102', x'7b7d', 10.0)")
        connection.execute(f"PRAGMA application_id = {sqlite_file.APPLICATION}")
        connection.execute("PRAGMA user_version = 1")
    connection.close()
    _check(str(path))


def test_a_postgres_database_of_version_1(bare_uri: str) -> None:
    with psycopg.connect(bare_uri, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA hushprice")
        connection.execute("CREATE TABLE hushprice.meta (version integer NOT NULL, functions text NOT NULL)")
        connection.execute("INSERT INTO hushprice.meta VALUES (1, '')")
        connection.execute(postgres_setup.script("postgres_1.sql").encode())
        # One of its functions, which a second one of the same name would make ambiguous.
        connection.execute(
            """CREATE FUNCTION hushprice.forget(who bytea) RETURNS void LANGUAGE sql AS $$ SELECT NULL::void $$"""
        )
        connection.execute("INSERT INTO hushprice.api_key VALUES ('web', 'shop', '\\x07')")
        connection.execute("INSERT INTO hushprice.product (name, spec, rules, created) VALUES ('tea', '{}', '{}', 9.0)")
        connection.execute(
            """INSERT INTO hushprice.quote SELECT id, 1, '\\x05', 'web', 0.5, false, true, 9.0, 3, 0
            FROM hushprice.product"""
        )
        connection.execute("UPDATE hushprice.product SET slots = 1")
        connection.execute(
            "INSERT INTO hushprice.release SELECT id, 1, 1, 'score', 5, 0, '\\x0102', '{}', 10.0 FROM hushprice.product"
        )
    _check(bare_uri)


def _check(uri: str) -> None:
    store = open_store(uri, "learner")
    assert store.api_keys() == [ApiKey("web", "shop", b"\x07")]
    assert store.releases("tea") == [StoredRelease("tea", 1, 1, "score", 5, 0, b"\x01\x02", b"{}", 10.0)]
    _keeps_propensities(store)
    store.forget(b"nobody", "me")
    assert [entry.actor for entry in store.trail()] == ["me"]
    store.close()


def _keeps_propensities(store: LearnerStore) -> None:
    """From now on; of quotes from before nobody knows them."""
    store.write([NewQuote("0" * 32, "tea", "web", b"", 0.5, "1", 9.0, 1, False, 9.0, None, propensity=0.5)], [])
    with store.snapshot() as rows:
        assert rows("SELECT slot, propensity FROM quote WHERE slot > ? ORDER BY slot", 0) == [(1, None), (2, 0.5)]
