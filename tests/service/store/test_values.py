"""What goes into a store prints nothing of a customer, and a key is known by what it is."""

from __future__ import annotations

from tests.service.store.samples import quote, state

from hushprice.service.store.values import ApiKey, NewOutcome, Slot


def test_what_is_sensitive_is_not_printed() -> None:
    shown = [
        repr(each) for each in (quote(), NewOutcome("a1", "shop", 7.5), state(3, 1), Slot(4, b"x", 0.5, 7.5, True))
    ]
    assert shown == [
        "NewQuote(<sensitive>)",
        "NewOutcome(<sensitive>)",
        "LearnerState(product='jacket', <sensitive>)",
        "Slot(slot=4, <sensitive>)",
    ]


def test_a_key_that_gets_anothers_name_is_another_key() -> None:
    first, second = ApiKey("web", "shop", b"1" * 32), ApiKey("web", "shop", b"2" * 32)
    assert first.identity == "31" * 8 != second.identity
