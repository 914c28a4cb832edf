"""Who may learn: one process at a time, by its lease."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.service.learning_runs import WINDOW, Shop, releases_of

from hushprice.service.learning.product_learner import ProductLearner
from hushprice.service.store.protocol import LEASE
from hushprice.service.store.values import LearnerReport

pytestmark = pytest.mark.usefixtures("blocks")


def test_a_second_learner_never_releases_while_the_first_lives(shop: Shop) -> None:
    first, second = shop.learning(chunk=5), shop.learning(chunk=5)
    shop.serve(stop=60)
    shop.wait(WINDOW)
    first.turn()
    for _ in range(12):
        assert not second.turn()
        held = shop.releases()
        first.turn()
        assert shop.releases()[: len(held)] == held
        shop.wait(1.0)
    assert second._learners == {}
    assert shop.learned() == 60


def test_a_learner_that_was_away_forgets_and_the_one_that_took_over_goes_on(tmp_path: Path) -> None:
    def served(shop: Shop, change: bool) -> None:
        first, second = shop.learning(chunk=5), shop.learning(chunk=5)
        shop.serve(stop=60)
        shop.wait(WINDOW)
        for turn in range(14):
            if change and turn == 4:
                shop.wait(LEASE + 1.0)
            (second if change and turn >= 4 else first).turn()
        assert shop.learned() == 60
        if change:
            shop.wait(0.5)
            assert not first.turn()
            assert first._learners == {}

    assert releases_of(tmp_path / "two", lambda shop: served(shop, True)) == releases_of(
        tmp_path / "one", lambda shop: served(shop, False)
    )


def test_a_learner_whose_lease_was_taken_stores_nothing(shop: Shop) -> None:
    shop.serve(stop=40)
    shop.wait(WINDOW)
    first = shop.learning(chunk=5)
    first.turn()
    learned = shop.learned()
    first._renewed = shop.time + 0.5  # a process that slept believes in its lease still
    shop.wait(LEASE + 1.0)
    assert shop.store.take_lease("another", shop.time)
    first._renewed = shop.time
    assert not first.turn()
    assert shop.learned() == learned
    assert first._learners == {}


def test_a_learner_goes_on_at_once_after_one_whose_clock_was_fast_crashed(shop: Shop) -> None:
    shop.serve(stop=20)
    shop.wait(WINDOW)
    shop.learning(now=lambda: shop.time + 3600.0).turn()  # and the process dies, and the clock is put right
    held = shop.releases()
    shop.serve(20, 40)
    shop.wait(WINDOW)
    shop.learning().turn()
    assert shop.learned() == 40
    assert shop.releases()[: len(held)] == held


def test_the_lease_says_when_all_was_looked_at_and_what_is_set_aside(shop: Shop, monkeypatch: Any) -> None:
    shop.serve(stop=5)
    shop.wait(WINDOW)
    learning, waiting = shop.learning(), shop.learning()
    waiting.turn()
    learning.turn()  # waits for the lease
    shop.wait(LEASE)

    def report() -> LearnerReport:
        learning.turn()
        return shop.store.learning_progress(shop.time).report

    assert report() == LearnerReport(0.0, 0)
    shop.wait(11.0)
    assert report() == LearnerReport(10.0, 0)
    shop.quote(6)
    shop.wait(WINDOW)
    with monkeypatch.context() as patch:
        patch.setattr(ProductLearner, "_records", lambda self, slots: 1 / 0)
        assert report() == LearnerReport(WINDOW, 0)
        shop.wait(1.0)
        assert report() == LearnerReport(0.0, 1)
    shop.time -= 3600.0
    assert report() == LearnerReport(0.0, 1)


def test_a_learner_that_waits_for_the_lease_says_so_once(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    first, second = shop.learning(), shop.learning()
    first.turn()
    for _ in range(5):
        second.turn()
    assert caplog.messages == ["learning starts over: LeaseLost"]
    shop.wait(LEASE)
    second.turn()
    shop.wait(LEASE)
    first.turn()
    second.turn()
    assert caplog.messages == ["learning starts over: LeaseLost"] * 2
