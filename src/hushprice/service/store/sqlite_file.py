"""A SQLite file: opened durably, created for its owner alone, recognized, and its failures said in one line."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib import resources
from pathlib import Path

from hushprice.errors import InvalidInput, first_line
from hushprice.service.store.protocol import StoreUnavailable, ValueRefused
from hushprice.service.store.sqlite_write_lock import WAIT

APPLICATION = 0x68757368  # "hush"
VERSION = 5
# Pages of the log that are worth moving to the file. Who moves them waits for the disk, so the learner does it, and a
# quoter only where nobody else did.
LEARNER_PAGES, QUOTER_PAGES = 1000, 16_000

_MEANINGS = {
    sqlite3.SQLITE_BUSY: "is locked by another process",
    sqlite3.SQLITE_LOCKED: "is locked by another process",
    sqlite3.SQLITE_READONLY: "is read-only",
    sqlite3.SQLITE_FULL: "cannot grow: the disk is full",
    sqlite3.SQLITE_CORRUPT: "is damaged; restore a backup",
    sqlite3.SQLITE_NOTADB: "is not a SQLite database",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened",
    sqlite3.SQLITE_IOERR: "cannot be read or written",
    sqlite3.SQLITE_PERM: "may not be opened by this user",
}


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn failures of the database into StoreUnavailable: one line, no record in it; integrity errors stay."""
    try:
        yield
    except sqlite3.IntegrityError:
        raise
    except (sqlite3.DataError, sqlite3.InterfaceError) as problem:  # of one request, and no outage for the others
        raise ValueRefused(f"the store {path} refused a value: {type(problem).__name__}") from None
    except sqlite3.Error as problem:
        code = getattr(problem, "sqlite_errorcode", 0) & 0xFF  # without the extension
        raise StoreUnavailable(f"the store {path} {_MEANINGS.get(code, 'failed: ' + first_line(problem))}") from None


def connect(path: Path, pages: int = LEARNER_PAGES) -> sqlite3.Connection:
    """Open the file, after creating it where there is none. InvalidInput where it is a file of something else."""
    with explained(path):
        _create(path)
        connection = sqlite3.connect(path, timeout=WAIT, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("BEGIN")  # one look: another process that starts now may be making it ours
            _recognize(connection, path)
            connection.execute("COMMIT")
            _log_ahead(connection)
            for setting in ("synchronous = FULL", "foreign_keys = ON", "secure_delete = ON"):
                connection.execute(f"PRAGMA {setting}")
            connection.execute(f"PRAGMA wal_autocheckpoint = {pages}")
            connection.execute("PRAGMA cache_size = -65536")  # enough for the index of random ids
            _migrate(connection, path)
            connection.execute("PRAGMA busy_timeout = 0")  # from here on, sqlite_write_lock.py waits
        except BaseException:
            connection.close()
            raise
        return connection


def check_undamaged(path: Path, *, thorough: bool = False) -> None:
    """Refuse a file whose pages do not fit together; SQLite itself says so only when it comes upon one of them.

    `thorough` also compares indexes with their tables, which takes several times as long.
    """
    with explained(path), closing(sqlite3.connect(path, timeout=WAIT)) as connection:
        try:
            _recognize(connection, path)
            found = connection.execute(f"PRAGMA {'integrity' if thorough else 'quick'}_check(1)").fetchone()[0]
        except sqlite3.DatabaseError as problem:
            if getattr(problem, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_CORRUPT:
                raise
            found = first_line(problem)
    if found != "ok":
        raise StoreUnavailable(f"the store {path} is damaged ({' '.join(found.split())}); restore a backup")


def identity_at(path: Path) -> bytes | None:
    """The identity of the store in a file; empty where there is no store, None where nobody can say."""
    if not path.is_file():
        return b""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            _recognize(connection, path)
            return bytes(connection.execute("SELECT id FROM identity").fetchone()[0])
    except InvalidInput:
        return b""
    except sqlite3.Error:
        return None


def number_of(path: Path) -> tuple[int, int] | None:
    """What tells the file at a path from every other; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def is_open(path: Path) -> bool:
    """Has somebody this database open? Whoever has it keeps others from having it alone."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=0.0)) as connection:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as problem:
        return getattr(problem, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
    return False


def _create(path: Path) -> None:
    """SQLite gives its two other files the permissions of this one.

    A file that exists is not opened: closing it would drop the locks of this process's other connections (POSIX), and
    the next program to close the database would then delete the log they are still writing to.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return
    except OSError as problem:
        raise StoreUnavailable(f"the store {path} cannot be opened: {problem.strerror}") from None


def _recognize(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse the file of another program, or of a newer version, before anything is changed in it."""
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        empty = connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone() is None
    except sqlite3.DatabaseError as problem:
        if getattr(problem, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_NOTADB:
            raise InvalidInput(f"store: {path} is not a SQLite database") from None
        raise
    if application != APPLICATION and not (empty and application == 0 and version == 0):
        raise InvalidInput(f"store: {path} is a database of another program")
    if version > VERSION:
        raise InvalidInput(f"store: {path} has version {version}, this program knows up to {VERSION}")


def _log_ahead(connection: sqlite3.Connection) -> None:
    """Write-ahead logging, tried again while another process that starts now changes the same: SQLite itself does not
    wait there, as two that waited for each other would wait forever.
    """
    until = time.monotonic() + WAIT
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as problem:
            if problem.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        time.sleep(0.01)


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the schema to VERSION, in one transaction; another process may be about to do the same."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        _recognize(connection, path)
        for number in range(version + 1, VERSION + 1):
            script = resources.files(__package__).joinpath(f"sqlite_{number}.sql").read_text(encoding="utf-8")
            for statement in statements(script):
                connection.execute(statement)
        if version < VERSION:
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("UPDATE clock SET one = 1")  # a file that is read-only should be told of at the start
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise


def statements(script: str) -> Iterator[str]:
    """The statements of a script one by one: `executescript` would commit in between.

    >>> list(statements("SELECT 1; -- one;\\nSELECT 2;"))
    ['SELECT 1; -- one;\\n', 'SELECT 2;']
    """
    start = ""
    for line in script.splitlines(keepends=True):
        start += line
        if sqlite3.complete_statement(start):
            yield start
            start = ""
