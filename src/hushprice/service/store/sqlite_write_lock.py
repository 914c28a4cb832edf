"""A fair lock between processes that write one SQLite file.

SQLite lets those who wait try again at intervals of their own, so a process that writes all the time keeps another out
for seconds. Here whoever waits for the database holds this lock, and who has just written must wait for the lock:
nobody writes twice while another waits. It is on a file of its own, and the kernel frees it when a process dies.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
import time
from pathlib import Path

from hushprice.service.store.protocol import StoreUnavailable

WAIT = 5.0  # seconds for another process that writes
_PAUSE = 0.0002


class WriteLock:
    """The lock of one connection, held only while that connection waits for the database."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = os.open(path.with_name(path.name + "-turn"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as problem:
            raise StoreUnavailable(f"the store {path} cannot be opened: {problem.strerror}") from None

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def begin(self, connection: sqlite3.Connection) -> None:
        """Return inside a transaction that may write, or raise sqlite3.OperationalError (SQLITE_BUSY)."""
        end = time.monotonic() + WAIT
        self._acquire(end)
        try:
            execute_retrying(connection, end, "BEGIN IMMEDIATE")
        finally:
            with contextlib.suppress(OSError):
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def _acquire(self, end: float) -> None:
        """Who has it is waiting for the database, so it will not have it for long.

        The lock is a courtesy: past the end, or on a disk that knows no such locks, go without.
        """
        while time.monotonic() <= end:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(_PAUSE)
            except OSError:
                return
            else:
                return


def execute_retrying(connection: sqlite3.Connection, end: float, *statements: str) -> None:
    """Run the statements until `end`, from the first one again where another process was in the way."""
    while True:
        try:
            for statement in statements:
                connection.execute(statement)
            return
        except sqlite3.OperationalError as problem:
            connection.rollback()
            if problem.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(_PAUSE)
