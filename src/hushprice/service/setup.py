"""What is there before the first request: the database, the keys, and files beside the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hushprice.errors import InvalidInput, first_line
from hushprice.service import keys
from hushprice.service.config import Settings
from hushprice.service.store import open_store
from hushprice.service.store.protocol import LearnerStore, StoreUnavailable

Say = Callable[[str], None]


def keys_file(settings: Settings) -> Path:
    """Where the keys are."""
    return settings.beside_store(".keys.toml").resolve()


def beside(settings: Settings, ending: str) -> Path:
    """A file beside the store, in a folder that is there."""
    path = settings.beside_store(ending)
    if not path.parent.is_dir():
        raise InvalidInput(f"folder {str(path.parent)!r} does not exist")
    return path


@contextmanager
def opened(settings: Settings) -> Iterator[LearnerStore]:
    """The store, with everything that may be done to it; a failure is one line."""
    try:
        store = open_store(settings.learner_address.reveal(), "learner")
        try:
            yield store
        finally:
            store.close()
    except StoreUnavailable as problem:
        raise InvalidInput(f"store: {first_line(problem)}") from None


def customer_secret(settings: Settings, say: Say) -> bytes:
    """The secret for customer keys. On a first start all keys are made, which a quoter's role on PostgreSQL cannot."""
    file = beside(settings, ".keys.toml")
    if settings.postgres and settings.role == "quoter":
        if settings.customer_secret is None and not file.exists():
            raise InvalidInput(
                f"keys file {str(file)!r} is missing: copy it from where the service was first started, or set "
                "HUSHPRICE_CUSTOMER_SECRET to the secret in it"
            )
        return keys.read_secret(file, settings.customer_secret)
    with opened(settings) as store:
        first = keys.make_missing(file, store, settings.customer_secret)
    if first:
        say(f"made the keys of a new service: {keys_file(settings)}")
    return keys.read_secret(file, settings.customer_secret)


def prepare_database(settings: Settings, say: Say) -> None:
    """Tables, functions and roles of a PostgreSQL database, and the keys."""
    if not settings.postgres:
        raise InvalidInput("--init prepares a PostgreSQL database; a SQLite file needs no preparation")
    from hushprice.service.store import postgres_setup

    password = settings.quoter_password
    try:
        postgres_setup.prepare(settings.learner_address.reveal(), None if password is None else password.reveal())
    except StoreUnavailable as problem:
        raise InvalidInput(f"store: {first_line(problem)}") from None
    customer_secret(settings, say)
    say(f"the database is ready; quoters log in as {postgres_setup.QUOTER}, keys are in {keys_file(settings)}")
