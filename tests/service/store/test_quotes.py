"""Slots, caps and repeated keys: what `write` promises for quotes, on both databases."""

from __future__ import annotations

import threading

import pytest
from tests.service.conftest import as_quoter
from tests.service.store.samples import CONTEXT, PRODUCT, give, given, learn, pass_time, quote, tell

from hushprice.errors import InvalidInput
from hushprice.service.store import open_store
from hushprice.service.store.consistency import problems
from hushprice.service.store.protocol import LearnerStore, QuoterStore, UnknownProduct
from hushprice.service.store.values import QuoteAnswer, Slot


def due(store: LearnerStore, after: int = 0) -> list[Slot]:
    return store.due(PRODUCT, after, 1000)


def test_slots_are_numbered_in_order_without_gaps(quoter: QuoterStore, learner: LearnerStore) -> None:
    learner.add_product("coat", b"{}", b"{}", 1000.0)
    prices = [0.1, 0.2, 0.3, 0.4]
    give(quoter, quote(price=prices[0]), quote(product="coat"), quote(price=prices[1]))
    give(learner, quote(price=prices[2]))
    give(quoter, quote(product="coat"), quote(price=prices[3]))
    pass_time(quoter, 20.0)
    assert [(slot.slot, slot.price) for slot in due(learner)] == list(enumerate(prices, 1))
    assert [slot.slot for slot in learner.due("coat", 0, 10)] == [1, 2]
    assert {product.name: product.slots for product in quoter.products()} == {PRODUCT: 4, "coat": 2}


def test_a_write_that_fails_takes_no_slot(quoter: QuoterStore, learner: LearnerStore) -> None:
    given(quoter, 2)
    with pytest.raises(UnknownProduct):
        give(quoter, quote(), quote(product="nothing"))
    (name,) = given(quoter)
    assert tell(quoter, name, 2.0).status == "recorded"
    pass_time(quoter, 20.0)
    assert [(slot.slot, slot.demand) for slot in due(learner)] == [(1, None), (2, None), (3, 2.0)]
    assert problems(learner) == []


def test_two_quoters_at_once_leave_no_gap_and_no_slot_twice(
    store_uri: str, quoter: QuoterStore, learner: LearnerStore
) -> None:
    def many(store: QuoterStore) -> None:
        for _ in range(15):
            given(store, 3)

    others = [open_store(as_quoter(store_uri), "quoter") for _ in range(2)]
    threads = [threading.Thread(target=many, args=(store,)) for store in (quoter, *others)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for store in others:
        store.close()
    pass_time(learner, 20.0)
    assert [slot.slot for slot in due(learner)] == list(range(1, 3 * 15 * 3 + 1))
    assert problems(learner) == []


def test_a_quote_asked_again_after_an_unheard_commit_keeps_its_slot(quoter: QuoterStore, learner: LearnerStore) -> None:
    old, new = quote(), quote()
    for quotes in ([old], [old, new], [new, old]):
        assert [one.fresh for one in give(quoter, *quotes)] == [True] * len(quotes)
    assert learner.products()[0].slots == 2
    assert learner.figures(PRODUCT).quoted == 2


def test_quotes_over_the_cap_keep_their_slots_and_do_not_count(quoter: QuoterStore, learner: LearnerStore) -> None:
    give(quoter, *(quote(cap=2, customer=b"ann") for _ in range(3)), quote(cap=2, customer=b"bob"))
    give(quoter, quote(cap=2, customer=b"ann"), quote(cap=2, customer=b"bob"), quote(cap=2, customer=b"bob"))
    pass_time(quoter, 20.0)
    assert [slot.counts for slot in due(learner)] == [True, True, False, True, False, True, False]
    assert learner.figures(PRODUCT).over_cap == 3


def test_a_cap_is_counted_product_by_product(quoter: QuoterStore, learner: LearnerStore) -> None:
    learner.add_product("coat", b"{}", b"{}", 1000.0)
    give(quoter, *(quote(cap=1, customer=b"ann", product=name) for name in (PRODUCT, "coat", "coat")))
    pass_time(quoter, 20.0)
    assert [slot.counts for slot in due(learner)] == [True]
    assert [slot.counts for slot in learner.due("coat", 0, 10)] == [True, False]


def test_without_a_customer_nothing_counts_under_a_cap_and_all_without_one(
    quoter: QuoterStore, learner: LearnerStore
) -> None:
    give(quoter, quote(cap=5), quote(), quote(customer=b"ann"))
    pass_time(quoter, 20.0)
    assert [slot.counts for slot in due(learner)] == [False, True, True]


def test_a_cap_outlives_learning(quoter: QuoterStore, learner: LearnerStore) -> None:
    give(quoter, *(quote(cap=2, customer=b"ann") for _ in range(2)))
    pass_time(quoter, 20.0)
    learn(learner, 2)
    give(quoter, quote(cap=2, customer=b"ann"))
    pass_time(quoter, 20.0, start=2e6)
    assert [slot.counts for slot in due(learner, 2)] == [False]


def test_an_idempotency_key_returns_the_same_quote(quoter: QuoterStore, learner: LearnerStore) -> None:
    first = quote(idempotency=b"k", fingerprint=b"f", charged="9.99", expires=1.25, version=7)
    again = quote(idempotency=b"k", fingerprint=b"f")
    assert give(quoter, first) == [QuoteAnswer(first.id, "9.99", 1.25, 7, True)]
    assert give(quoter, again) == [QuoteAnswer(first.id, "9.99", 1.25, 7, False)]
    assert learner.products()[0].slots == 1


def test_an_idempotency_key_with_another_request_is_a_conflict(quoter: QuoterStore, learner: LearnerStore) -> None:
    give(quoter, quote(idempotency=b"k", fingerprint=b"f"))
    (answer,) = give(quoter, quote(idempotency=b"k", fingerprint=b"g"))
    assert (answer.conflict, answer.fresh, answer.id, answer.charged) == (True, False, "", "")
    assert learner.products()[0].slots == 1


def test_what_a_key_got_is_read_without_a_new_slot(quoter: QuoterStore, learner: LearnerStore) -> None:
    first = quote(idempotency=b"k", fingerprint=b"f", charged="9.99", expires=1.25, version=7)
    assert quoter.repeated("shop", b"k", b"f") is None
    give(quoter, first)
    for fingerprint in (b"f", b"g"):
        (written,) = give(quoter, quote(idempotency=b"k", fingerprint=fingerprint))
        assert quoter.repeated("shop", b"k", fingerprint) == written
    assert quoter.repeated("other", b"k", b"f") is None
    assert learner.products()[0].slots == 1


def test_an_idempotency_key_of_another_api_key_is_another(quoter: QuoterStore) -> None:
    answers = give(quoter, *(quote(key=key, idempotency=b"k", fingerprint=b"f") for key in ("shop", "other")))
    assert [answer.fresh for answer in answers] == [True, True]


def test_the_same_idempotency_key_twice_in_one_write(quoter: QuoterStore, learner: LearnerStore) -> None:
    first, same, other = (quote(idempotency=b"k", fingerprint=mark) for mark in (b"f", b"f", b"g"))
    answers = give(quoter, first, same, other, quote())
    assert [(answer.fresh, answer.conflict) for answer in answers] == [
        (True, False),
        (False, False),
        (False, True),
        (True, False),
    ]
    assert answers[1].id == first.id
    assert learner.products()[0].slots == 2


def test_an_unheard_commit_with_an_idempotency_key_is_still_fresh(quoter: QuoterStore) -> None:
    first = quote(idempotency=b"k", fingerprint=b"f")
    assert give(quoter, first) == give(quoter, first)


def test_a_quote_keeps_the_probability_of_its_price(quoter: QuoterStore, learner: LearnerStore) -> None:
    known = quote(idempotency=b"k", fingerprint=b"f", propensity=0.45, customer=b"ann")
    assert [answer.propensity for answer in give(quoter, known, quote(propensity=1.0), quote())] == [0.45, 1.0, None]
    again = quote(idempotency=b"k", fingerprint=b"f", propensity=0.1)
    assert [answer.propensity for answer in give(quoter, again)] == [0.45]
    found = quoter.repeated("shop", b"k", b"f")
    assert found is not None
    assert found.propensity == 0.45
    assert kept(learner) == [0.45, 1.0, None]
    quoter.forget(b"ann")
    assert kept(learner) == [None, 1.0, None]


def kept(learner: LearnerStore) -> list[float | None]:
    with learner.snapshot() as rows:
        return [each for (each,) in rows("SELECT propensity FROM quote WHERE slot > ? ORDER BY slot", 0)]


@pytest.mark.parametrize("value", [0.0, -0.5, 1.5, float("nan")])
def test_what_is_no_probability_is_refused(quoter: QuoterStore, learner: LearnerStore, value: float) -> None:
    with pytest.raises(InvalidInput, match="propensity"):
        give(quoter, quote(propensity=value))
    assert learner.products()[0].slots == 0


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_is_refused(quoter: QuoterStore, value: float) -> None:
    (name,) = given(quoter)
    with pytest.raises(InvalidInput, match="demand"):
        tell(quoter, name, value)
    with pytest.raises(InvalidInput, match="price"):
        give(quoter, quote(price=value))
    with pytest.raises(InvalidInput, match="id"):
        give(quoter, quote(id="zz"))


def test_a_representation_shows_no_record(store_uri: str, quoter: QuoterStore, learner: LearnerStore) -> None:
    give(quoter, quote(price=0.3127))
    pass_time(quoter, 20.0)
    shown = repr([quote(price=0.3127), due(learner), learner, quoter])
    assert "0.3127" not in shown
    assert str(CONTEXT) not in shown


def test_an_exact_price_and_context_come_back(quoter: QuoterStore, learner: LearnerStore) -> None:
    price, context = 0.1 + 0.2, bytes(range(256))
    given = quote(price=price, context=context), quote(price=price, context=context, holdout=True)
    give(quoter, *given)
    pass_time(quoter, 20.0)
    assert due(learner) == [
        Slot(slot, context, price, None, True, each.holdout, bytes.fromhex(each.id))
        for slot, each in enumerate(given, 1)
    ]
