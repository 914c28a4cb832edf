"""Bugs that lose, double or leak something in a crash: each is caught by its check, which passes the sound service."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from tests.planted.planting import Bug, changed
from tests.service.crash import truth
from tests.service.http.running import running
from tests.service.learning_runs import WINDOW, Shop

from hushprice.service.quoting.product_table import ProductTable
from hushprice.service.quoting.writer import Writer
from hushprice.service.shared import seen_releases as seen_file
from hushprice.service.shared.seen_releases import SeenReleasesFile
from hushprice.service.store import consistency as store_consistency
from hushprice.service.store import sqlite_learner
from hushprice.service.store.protocol import StoreUnavailable
from hushprice.service.store.sqlite import SqliteStore
from hushprice.service.store.values import NewOutcome, NewQuote, OutcomeAnswer, QuoteAnswer, SeenRelease


class Planted(NamedTuple):
    name: str
    bug: Bug
    check: Callable[[Path], None]


# ---- checks ----------------------------------------------------------------------------------------------------------


def acknowledged_is_stored(folder: Path) -> None:
    """Whoever has an answer finds what it says in the file, at once: a crash may come at once, too."""
    with running(str(folder / "shop.db"), folder) as server:
        server.create()
        for _ in range(3):
            quote = server.quote()
            assert quote["id"] in {row.number for row in truth.quotes(server.store)}
            told = server.client("shop").post(f"/v1/quotes/{quote['id']}/outcome", json={"purchased": True})
            assert told.json()["status"] == "recorded"
            assert {row.number: row.demand for row in truth.quotes(server.store)}[quote["id"]] == 1.0


def _released(folder: Path) -> Shop:
    shop = Shop(folder)
    shop.serve(stop=14)
    shop.wait(WINDOW)
    return shop


def a_release_is_noted_before_it_is_used(folder: Path) -> None:
    """Where the note cannot be written, prices stay as they were; where it can, it outlives the process."""
    with contextlib.closing(_released(folder)) as shop:
        path = folder / "seen"
        board = ProductTable(SeenReleasesFile(path))
        board.refresh(shop.store)
        shop.learning().turn()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "replace", _full)
            board.refresh(shop.store)
            assert board.products["tea"].release is None
        board.refresh(shop.store)
        used = board.products["tea"].release
        assert used is not None
        noted = [(each.product, each.sequence, each.records) for each in SeenReleasesFile(path).all()]
        assert noted == [("tea", used.sequence, used.records)]


def _full(*_: Any) -> None:
    raise OSError("no space left")


def a_note_is_the_old_or_the_new_one(folder: Path) -> None:
    """Whatever step a crash hits; and when `note` returns it is on disk."""
    path, synced = folder / "seen", []
    SeenReleasesFile(path).note([SeenRelease("tea", 1, 12)])
    for step in ("fsync", "replace"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, step, _full)
            with contextlib.suppress(OSError):
                SeenReleasesFile(path).note([SeenRelease("tea", 2, 18)])
        assert SeenReleasesFile(path).all() == [SeenRelease("tea", 1, 12)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", synced.append)
        SeenReleasesFile(path).note([SeenRelease("tea", 2, 18)])
    assert len(synced) == 2  # the file, and the folder that has its name


def a_commit_is_all_or_nothing(folder: Path) -> None:
    """Interrupted after any number of steps, a commit of releases leaves what was there before."""
    with contextlib.closing(_released(folder)) as shop:
        store, steps = shop.store, 0
        for after in range(0, 10_000, 5):
            before = (store.releases("tea"), store.state("tea"))
            learning = shop.learning()
            _interrupt(store, "commit", after)
            learning.turn()
            store._connection.set_progress_handler(None, 0)
            store.drop_lease(learning.holder)
            assert store_consistency.problems(store) == []
            now = (store.releases("tea"), store.state("tea"))
            assert bool(now[0]) == bool(now[1])
            steps += now == before
            if now[0]:
                break
        assert steps > 5  # so many crashes came before the first whole commit
        assert store.releases("tea")


def a_write_is_all_or_nothing(folder: Path) -> None:
    """The same of quotes, at every step: no slot without its quote, and no second one for a quote that is told again
    because nobody heard of its commit."""
    with contextlib.closing(Shop(folder)) as shop:
        first, steps = shop.quote(0), 0
        for after in range(10_000):
            _interrupt(shop.store, None, after)
            with contextlib.suppress(StoreUnavailable):
                shop.quote(1, id="5" * 32)
                break
            shop.store._connection.set_progress_handler(None, 0)
            assert store_consistency.problems(shop.store) == []
            with contextlib.closing(sqlite3.connect(shop.path)) as other:
                stored = other.execute("SELECT count(*), count(demand), max(slot) FROM quote").fetchone()
            assert stored in ((1, 0, 1), (2, 0, 2))
            steps += stored[0] == 1
        shop.store._connection.set_progress_handler(None, 0)
        assert steps > 5
        assert shop.store.products()[0].slots == 2
        assert shop.tell(first, 1.0) == OutcomeAnswer("recorded")


def _interrupt(store: SqliteStore, within: str | None, after: int) -> None:
    """Stop the connection's work after so many steps, of `commit` alone or of whatever comes next."""

    def arm() -> None:
        steps = iter(range(after + 1))

        def step() -> int:
            """Once: undoing what was done takes steps, too."""
            return int(next(steps, None) == after)

        store._connection.set_progress_handler(step, 1)

    if within is None:
        arm()
        return
    real = getattr(SqliteStore, within)

    def armed(*given: Any) -> Any:
        arm()
        return real(store, *given)

    store.__dict__[within] = armed


# ---- bugs ------------------------------------------------------------------------------------------------------------


def _answers_first(real: Callable[..., Any]) -> Callable[..., Any]:
    def write(self: Writer, items: Sequence[NewQuote | NewOutcome]) -> Any:
        early = [
            QuoteAnswer(item.id, item.charged, item.expires, item.version, True)
            if isinstance(item, NewQuote)
            else OutcomeAnswer("recorded")
            for item in items
        ]
        self._answer(self._at_store, early)
        while not self._stopping:  # however slow the machine, whoever looks now finds nothing
            time.sleep(0.01)
        return real(self, items)

    return write


def _used_before_noted(real: Callable[..., Any]) -> Callable[..., Any]:
    def note(self: ProductTable, store: Any, products: Any) -> Any:
        self.products = products
        return real(self, store, products)

    return note


def _state_apart(real: Callable[..., Any]) -> Callable[..., Any]:
    def commit(connection: Any, holder: str, state: Any, releases: Any, tally: Any) -> None:
        real(connection, holder, state, releases, tally)
        row = connection.execute("SELECT * FROM learner").fetchone()
        connection.execute("DELETE FROM learner")
        connection.execute("COMMIT")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO learner VALUES (?, ?, ?, ?, ?, ?)", row)

    return commit


PLANTED = [
    Planted("an answer before the commit", changed(Writer, "_write", _answers_first), acknowledged_is_stored),
    Planted(
        "a release used before it is noted",
        changed(ProductTable, "note", _used_before_noted),
        a_release_is_noted_before_it_is_used,
    ),
    Planted(
        "a release used although it could not be noted",
        changed(ProductTable, "_without_new_release", lambda real: lambda self, held: held),
        a_release_is_noted_before_it_is_used,
    ),
    Planted(
        "a note that is never written",
        changed(SeenReleasesFile, "note", lambda real: lambda self, seen: list(seen)),
        a_release_is_noted_before_it_is_used,
    ),
    Planted(
        "a note written over the old one",
        changed(seen_file, "replace_file", lambda real: lambda path, content: path.write_bytes(content)),
        a_note_is_the_old_or_the_new_one,
    ),
    Planted(
        "a release stored before its state",
        changed(sqlite_learner, "commit", _state_apart),
        a_commit_is_all_or_nothing,
    ),
]


@pytest.mark.parametrize("check", dict.fromkeys([*(each.check for each in PLANTED), a_write_is_all_or_nothing]))
def test_the_sound_service_passes(check: Callable[[Path], None], tmp_path: Path) -> None:
    check(tmp_path)


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_the_bug_is_caught(planted: Planted, tmp_path: Path) -> None:
    with planted.bug(), pytest.raises((AssertionError, msgspec.DecodeError)):
        planted.check(tmp_path)
