"""What a process remembers of Idempotency-Keys: what the store answered, of so many keys at most."""

from __future__ import annotations

from typing import Any

import pytest
from tests.service.store.samples import quote

from hushprice.service.quoting import recent_keys
from hushprice.service.quoting.recent_keys import RecentKeys
from hushprice.service.store.values import NewQuote, QuoteAnswer


def asked(number: int, fingerprint: bytes = b"the request", **more: Any) -> NewQuote:
    return quote(idempotency=b"%d" % number, fingerprint=fingerprint, **more)


def given(number: int, fresh: bool = True, conflict: bool = False) -> QuoteAnswer:
    return QuoteAnswer(f"{number:032x}", "12.99", 1e9, 3, fresh, conflict)


def test_the_same_request_gets_the_same_quote_and_another_one_a_conflict() -> None:
    keys = RecentKeys()
    keys.note(asked(1), given(1))
    assert keys.find(asked(1)) == given(1, fresh=False)
    other = keys.find(asked(1, fingerprint=b"another request"))
    assert other is not None
    assert other.conflict


def test_what_the_store_did_not_answer_for_this_key_is_not_known() -> None:
    keys = RecentKeys()
    keys.note(asked(1), given(1))
    keys.note(asked(2), given(2, conflict=True))
    keys.note(quote(), given(3))
    assert keys.find(asked(2)) is None
    assert keys.find(asked(1, key="another")) is None
    assert keys.find(quote()) is None


def test_the_oldest_keys_leave_first_and_forgetting_a_customer_clears_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent_keys, "REMEMBERED", 2)
    keys = RecentKeys()
    for number in (1, 2, 3):
        keys.note(asked(number), given(number))
    assert [keys.find(asked(number)) is None for number in (1, 2, 3)] == [True, False, False]
    keys.clear()
    assert keys.find(asked(3)) is None
