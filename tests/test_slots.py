"""Oracle: which quote learns a slot and what an outcome is answered, in closed form from slots and arrival times."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushprice.errors import InvalidInput, RepeatedOutcome, UnknownQuote
from hushprice.slots import Observation, Pending, Slots

NEVER = 10**9


def issue(slots: Slots) -> tuple[str, tuple[int, float] | None]:
    """One quote: its id, and the slot it learned (features here are the slot's number) with that slot's outcome."""
    due = slots.due()
    quote_id = slots.open(np.array([slots.count + 1.0]))
    return quote_id, None if due is None else (int(due[0][0]), due[1])


def issued(count: int, *, horizon: int = 100, delay: int = 0) -> tuple[Slots, list[str]]:
    slots = Slots(horizon=horizon, delay=delay)
    return slots, [issue(slots)[0] for _ in range(count)]


def everything(slots: Slots) -> tuple[Any, ...]:
    waiting = [(each.phi.tolist(), each.demand) for each in slots.pending]
    return slots.count, slots.learned, slots.last, slots.delay, bytes(slots.status), slots.key, waiting


@settings(deadline=None)
@given(st.data())
def test_slot_n_is_learned_at_quote_n_plus_delay_plus_one_whenever_its_outcome_came(data: st.DataObject) -> None:
    delay, horizon = data.draw(st.integers(0, 6)), data.draw(st.integers(1, 25))
    offsets = data.draw(st.lists(st.sampled_from([0, 1, 2, 3, 5, 8, 13, NEVER]), min_size=1, max_size=30))
    slots, ids = Slots(horizon=horizon, delay=delay), []
    learned: dict[int, tuple[int, float]] = {}
    for n in range(1, len(offsets) + 1):
        quote_id, due = issue(slots)
        ids.append(quote_id)
        if due is not None:
            assert due[0] not in learned
            learned[due[0]] = n, due[1]
        for slot, offset in enumerate(offsets[:n], start=1):
            if slot + offset == n:  # the outcome of `slot` comes between quotes n and n + 1
                answer = slots.observe(ids[slot - 1], slot + 0.5)
                in_time = Observation.LATE if offset > delay else Observation.RECORDED
                assert answer == (in_time if slot + delay + 1 <= horizon else Observation.NOT_LEARNED)
    most = min(len(offsets), horizon) - delay - 1
    expected = {s: (s + delay + 1, s + 0.5 if offsets[s - 1] <= delay else 0.0) for s in range(1, most + 1)}
    assert learned == expected


def test_a_missing_outcome_counts_as_no_purchase() -> None:
    slots, _ = issued(3)
    assert issue(slots)[1] == (3, 0.0)


def test_a_late_outcome_is_noted_and_not_learned() -> None:
    slots, ids = issued(3)
    before = list(everything(slots))
    assert slots.observe(ids[0], 1.0) is Observation.LATE
    after = list(everything(slots))
    assert after[4] != before[4]
    assert after[:4] + after[5:] == before[:4] + before[5:]
    with pytest.raises(RepeatedOutcome):
        slots.observe(ids[0], 1.0)


@pytest.mark.parametrize("later_quotes", [0, 1, 2, 20])
def test_a_repeated_outcome_is_refused_and_changes_nothing(later_quotes: int) -> None:
    slots, ids = issued(1, horizon=10, delay=1)
    slots.observe(ids[0], 1.0)
    for _ in range(later_quotes):
        issue(slots)
    before = everything(slots)
    with pytest.raises(RepeatedOutcome, match=f"{ids[0]}.*nothing was changed"):
        slots.observe(ids[0], 0.0)
    assert everything(slots) == before


def test_counting_a_repeated_outcome_would_be_seen() -> None:
    class Forgetful(Slots):
        def observe(self, quote_id: str, demand: float) -> Observation:
            slot = self._slot(quote_id)
            self.status[slot - 1] = 0
            return super().observe(quote_id, demand)

    slots = Forgetful(horizon=10, delay=1)
    quote_id, _ = issue(slots)
    slots.observe(quote_id, 1.0)
    before = everything(slots)
    assert slots.observe(quote_id, 0.0) is Observation.RECORDED
    assert everything(slots) != before


def test_an_unknown_or_forged_id_is_refused_and_changes_nothing() -> None:
    slots, ids = issued(12)
    _, others = issued(12)
    number, digest = ids[9].split("-")
    forged = [
        *others,
        "",
        "a",
        "a-",
        "-",
        digest,
        f"b-{digest}",
        f"0{number}-{digest}",
        f"0x{number}-{digest}",
        f" {ids[9]}",
        f"{ids[9]}\n",
        ids[9].upper(),
        ids[9][:-1],
        f"0-{digest}",
        f"-{number}-{digest}",
        f"{2**64:x}-{digest}",
        f"{'f' * 5000}-{digest}",
        "a-\ud800",
        f"{number}-é{digest[1:]}",
        f"\uff11-{digest}",
    ]
    before = everything(slots)
    for quote_id in [*forged, None, 10, ids[9].encode(), b"", [ids[9]]]:
        with pytest.raises(UnknownQuote, match="nothing was changed") as refusal:
            slots.observe(quote_id, 1.0)  # type: ignore[arg-type]
        assert len(str(refusal.value)) < 200
        assert "\n" not in str(refusal.value)
    assert everything(slots) == before


def test_ids_are_unguessable_and_never_repeat() -> None:
    ids = [*issued(50)[1], *issued(50)[1]]
    assert len({quote_id.split("-")[1] for quote_id in ids}) == 100
    assert all(len(quote_id.split("-")[1]) == 32 for quote_id in ids)  # 128 bits under a key of the pricer's own


@pytest.mark.parametrize("demand", [math.nan, math.inf, -math.inf, "1", None, [1.0], 10**400, 1j])
def test_a_bad_outcome_is_refused_by_name_and_changes_nothing(demand: Any) -> None:
    slots, ids = issued(1)
    before = everything(slots)
    with pytest.raises(InvalidInput, match=r"^demand must be a finite number, got "):
        slots.observe(ids[0], demand)
    assert everything(slots) == before
    assert slots.observe(ids[0], 1) is Observation.RECORDED


@pytest.mark.parametrize("demand", [1, 0.25, -3.0, np.float32(2.0), np.int64(4), True, False, np.True_, np.False_])
def test_any_finite_number_or_truth_is_an_outcome(demand: Any) -> None:
    slots, ids = issued(1)
    slots.observe(ids[0], demand)
    assert issue(slots)[1] == (1, float(demand))


def test_quotes_go_on_after_the_horizon_and_nothing_of_them_is_kept() -> None:
    slots, ids = issued(30, horizon=10, delay=2)
    assert (slots.count, slots.learned, len(slots.pending)) == (30, 7, 0)
    answers = {slots.observe(quote_id, 1.0) for quote_id in ids[7:]}
    assert answers == {Observation.NOT_LEARNED}
    assert slots.due() is None


@pytest.mark.parametrize(("horizon", "delay"), [(1, 0), (3, 2), (3, 50)])
def test_a_horizon_within_the_delay_learns_nothing(horizon: int, delay: int) -> None:
    slots, ids = issued(8, horizon=horizon, delay=delay)
    assert slots.learned == 0
    assert slots.observe(ids[0], 1.0) is Observation.NOT_LEARNED


def test_a_quote_that_is_tried_again_learns_its_slot_once() -> None:
    slots, _ = issued(4, delay=1)
    assert slots.due() is not None
    assert slots.due() is None
    assert issue(slots)[1] is None
    assert issue(slots)[1] == (4, 0.0)


def test_closing_forgets_what_waits_and_says_so() -> None:
    slots, ids = issued(6, delay=3)
    slots.observe(ids[4], 1.0)
    slots.close()
    assert (slots.due(), len(slots.pending)) == (None, 0)
    assert issue(slots)[1] is None
    assert slots.observe(ids[3], 1.0) is Observation.NOT_LEARNED
    assert slots.observe(ids[0], 1.0) is Observation.LATE
    with pytest.raises(RepeatedOutcome):
        slots.observe(ids[4], 1.0)


def test_nothing_prints_a_record() -> None:
    assert repr(Pending(np.array([0.25]), 1.0)) == "Pending(<sensitive>)"
    assert repr(issued(2)[0]) == "Slots(count=2, <sensitive>)"
