"""A PostgreSQL database made ready: schema `hushprice`, its functions, and the role of quoters."""

from __future__ import annotations

import hashlib
from importlib import resources
from typing import Any

import psycopg
from psycopg import sql

from hushprice.errors import InvalidInput
from hushprice.service.store.postgres_connection import DEADLINE, UPGRADE, BoundedConnection, PostgresConnection

VERSION = 4
QUOTER = "hushprice_quoter"
_LOCK = 0x68757369  # of those who prepare; not the clock's


def script(name: str) -> str:
    """The text of an SQL file of this package."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def prepare(uri: str, quoter_password: str | None = None) -> None:
    """Create or upgrade everything, and let quoters log in; as often as you like. Needs an owner who may create roles.

    Without a password a quoter can log in only where the server's own rules (pg_hba.conf) ask for none.
    """
    link = PostgresConnection(uri, "hushprice prepare")
    try:
        with link.transaction() as connection:
            _make_role(connection, quoter_password)
            bring_up(connection)
    finally:
        link.close()


def _make_role(connection: psycopg.Connection[Any], password: str | None) -> None:
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
    if not _has_role(connection):
        if not _may_make_roles(connection):
            raise InvalidInput(f"store: this role may not create roles; let an administrator create {QUOTER} first")
        # Roles are the whole server's: another database may be about to create the same.
        connection.execute(
            f"""DO $$ BEGIN CREATE ROLE {QUOTER} LOGIN NOINHERIT;
            EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$"""
        )
    if password is not None:
        # Encrypted here, so that the password is in no log of the server.
        secret = connection.pgconn.encrypt_password(password.encode(), QUOTER.encode(), b"scram-sha-256").decode()
        connection.execute(
            sql.SQL("ALTER ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(QUOTER), sql.Literal(secret))
        )


def _has_role(connection: psycopg.Connection[Any]) -> bool:
    return connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (QUOTER,)).fetchone() is not None


def _may_make_roles(connection: psycopg.Connection[Any]) -> bool:
    query = "SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user"
    row = connection.execute(query).fetchone()
    return row is not None and bool(row[0])


def bring_up(connection: BoundedConnection) -> None:
    """The schema at VERSION, its functions as they are in this program, and rights where there is a quoter's role."""
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
    functions, grants = script("postgres_functions.sql"), script("postgres_grants.sql")
    if not _has_role(connection) and _may_make_roles(connection):
        _make_role(connection, None)
    rights = _has_role(connection)
    wanted = (VERSION, hashlib.sha256(f"{functions}{grants}{rights}".encode()).hexdigest())
    stored = stored_version(connection)
    if stored == wanted:
        return
    version = 0 if stored is None else stored[0]
    check_version(version, at_least=0)
    allow_long(connection)
    if stored is None:
        create(connection, VERSION)
        version = VERSION
    _upgrade(connection, version, VERSION)
    connection.execute(functions.encode())
    if rights:
        connection.execute(grants.encode())
    connection.execute("UPDATE hushprice.meta SET version = %s, functions = %s", wanted)


def allow_long(connection: BoundedConnection) -> None:
    """More time until the commit: a large table is not read or changed within a moment."""
    connection.execute(f"SET LOCAL statement_timeout = '{UPGRADE:.0f}s'".encode())
    connection.deadline = UPGRADE + DEADLINE


def create(connection: psycopg.Connection[Any], version: int) -> None:
    """The tables as they were in this version; `bring_up` does the rest."""
    connection.execute("CREATE SCHEMA hushprice")
    connection.execute("CREATE TABLE hushprice.meta (version integer NOT NULL, functions text NOT NULL)")
    connection.execute("INSERT INTO hushprice.meta VALUES (%s, '')", (version,))
    _upgrade(connection, 0, version)


def _upgrade(connection: psycopg.Connection[Any], version: int, to: int) -> None:
    for number in range(version + 1, to + 1):
        connection.execute(script(f"postgres_{number}.sql").encode())


def stored_version(connection: psycopg.Connection[Any]) -> tuple[int, str] | None:
    """None where the database has no schema of ours."""
    if connection.execute("SELECT to_regnamespace('hushprice')").fetchone() == (None,):
        return None
    try:
        row = connection.execute("SELECT version, functions FROM hushprice.meta").fetchone()
    except psycopg.errors.UndefinedTable:
        raise InvalidInput("store: the database has a schema hushprice that is not this program's") from None
    return None if row is None else (row[0], row[1])


def check_version(version: int, at_least: int = VERSION) -> None:
    """Refuse a database of a version that this program does not know, or that is too old for who opens it."""
    if version > VERSION:
        raise InvalidInput(f"store: the database has version {version}, this program knows up to {VERSION}")
    if version < at_least:
        raise InvalidInput(f"store: the database has version {version}, needs {at_least}; start the learner first")


def check_ready(connection: psycopg.Connection[Any]) -> None:
    """Refuse a database that is not ready for a quoter, which may create nothing."""
    stored = stored_version(connection)
    if stored is None:
        raise InvalidInput("store: the database has no schema hushprice; start the learner first")
    check_version(stored[0])
