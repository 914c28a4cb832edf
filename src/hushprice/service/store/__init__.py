"""Where the service keeps everything: one SQLite file, or PostgreSQL for more than one machine."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, overload

from hushprice.errors import InvalidInput
from hushprice.service.store.protocol import LearnerStore, QuoterStore


@overload
def open_store(uri: str, role: Literal["learner"]) -> LearnerStore: ...
@overload
def open_store(uri: str, role: Literal["quoter"]) -> QuoterStore: ...
def open_store(uri: str, role: Literal["learner", "quoter"]) -> LearnerStore | QuoterStore:
    """The store at a file's path, or at postgresql://...; only a learner's creates tables in PostgreSQL."""
    if uri.startswith(("postgresql://", "postgres://")):
        if role == "learner":
            from hushprice.service.store.postgres_learner import PostgresLearnerStore

            return PostgresLearnerStore(uri)
        from hushprice.service.store.postgres import PostgresQuoterStore

        return PostgresQuoterStore(uri)
    if "://" in uri:
        raise InvalidInput("store: must be a file's path or postgresql://...")  # what it is instead may hold a password
    from hushprice.service.store.sqlite import SqliteStore
    from hushprice.service.store.sqlite_file import LEARNER_PAGES, QUOTER_PAGES

    return SqliteStore(Path(uri), QUOTER_PAGES if role == "quoter" else LEARNER_PAGES)
