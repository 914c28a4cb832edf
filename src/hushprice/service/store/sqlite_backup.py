"""Copies of a SQLite store: taken while it is used, put back while it is not."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from hushprice.errors import InvalidInput
from hushprice.service.store import sqlite_file

_COMPANIONS = ("-wal", "-shm")  # of another file, they would be taken for this one's


def back_up(store: Path, to: Path) -> None:
    """Copy the store as it is at one moment, what is in its log included, to a new file for its owner alone."""
    if not store.is_file():
        raise InvalidInput(f"store: there is no file {str(store)!r}")
    _new_file(to)
    try:
        with (
            sqlite_file.explained(store),
            closing(sqlite3.connect(f"{store.absolute().as_uri()}?mode=ro", uri=True)) as source,
            closing(sqlite3.connect(to)) as target,
        ):
            source.backup(target)
            target.execute("PRAGMA journal_mode = DELETE")  # one file, whole by itself
        sqlite_file.check_undamaged(to)
        _flush(to)
    except BaseException:
        to.unlink(missing_ok=True)
        raise


def put_back(backup: Path, store: Path, *, replace: bool) -> None:
    """Put a copy in the store's place, as one step. Nobody may have the store open."""
    if not backup.is_file():
        raise InvalidInput(f"backup: there is no file {str(backup)!r}")
    sqlite_file.check_undamaged(backup)
    if not sqlite_file.identity_at(backup):
        raise InvalidInput(f"backup: {str(backup)!r} is no store")
    if store.exists() and not replace:
        raise InvalidInput(f"store: {str(store)!r} exists; say --replace, and what is in it is gone")
    beside = store.with_name(f"{store.name}.restoring")
    beside.unlink(missing_ok=True)
    _new_file(beside)
    try:
        shutil.copyfile(backup, beside)
        _flush(beside)
        for ending in _COMPANIONS:
            store.with_name(store.name + ending).unlink(missing_ok=True)
        os.replace(beside, store)
        _flush(store.parent)
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def _new_file(path: Path) -> None:
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    except OSError as problem:
        raise InvalidInput(f"file {str(path)!r} cannot be made: {problem.strerror}") from None


def _flush(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
