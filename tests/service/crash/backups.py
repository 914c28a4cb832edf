"""Backups as an operator makes them: of a service that runs, by the database's own means."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Protocol

import psycopg
from tests.service.conftest import PostgresProcess, at_database


class Backup(Protocol):
    """Taken while the service runs, put back while it does not."""

    def take(self) -> None: ...
    def put_back(self) -> None: ...


class OfFile:
    """A SQLite file, whole, with what is in its log."""

    def __init__(self, path: Path, folder: Path) -> None:
        self._path, self._copy = path, folder / "backup.db"

    def take(self) -> None:
        source, target = sqlite3.connect(self._path), sqlite3.connect(self._copy)
        source.backup(target)
        source.close()
        target.close()

    def put_back(self) -> None:
        for ending in ("-wal", "-shm"):
            self._path.with_name(self._path.name + ending).unlink(missing_ok=True)
        self._path.write_bytes(self._copy.read_bytes())


class OfDatabase:
    """A database of PostgreSQL: pg_dump and pg_restore."""

    def __init__(self, process: PostgresProcess, name: str) -> None:
        self._process, self._name, self._dump = process, name, str(process.folder / "backup.dump")
        self.uri = at_database(process.uri, name)

    def take(self) -> None:
        self._process.run("pg_dump", "--format=custom", f"--file={self._dump}", f"--dbname={self.uri}")

    def put_back(self) -> None:
        with psycopg.connect(self._process.uri, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {self._name} WITH (FORCE)".encode())
            connection.execute(f"CREATE DATABASE {self._name}".encode())
        self._process.run("pg_restore", f"--dbname={self.uri}", self._dump)
