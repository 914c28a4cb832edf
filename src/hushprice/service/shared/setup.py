"""What is there before the first request: the database, the keys, and files beside the store."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hushprice.errors import InvalidInput, first_line
from hushprice.service.shared import keys
from hushprice.service.shared.config import ServiceSettings
from hushprice.service.shared.seen_releases import NoteOwner, SeenReleasesFile
from hushprice.service.store import open_store, sqlite_file
from hushprice.service.store.protocol import LEASE, LearnerStore, QuoterStore, StoreUnavailable
from hushprice.service.store.values import SeenRelease

Say = Callable[[str], None]


def keys_file(settings: ServiceSettings) -> Path:
    """The path of the keys file."""
    return settings.beside_store(".keys.toml").resolve()


def beside(settings: ServiceSettings, ending: str) -> Path:
    """The path of a file beside the store; its folder must be there."""
    path = settings.beside_store(ending)
    if not path.parent.is_dir():
        raise InvalidInput(f"folder {str(path.parent)!r} does not exist")
    return path


def path_of_note(settings: ServiceSettings, identity: bytes) -> Path:
    """The path where this machine notes what it has seen of a store of this identity."""
    return settings.own_dir / f"seen-{hashlib.sha256(identity).hexdigest()[:32]}.json"


def seen_path(settings: ServiceSettings, store: QuoterStore) -> Path:
    """The path where this machine notes what it has seen of a store, by what a restored backup has too."""
    return path_of_note(settings, store.identity())


def seen_file(settings: ServiceSettings, store: QuoterStore, *, moved: bool = False) -> SeenReleasesFile:
    """The file at `seen_path`, claimed for this store, in a folder that is made where it is missing."""
    path = seen_path(settings, store)
    folder = path.parent
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as problem:
        raise InvalidInput(
            f"state_dir: folder {str(folder)!r} cannot be made: {first_line(problem)}; set another"
        ) from None
    file = SeenReleasesFile(path)
    file.claim(NoteOwner(store.identity().hex(), store.location()), (lambda _: False) if moved else store.is_at)
    return file


def quoters_seen_file(settings: ServiceSettings) -> SeenReleasesFile:
    """The file of seen releases, for a process that quotes and has not opened the store. It is begun if missing.

    A process that quotes draws nothing, so it may know nothing yet: a machine that joins has shown nothing.
    """
    try:
        store = open_store(settings.store.reveal(), "quoter")
        try:
            file = seen_file(settings, store)
            file.begin(whole=is_new(store))
            return file
        finally:
            store.close()
    except StoreUnavailable as problem:
        raise InvalidInput(f"store: {first_line(problem)}") from None


def prepare_learning(settings: ServiceSettings, *, accept_lost_notes: bool = False) -> None:
    """Refuse to learn where this machine should know what it has seen, and does not.

    docs/proofs/operation.md, section 9, says why a machine that only quotes, or that joins another learner, need not.
    """
    with opened(settings) as store:
        file = seen_file(settings, store)
        if not (file.whole or is_new(store) or (settings.postgres and _another_learns(store))):
            if not accept_lost_notes:
                raise InvalidInput(missing_note(settings, store))
            store.accept_lost_notes(time.time())
        file.begin(whole=True)


def check_undamaged(settings: ServiceSettings) -> None:
    """Refuse a SQLite file that is damaged, before anything is written to it. A PostgreSQL server looks after its own.

    Cheap enough for every start, so for every start after a crash.
    """
    path = Path(settings.store.reveal())
    if not settings.postgres and path.exists():
        try:
            sqlite_file.check_undamaged(path)
        except StoreUnavailable as problem:
            raise InvalidInput(f"store: {problem}") from None


_LOST = (
    "seen-file {} is missing, or was begun by a quoter, and the store has given quotes: if the store is an older "
    "backup, records would be released a second time unnoticed. Put the file back, or say --accept-lost-notes: the "
    "certificate then tells of one more history, with a larger epsilon"
)


def missing_note(settings: ServiceSettings, store: QuoterStore) -> str:
    """What is said where this machine should have a note and has none."""
    return _LOST.format(seen_path(settings, store))


def is_new(store: QuoterStore) -> bool:
    """Has the store given no quote yet? Then nobody can have seen anything of it."""
    return not any(product.slots for product in store.products())


def _another_learns(store: QuoterStore) -> bool:
    """Is a learner at work, which has a note of its own? One that was killed holds its lease a while: wait so long."""
    if not store.learner_alive(time.time()):
        return False
    time.sleep(LEASE + 0.5)
    return store.learner_alive(time.time())


def check_there(settings: ServiceSettings) -> None:
    """Refuse a SQLite file that is not there: a misspelt one would be made, and tell of a shop without a past."""
    if missing(settings):
        raise InvalidInput(f"store: there is no file {settings.store.reveal()!r}")


def missing(settings: ServiceSettings) -> bool:
    """Is the store a SQLite file that is not there?"""
    return not settings.postgres and not Path(settings.store.reveal()).is_file()


@contextmanager
def opened(settings: ServiceSettings) -> Iterator[LearnerStore]:
    """The store, with everything that may be done to it; a failure is one line."""
    try:
        store = open_store(settings.learner_address.reveal(), "learner")
        try:
            yield store
        finally:
            store.close()
    except StoreUnavailable as problem:
        raise InvalidInput(f"store: {first_line(problem)}") from None


def customer_secret(settings: ServiceSettings, say: Say) -> bytes:
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


def report_seen(settings: ServiceSettings, seen: Sequence[SeenRelease]) -> None:
    """Tell the store what this machine has priced by, before the learner starts.

    A store restored from an older backup would otherwise let it learn slots again, before it is told that they were.
    """
    if seen:
        with opened(settings) as store:
            store.report_seen(seen)


def prepare_database(settings: ServiceSettings, say: Say) -> None:
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
