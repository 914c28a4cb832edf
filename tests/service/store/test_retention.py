"""Learned quotes are erased after the days their product declares; slots, figures and caps stay."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from tests.service.learning_runs import WINDOW, Shop, spec
from tests.service.store.samples import PRODUCT, give, given, learn, pass_time, quote, tell

from hushprice.errors import InvalidInput
from hushprice.service.learning import loop
from hushprice.service.shared import product_checks
from hushprice.service.shared.product_view import product_of, view_of
from hushprice.service.store import decisions
from hushprice.service.store.consistency import problems
from hushprice.service.store.protocol import LearnerStore, QuoterStore
from hushprice.service.store.values import LearnerState

LATER = decisions.today() + 1


def count(store: LearnerStore, table: str) -> int:
    with store.snapshot() as rows:
        return int(rows(f"SELECT count(*) FROM {table}")[0][0])


def test_only_learned_quotes_of_earlier_days_are_erased_a_few_at_once(
    quoter: QuoterStore, learner: LearnerStore
) -> None:
    ids = given(quoter, 6)
    tell(quoter, ids[0])
    figures = learner.figures(PRODUCT)
    pass_time(quoter, 20.0)
    learn(learner, 4)
    assert learner.erase_quotes(PRODUCT, decisions.today(), 3, capped=True) == 0
    assert [learner.erase_quotes(PRODUCT, LATER, 3, capped=True) for _ in range(3)] == [3, 1, 0]
    assert count(learner, "quote") == 2
    assert tell(quoter, ids[0]).status == "unknown"
    assert tell(quoter, ids[5]).status == "late"
    assert problems(learner) == []
    assert learner.products()[0].slots == 6
    assert learner.figures(PRODUCT).bought == figures.bought == 1
    assert [slot.slot for slot in learner.due(PRODUCT, 4, 9)] == [5, 6]
    given(quoter, 1)
    assert learner.products()[0].slots == 7
    assert problems(learner) == []


def test_a_customer_whose_quotes_are_erased_gets_no_second_cap(quoter: QuoterStore, learner: LearnerStore) -> None:
    mine: dict[str, Any] = {"customer": b"me", "cap": 2}
    given(quoter, 3, **mine)
    given(quoter, 1, customer=b"other", cap=2)
    pass_time(quoter, 20.0)
    learn(learner, 4)
    assert learner.erase_quotes(PRODUCT, LATER, 2, capped=True) == 2
    assert learner.erase_quotes(PRODUCT, LATER, 9, capped=True) == 2
    given(quoter, 2, **mine)
    given(quoter, 2, customer=b"other", cap=2)
    pass_time(quoter, 20.0, start=2e6)
    assert [slot.counts for slot in learner.due(PRODUCT, 4, 9)] == [False, False, True, False]
    quoter.forget(b"me")
    assert problems(learner) == []


def test_without_a_cap_no_digest_of_a_customer_stays(quoter: QuoterStore, learner: LearnerStore) -> None:
    give(quoter, quote(customer=b"me", idempotency=b"key", fingerprint=b"request"))
    pass_time(quoter, 20.0)
    learn(learner, 1)
    learner.erase_quotes(PRODUCT, LATER, 9, capped=False)
    assert (count(learner, "quote"), count(learner, "used_cap")) == (0, 0)
    (again,) = give(quoter, quote(customer=b"me", idempotency=b"key", fingerprint=b"request"))
    assert again.fresh  # a key that came back after so long is a new one
    assert problems(learner) == []


def test_the_learner_keeps_to_the_days_that_a_product_declares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "ERASED", 4)
    shop = Shop(tmp_path, spec(retention_days=30))
    shop.serve(stop=10)
    shop.wait(WINDOW)
    shop.learning(now=lambda: shop.time).turn()
    assert shop.learned() == 10
    shop.store.take_lease("nobody", shop.time + 10.0)
    days = [0.0]

    def now() -> float:
        return time.time() + 86400.0 * days[-1]

    def turns(number: int) -> int:
        for _ in range(number):
            learning.turn()
        return count(shop.store, "quote")

    learning = shop.learning(now=now)
    days.append(30.0)
    assert turns(1) == 10
    days.append(31.1)
    assert [turns(1) for _ in range(4)] == [6, 2, 0, 0]
    assert problems(shop.store) == []
    shop.close()


def test_retention_is_declared_public_and_checked() -> None:
    declared = spec()
    product = product_of(stored(declared))
    assert product.retention_days == view_of(stored(declared)).retention_days == 400
    for days in (0, 10**6):
        with pytest.raises(InvalidInput, match="retention_days"):
            product_checks.check(product_of(stored(spec(retention_days=days))))
    product_checks.check(product_of(stored(spec(retention_days=1))))


def stored(declared: bytes) -> Any:
    from hushprice.service.store.values import StoredProduct

    return StoredProduct("tea", declared, "open", b"{}", None, 0, 0.0)


def test_a_state_that_fell_behind_erases_nothing_that_is_not_learned(learner: LearnerStore) -> None:
    given(learner, 2)
    assert learner.erase_quotes(PRODUCT, LATER, 9, capped=True) == 0
    pass_time(learner, 20.0)
    learner.take_lease("me", 1000.0)
    learner.commit("me", LearnerState(PRODUCT, 1, 0, b"", b"{}"), [], 1000.0)
    assert learner.erase_quotes(PRODUCT, LATER, 9, capped=True) == 1
