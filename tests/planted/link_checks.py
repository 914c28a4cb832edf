"""What must hold of queues, leases and restarts. Each check raises AssertionError otherwise."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

import pytest
from tests.planted.service_checks import opened
from tests.service.learning_runs import WINDOW, Shop
from tests.service.quoting.test_learner_process import kept_running
from tests.service.store.samples import PRODUCT, quote

from hushprice.service.quoting import learner_process, writer
from hushprice.service.store.sqlite import SqliteStore
from hushprice.service.store.values import NewOutcome, StoredRelease

HOUR = 3600.0


def purchases_take_no_place_of_a_quote() -> None:
    """While the store hangs, the same quotes find a place, whether two customers have told what they bought or none."""

    async def kept(file: Path, purchases: int) -> list[bool]:
        store = SqliteStore(file)
        store.add_product(PRODUCT, b"{}", b"{}", 1000.0)
        held = writer.Writer(store, SqliteStore(file), beats=False)
        lock = sqlite3.connect(file, isolation_level=None)
        lock.execute("BEGIN EXCLUSIVE")
        told = [held.outcome(NewOutcome("0" * 32, "shop", 1.0)) for _ in range(purchases)]
        asked = [held.quote(quote()) for _ in range(5)]
        beyond = [each.done() for each in asked]
        lock.execute("ROLLBACK")
        lock.close()
        await asyncio.gather(*told, *asked)
        assert await held.close()
        return [not each for each in beyond]

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "BUFFER", 3)
        patch.setattr(writer, "PATIENCE", HOUR)
        worlds = [asyncio.run(kept(Path(folder, f"{n}.db"), n)) for n in (0, 2)]
    assert worlds[0] == worlds[1] == [True] * 3 + [False] * 2


def learners_at_odds_about_the_time_release_once() -> None:
    """One clock is an hour fast, so that each of two learners takes the other's lease for expired, whenever it likes.

    The store decides at the commit: what was released stays, and no slot is in releases of both.
    """
    with opened() as shop:
        fast, right = shop.learning(now=lambda: shop.time + HOUR), shop.learning()
        for stop in (20, 40, 60, 80):
            shop.serve(stop - 20, stop)
            shop.wait(WINDOW)
            seen = _overtaken(shop, fast, right)
            assert shop.releases()[: len(seen)] == seen
            assert shop.learned() == stop
        for first, second in zip(shop.releases(), shop.releases()[1:], strict=False):
            assert second.sequence == first.sequence + 1
            assert second.batch == first.batch or second.batch >= first.records


def _overtaken(shop: Shop, fast: Any, right: Any) -> list[StoredRelease]:
    """The fast one has drawn and is about to commit when the other takes the lease, releases, and loses it again.

    Returns the releases that everybody could see in between.
    """
    real, store, seen = shop.store.commit, shop.store, []

    def commit(*given: Any) -> None:
        store.commit = real  # type: ignore[method-assign]
        right.turn()
        seen.extend(shop.releases())
        assert store.take_lease(fast.holder, shop.time + HOUR)
        real(*given)

    store.commit = commit  # type: ignore[method-assign]
    fast.turn()
    shop.store.drop_lease(fast.holder)
    return seen


def a_learner_that_dies_again_and_again_stays_down() -> None:
    """Every death may depend on a record, and noise is drawn again after it: a person decides whether to go on."""
    most = learner_process.RESTARTS + 1
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        learner, begun = kept_running(Path(folder), patch, "exit 1", most)
    assert (begun, learner.stopped, learner.running) == (most, True, False)
