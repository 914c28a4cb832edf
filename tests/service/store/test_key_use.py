"""What a store counts of a key: quotes that took a slot, by the day, and that it was used."""

from __future__ import annotations

from tests.service.store.samples import give, given, quote, tell

from hushprice.service.store import decisions
from hushprice.service.store.protocol import LearnerStore, QuoterStore


def test_quotes_that_take_a_slot_are_counted_and_nothing_else(learner: LearnerStore, quoter: QuoterStore) -> None:
    today = decisions.today()
    first = quote(key="web", idempotency=b"basket", fingerprint=b"f")
    again = quote(key="web", idempotency=b"basket", fingerprint=b"f")
    give(quoter, first, again, quote(key="app"))
    (told, _) = given(quoter, 2, key="web")
    tell(quoter, told, key="web")
    tell(quoter, told, key="web")
    assert quoter.key_use(today) == {"web": 3, "app": 1}
    quoter.note_key_use(["auditor", "web"], today)
    quoter.note_key_use(["auditor"], today + 1)
    assert quoter.key_use(today) == {"web": 3, "app": 1, "auditor": 0}
    assert learner.last_use() == {"web": today, "app": today, "auditor": today + 1}
    give(quoter, first)  # a commit whose answer never came
    assert quoter.key_use(today)["web"] == 3
