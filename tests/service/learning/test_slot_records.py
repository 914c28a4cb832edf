"""Slots as the learner reads them."""

from __future__ import annotations

from hushprice.service.learning.slot_records import read_slots


def test_records_are_never_shown() -> None:
    empty = read_slots([], 3)
    assert repr(empty) == "SlotRecords(<sensitive>)"
    assert (empty.contexts.shape, empty.unreadable) == ((0, 3), 0)
