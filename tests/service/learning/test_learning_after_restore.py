"""A restored backup: no slot that was charged is learned again."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.service.learning_runs import WINDOW, Shop, learn_all, seen_of

from hushprice.service.store.protocol import LEASE
from hushprice.service.store.values import SeenRelease

pytestmark = pytest.mark.usefixtures("blocks")


def test_after_a_restored_backup_no_charged_slot_is_learned_again(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    shop = Shop(tmp_path / "shop")
    shop.serve(stop=30)
    learn_all(shop)
    backup = tmp_path / "backup"
    shop.back_up(backup)
    at_backup = shop.learned(), shop.releases()
    shop.serve(30, 70)
    learn_all(shop)
    seen = seen_of(shop.releases())
    assert seen.sequence > at_backup[1][-1].sequence

    shop.restore_backup(backup)
    shop.store.report_seen([seen])
    shop.wait(LEASE)
    learning = shop.learning()
    learning.turn()
    assert shop.learned() == seen.records
    (change,) = shop.store.changes("tea")
    assert change.what == "restored backup"
    learning.turn()
    assert len(shop.store.changes("tea")) == 1
    before = shop.learner()
    assert before._engine is not None
    assert before._engine.quoter.batch == seen.records
    assert before.version == at_backup[1][-1].version

    shop.serve(0, 60)
    shop.wait(WINDOW)
    learning.turn()
    fresh = [release for release in shop.releases() if release.sequence > at_backup[1][-1].sequence]
    assert fresh[0].sequence == seen.sequence + 1
    assert min(release.batch for release in fresh) >= seen.records
    shop.close()


def test_a_crash_after_skipping_is_skipped_again(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.serve(stop=20)
    shop.wait(WINDOW)
    shop.store.report_seen([SeenRelease("tea", 9, 15)])
    learning = shop.learning()
    shop.store.take_lease(learning.holder, shop.time)
    shop.store.skip_to(learning.holder, SeenRelease("tea", 9, 15), shop.time)  # and the process dies
    learning.turn()
    assert (shop.learned(), len(shop.store.changes("tea"))) == (20, 1)
    assert all(release.sequence > 9 and release.batch >= 15 for release in shop.releases())
    shop.close()


def test_memory_from_before_a_restored_backup_is_read_back(shop: Shop) -> None:
    shop.serve(stop=20)
    first = learn_all(shop)
    other = shop.learning()
    other.holder = first.holder  # as after a store that was restored while this process slept
    shop.store.report_seen([SeenRelease("tea", 90, 15)])
    other.turn()
    shop.serve(20, 40)
    shop.wait(WINDOW)
    first._renewed = shop.time  # it has kept its lease, and what it remembers
    first.turn()
    assert [change.what for change in shop.store.changes("tea")] == ["overlapping histories"]
    assert first._learners["tea"].sequence > 90


def test_memory_that_is_old_is_not_taken_for_a_restored_backup(shop: Shop) -> None:
    shop.serve(stop=30)
    first = learn_all(shop)
    stale = first._learners["tea"]
    shop.serve(30, 60)
    learn_all(shop, chunk=1000)  # another process of the same holder's name cannot be; this one is forgotten
    shop.serve(60, 70)
    shop.wait(WINDOW)
    first.turn()
    assert first._learners["tea"] is not stale
    latest = shop.releases()[-1]
    shop.store.report_seen([SeenRelease("tea", latest.sequence, latest.records)])
    first._learners["tea"] = stale
    first.turn()
    assert shop.store.changes("tea") == []
