"""The learner's loop beside those who quote: it runs until it is stopped, and gives way."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np
import pytest
from tests.service.learning_runs import CONTEXTS, COUNT, WINDOW, Shop, learn_all
from tests.waiting import eventually

from hushprice.service.learning.loop import NICE, LearningLoop
from hushprice.service.learning.product_learner import ProductLearner
from hushprice.service.store.protocol import LearnerStore
from hushprice.service.store.sqlite import SqliteStore

pytestmark = pytest.mark.usefixtures("blocks")


def test_the_loop_runs_until_it_is_stopped_and_lets_go_of_the_lease(shop: Shop) -> None:
    shop.serve(stop=30)
    shop.wait(WINDOW)
    stop = threading.Event()
    store = SqliteStore(shop.path)

    def work() -> None:
        LearningLoop(store, now=lambda: shop.time).run(stop)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        eventually(lambda: shop.learned() == 30)
        alive = shop.store.learner_alive(shop.time)
    finally:
        stop.set()
        thread.join()
        store.close()
    assert alive
    assert shop.learned() == 30
    assert not shop.store.learner_alive(shop.time)


class Watched:
    """A store that notes at which priority it is asked, and how often it commits."""

    def __init__(self, store: LearnerStore) -> None:
        self._store = store
        self.commits: list[int] = []  # releases in each
        self.priorities: dict[str, set[int]] = {}

    def __getattr__(self, name: str) -> Any:
        self.priorities.setdefault(name, set()).add(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        return getattr(self._store, name)

    def commit(self, holder: str, state: Any, releases: Any, now: float) -> None:
        self.commits.append(len(releases))
        self.__getattr__("commit")(holder, state, releases, now)


def test_a_chunk_keeps_quotes_from_the_store_once_however_much_it_releases(shop: Shop) -> None:
    shop.serve()
    shop.wait(WINDOW)
    store: Any = Watched(shop.store)
    learning = LearningLoop(store, now=lambda: shop.time, chunk=COUNT // 2)
    for _ in range(3):
        learning.turn()
    assert len(store.commits) == 2
    assert sum(store.commits) == len(shop.releases()) > 3


def test_reading_and_fitting_give_way_to_quotes_and_storing_does_not(shop: Shop) -> None:
    shop.serve(stop=30)
    shop.wait(WINDOW)
    store: Any = Watched(shop.store)
    own = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    LearningLoop(store, now=lambda: shop.time).turn()
    assert store.priorities["due"] == {max(NICE, own)}
    assert store.priorities["commit"] == {own}


def test_fit_times_and_clip_counts_are_kept(shop: Shop) -> None:
    for n in range(30):
        shop.tell(shop.quote(n), 1.0)
    shop.store._connection.execute("UPDATE quote SET demand = 5.0")  # which an earlier version took
    learning = learn_all(shop)
    fits = learning.fit_seconds["tea"]
    assert fits.count == 1 < len(shop.releases())  # one chunk
    assert 0.0 < fits.largest <= fits.total
    assert learning._learners["tea"].clipped.demands == 30


def test_no_log_line_has_a_record_in_it(shop: Shop, caplog: pytest.LogCaptureFixture, monkeypatch: Any) -> None:
    def failing(self: ProductLearner, *given: Any) -> None:
        raise ValueError(f"{np.array2string(CONTEXTS[0])}")

    shop.serve(stop=5)
    shop.wait(WINDOW)
    monkeypatch.setattr(ProductLearner, "_records", failing)
    shop.learning().turn()
    assert "product tea is set aside: ValueError" in caplog.text
    assert "[" not in caplog.text.split("set aside")[1]
