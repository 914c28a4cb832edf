"""What survives which failure: a commit that breaks, a restart, a draw or a product that fails, a store that leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.service.conftest import PostgresProcess
from tests.service.learning_runs import COUNT, WINDOW, Shop, learn_all, releases_of, same_noise, spec

from hushprice.service.learning.loop import RETRY, LearningLoop
from hushprice.service.learning.product_learner import ProductLearner
from hushprice.service.store.protocol import LEASE, LearnerStore, LeaseLost, StoreUnavailable

pytestmark = pytest.mark.usefixtures("blocks")


class Failing:
    """A store whose n-th commit with a release fails, before or after it was stored."""

    def __init__(self, store: LearnerStore, failing: int, stored: bool, problem: type[Exception]) -> None:
        self._store, self._left, self._stored, self._problem = store, failing, stored, problem

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def commit(self, holder: str, state: Any, releases: Any, now: float) -> None:
        self._left -= bool(releases)
        failing = self._left == 0 and bool(releases)
        if not failing or self._stored:
            self._store.commit(holder, state, releases, now)
        if failing:
            raise self._problem("the connection broke")


@pytest.mark.parametrize("problem", [StoreUnavailable, LeaseLost])
@pytest.mark.parametrize("failing", [1, 2, 5])
def test_a_release_that_was_not_stored_is_drawn_anew_and_nobody_saw_the_first(
    failing: int, problem: type[Exception], shop: Shop
) -> None:
    shop.serve()
    shop.wait(WINDOW)
    store: Any = Failing(shop.store, failing, False, problem)
    learning = LearningLoop(store, now=lambda: shop.time, chunk=5)
    with same_noise() as draws:
        while learning.turn():
            pass
        stored = len(shop.releases())
        assert stored < len(draws)
        while shop.learned() < COUNT:
            learning.turn()
    assert [release.sequence for release in shop.releases()] == list(range(1, len(shop.releases()) + 1))
    numbers = [release.numbers for release in shop.releases()]
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize("failing", [1, 2, 5])
def test_a_release_whose_commit_was_not_heard_of_is_read_back_and_never_drawn_again(
    failing: int, tmp_path: Path
) -> None:
    def served(shop: Shop, broken: bool) -> None:
        shop.serve()
        shop.wait(WINDOW)
        store: Any = Failing(shop.store, failing, True, StoreUnavailable) if broken else shop.store
        learning = LearningLoop(store, now=lambda: shop.time, chunk=5)
        while shop.learned() < COUNT:
            learning.turn()

    assert releases_of(tmp_path / "broken", lambda shop: served(shop, True)) == releases_of(
        tmp_path / "whole", lambda shop: served(shop, False)
    )


@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_restarts_and_chunks_change_nothing(chunk: int, tmp_path: Path) -> None:
    def served(shop: Shop, restart: bool) -> None:
        shop.serve()
        shop.wait(WINDOW)
        learning = shop.learning(chunk=chunk)
        while shop.learned() < COUNT:
            learning.turn()
            if restart:
                shop.store.drop_lease(learning.holder)
                learning = shop.learning(chunk=chunk)

    assert releases_of(tmp_path / "restarted", lambda shop: served(shop, True)) == releases_of(
        tmp_path / "not", learn_on
    )


def learn_on(shop: Shop) -> None:
    shop.serve()
    learn_all(shop)


def test_a_failing_draw_leaves_nothing_behind_and_the_others_go_on(tmp_path: Path, monkeypatch: Any) -> None:
    shop = Shop(tmp_path, spec(), spec(name="coffee"))
    shop.serve(stop=40)
    shop.serve(stop=40, product="coffee")
    shop.wait(WINDOW)
    real = ProductLearner._note_releases

    def failing(self: ProductLearner, *given: Any) -> None:
        if self.product.name == "tea" and given[0]:
            raise ZeroDivisionError("0.123456")
        real(self, *given)

    learning = shop.learning()
    with monkeypatch.context() as patch:
        patch.setattr(ProductLearner, "_note_releases", failing)
        learning.turn()
    assert shop.releases() == []
    assert len(shop.releases("coffee")) > 0
    assert learning.set_aside["tea"] == float("inf")  # noise was drawn: this process draws no other
    learning.turn()
    assert shop.releases() == []
    shop.wait(LEASE + 1.0)
    shop.learning().turn()  # another process may: nobody saw the first
    assert len(shop.releases()) > 0
    shop.close()


def test_a_product_that_cannot_be_read_is_tried_again_later(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    shop = Shop(tmp_path, spec(), spec(name="coffee"))
    shop.add(spec(name="broken").replace(b'"contexts":2', b'"contexts":-2'))
    shop.quote(0, product="broken")
    shop.wait(WINDOW)
    learning = shop.learning()
    learning.turn()
    assert learning.set_aside["broken"] == shop.time + RETRY
    assert "product broken is set aside: " in caplog.text
    shop.wait(RETRY + 1.0)
    learning.turn()
    assert learning.set_aside["broken"] == shop.time + RETRY
    shop.close()


def test_a_database_that_goes_away_is_learned_from_when_it_is_back(
    postgres_process: PostgresProcess, postgres_uri: str, tmp_path: Path
) -> None:
    shop = Shop(tmp_path, uri=postgres_uri)
    shop.serve(stop=40)
    shop.wait(WINDOW)
    learning = shop.learning(chunk=15)
    assert learning.turn()
    postgres_process.stop()
    try:
        assert not learning.turn()
        assert learning._learners == {}
    finally:
        postgres_process.start()
    for _ in range(10):
        learning.turn()
    assert shop.learned() == 40
    sequences = [release.sequence for release in shop.releases()]
    assert sequences == list(range(1, len(sequences) + 1))
    shop.close()
