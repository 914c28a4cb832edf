"""What an operator does to a whole store: check it, copy it, put a copy back, say that it was moved."""

from __future__ import annotations

import time
from pathlib import Path

from hushprice.errors import InvalidInput, first_line
from hushprice.service.shared import setup
from hushprice.service.shared.config import ServiceSettings
from hushprice.service.shared.seen_releases import SeenReleasesFile
from hushprice.service.store import consistency, sqlite_backup, sqlite_file
from hushprice.service.store.protocol import StoreUnavailable


def check(settings: ServiceSettings) -> list[str]:
    """What is wrong with a store, a line each: its pages, its ledger against its releases, this machine's note."""
    setup.check_there(settings)
    if not settings.postgres:
        try:
            sqlite_file.check_undamaged(Path(settings.store.reveal()), thorough=True)
        except StoreUnavailable as problem:
            return [str(problem)]
    with setup.opened(settings) as store:
        file = SeenReleasesFile(setup.seen_path(settings, store))
        missing = [] if file.whole or setup.is_new(store) else [setup.missing_note(settings, store)]
        return [*consistency.problems(store, file.all()), *missing]


def back_up(settings: ServiceSettings, to: Path) -> None:
    """Copy a store while it is used."""
    try:
        if settings.postgres:
            from hushprice.service.store import postgres_backup

            postgres_backup.back_up(settings.learner_address.reveal(), to)
        else:
            sqlite_backup.back_up(Path(settings.store.reveal()), to)
    except StoreUnavailable as problem:
        raise InvalidInput(f"store: {first_line(problem)}") from None


def restore(settings: ServiceSettings, backup: Path, *, replace: bool, as_copy: bool) -> None:
    """Put a copy in a store's place; this machine's note stays, so that the service notices. Nobody may use the store.

    `as_copy`: the store goes on elsewhere, and what is put back becomes a store of its own.
    """
    try:
        if settings.postgres:
            from hushprice.service.store import postgres_backup

            postgres_backup.put_back(backup, settings.learner_address.reveal(), replace=replace)
        else:
            path = Path(settings.store.reveal())
            if path.exists():
                _check_unused(settings)
            sqlite_backup.put_back(backup, path, replace=replace)
    except StoreUnavailable as problem:
        raise InvalidInput(f"store: {first_line(problem)}") from None
    if as_copy:
        with setup.opened(settings) as store:
            store.become_copy(time.time())
            setup.seen_file(settings, store).begin(whole=True)


def moved(settings: ServiceSettings) -> None:
    """Say that a store has taken the place of the one that this machine's note is of."""
    setup.check_there(settings)
    with setup.opened(settings) as store:
        setup.seen_file(settings, store, moved=True)


def _check_unused(settings: ServiceSettings) -> None:
    """Refuse where a service has the store open: it would go on writing to what was replaced.

    A damaged one may say neither that it is open nor whose note to look at.
    """
    path = Path(settings.store.reveal())
    identity = sqlite_file.identity_at(path)
    if sqlite_file.is_open(path) or (identity and SeenReleasesFile(setup.path_of_note(settings, identity)).in_use):
        raise InvalidInput("store: a service has it open; stop it first")
