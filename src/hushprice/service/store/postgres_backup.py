"""Copies of a store on PostgreSQL by our own connection: all tables at one moment, in one zip file.

No program of PostgreSQL's is needed, and no other schema of the database is read or touched. pg_dump does as well.
"""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import psycopg
from psycopg import sql

from hushprice.errors import InvalidInput, first_line
from hushprice.service.store import postgres_setup
from hushprice.service.store.postgres_connection import PostgresConnection

_FORMAT = "hushprice store 1"
_ABOUT = "about.json"
_BLOCK = 1 << 20
# What others refer to comes first.
_TABLES = (
    *("clock", "lease", "identity", "api_key", "product", "change", "quote", "record", "used_cap", "release"),
    *("learner", "certificate", "certified", "seen", "tally", "key_use", "trail"),
)
_COUNTED = ("product", "change", "trail")  # rows of these are numbered by the database


class _About(msgspec.Struct, frozen=True):
    format: str
    version: int  # of the schema
    columns: dict[str, list[str]]


def back_up(uri: str, to: Path) -> None:
    """Copy the store as it is at one moment to a new file for its owner alone."""
    link = PostgresConnection(uri, "hushprice backup", postgres_setup.check_ready)
    try:
        file = os.open(to, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as problem:
        raise InvalidInput(f"file {str(to)!r} cannot be made: {problem.strerror}") from None
    try:
        with os.fdopen(file, "w+b") as opened, link.transaction() as connection:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            postgres_setup.allow_long(connection)
            _write(connection, opened)
            opened.flush()
            os.fsync(opened.fileno())
    except BaseException:
        to.unlink(missing_ok=True)
        raise
    finally:
        link.close()


def _write(connection: psycopg.Connection[Any], opened: Any) -> None:
    stored = postgres_setup.stored_version(connection)
    assert stored is not None
    columns = {table: _columns(connection, table) for table in _TABLES}
    with zipfile.ZipFile(opened, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(_ABOUT, msgspec.json.encode(_About(_FORMAT, stored[0], columns)))
        for table in _TABLES:
            with (
                archive.open(f"{table}.copy", "w", force_zip64=True) as entry,
                connection.cursor().copy(_copy(table, columns[table], "TO STDOUT (FORMAT binary)")) as rows,
            ):
                for block in rows:
                    entry.write(block)


def _columns(connection: psycopg.Connection[Any], table: str) -> list[str]:
    rows = connection.execute(
        """SELECT column_name FROM information_schema.columns WHERE table_schema = 'hushprice' AND table_name = %s
        ORDER BY ordinal_position""",
        (table,),
    )
    return [name for (name,) in rows]


def _copy(table: str, columns: list[str], direction: str) -> sql.Composed:
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    return sql.SQL("COPY {}.{} ({}) {}").format(
        sql.Identifier("hushprice"), sql.Identifier(table), names, sql.SQL(direction)
    )


def put_back(backup: Path, uri: str, *, replace: bool) -> None:
    """Put a copy into a database, in one transaction; what schema `hushprice` holds there is gone with `replace`."""
    try:
        with zipfile.ZipFile(backup) as archive:
            damaged = archive.testzip()
            about = msgspec.json.decode(archive.read(_ABOUT), type=_About)
            if damaged is not None or about.format != _FORMAT or set(about.columns) != set(_TABLES):
                raise InvalidInput(f"backup: {str(backup)!r} is damaged, or is no store")
            _put_back(archive, about, uri, replace)
    except (OSError, KeyError, zipfile.BadZipFile, msgspec.DecodeError) as problem:
        raise InvalidInput(f"backup: {str(backup)!r} cannot be read: {first_line(problem)}") from None


def _put_back(archive: zipfile.ZipFile, about: _About, uri: str, replace: bool) -> None:
    postgres_setup.check_version(about.version, at_least=1)
    link = PostgresConnection(uri, "hushprice restore")
    try:
        with link.transaction() as connection:
            postgres_setup.allow_long(connection)
            _check_alone(connection)
            if postgres_setup.stored_version(connection) is not None:
                if not replace:
                    raise InvalidInput("store: the database has a store; say --replace, and what is in it is gone")
                connection.execute("DROP SCHEMA hushprice CASCADE")
            postgres_setup.create(connection, about.version)
            for table in reversed(_TABLES):
                connection.execute(sql.SQL("DELETE FROM hushprice.{}").format(sql.Identifier(table)))
            for table in _TABLES:
                _load(connection, archive, table, about.columns[table])
            for table in _COUNTED:
                _count_on(connection, table)
            postgres_setup.bring_up(connection)
    finally:
        link.close()


def _count_on(connection: psycopg.Connection[Any], table: str) -> None:
    """Let the database number new rows after those that were put back."""
    query = "SELECT setval(pg_get_serial_sequence({}, 'id'), (SELECT coalesce(max(id), 0) + 1 FROM {}), false)"
    names = sql.Literal(f"hushprice.{table}"), sql.Identifier("hushprice", table)
    connection.execute(sql.SQL(query).format(*names))


def _load(connection: psycopg.Connection[Any], archive: zipfile.ZipFile, table: str, columns: list[str]) -> None:
    with (
        archive.open(f"{table}.copy") as entry,
        connection.cursor().copy(_copy(table, columns, "FROM STDIN (FORMAT binary)")) as rows,
    ):
        while block := entry.read(_BLOCK):
            rows.write(block)


def _check_alone(connection: psycopg.Connection[Any]) -> None:
    """Refuse while a quoter or a learner, on whatever machine, has the database open."""
    query = """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
        AND application_name LIKE 'hushprice%'"""
    row = connection.execute(query).fetchone()
    if row is not None and row[0]:
        raise InvalidInput(f"store: {row[0]} connections of the service are open; stop all quoters and learners first")
