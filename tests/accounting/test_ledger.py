"""The ledger: counts multiply, nothing beyond the allowance is spent, and a refusal changes nothing."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushprice.accounting.adjacency import Adjacency
from hushprice.accounting.budget import EpsilonDelta
from hushprice.accounting.events import ContinualCovariance, Event, NotPrivate, PerturbedEstimate
from hushprice.accounting.ledger import Entry, Ledger
from hushprice.errors import BudgetExhausted, InvalidInput

property_test = settings(deadline=None, derandomize=True)
STREAM, ESTIMATE = ContinualCovariance(34.2, 17, 2), PerturbedEstimate(166.0, 10.0, 2)
EVENTS: list[Event] = [STREAM, ESTIMATE, NotPrivate()]


def open_for(*entries: Entry) -> Ledger:
    return Ledger(adjacency=Adjacency.REPLACE_ONE, claimed=EpsilonDelta(1.0, 1e-10), allowance=entries)


LEDGER = open_for(Entry(STREAM, 1), Entry(ESTIMATE, 34))


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("times", [1, 2, 7])
def test_spending_many_times_is_spending_once_with_a_count(event: Event, times: int) -> None:
    at_once = one_by_one = open_for(Entry(event, 10))
    for _ in range(times):
        one_by_one = one_by_one.spend(event)
    at_once = at_once.spend(event, times)
    assert one_by_one == at_once
    assert one_by_one.count(event) == times
    assert one_by_one.remaining(event) == 10 - times


@property_test
@given(st.lists(st.sampled_from([0, 1, 2]), max_size=12), st.randoms(use_true_random=False))
def test_the_order_of_spending_does_not_matter(kinds: list[int], random: Any) -> None:
    ledger = shuffled = open_for(*(Entry(event, 12) for event in EVENTS))
    for kind in kinds:
        ledger = ledger.spend(EVENTS[kind])
    random.shuffle(kinds)
    for kind in kinds:
        shuffled = shuffled.spend(EVENTS[kind])
    assert ledger == shuffled
    assert [ledger.count(event) for event in EVENTS] == [kinds.count(kind) for kind in range(3)]


def test_the_allowance_can_be_used_up_and_not_passed() -> None:
    ledger = LEDGER.spend(STREAM).spend(ESTIMATE, 34)
    assert (ledger.remaining(STREAM), ledger.remaining(ESTIMATE)) == (0, 0)
    for event in (STREAM, ESTIMATE):
        with pytest.raises(BudgetExhausted, match="would pass the budget: 0 left"):
            ledger.spend(event)
    with pytest.raises(BudgetExhausted, match=r"35 more of PerturbedEstimate.*34 left"):
        LEDGER.spend(ESTIMATE, 35)


@pytest.mark.parametrize(
    "unknown", [NotPrivate(), dataclasses.replace(ESTIMATE, noise=165.9), dataclasses.replace(STREAM, levels=18)]
)
def test_what_was_not_paid_for_is_refused(unknown: Event) -> None:
    assert LEDGER.remaining(unknown) == 0
    with pytest.raises(BudgetExhausted, match="0 left"):
        LEDGER.spend(unknown)


@pytest.mark.parametrize("count", [math.nan, math.inf, 0, -1, 1.0, True])
def test_a_count_is_a_whole_number(count: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^count must be a whole number"):
        LEDGER.spend(ESTIMATE, count)
    with pytest.raises(InvalidInput, match=r"^count must be a whole number"):
        Entry(ESTIMATE, count)


def test_a_refusal_changes_nothing() -> None:
    before = LEDGER.spend(ESTIMATE, 30)
    after = dataclasses.replace(before)
    with pytest.raises(BudgetExhausted):
        before.spend(ESTIMATE, 5)
    assert before == after
    assert LEDGER.spent == ()


def test_a_ledger_cannot_be_made_overspent() -> None:
    with pytest.raises(BudgetExhausted, match="more than was paid for"):
        dataclasses.replace(LEDGER, spent=(Entry(ESTIMATE, 35),))
    with pytest.raises(BudgetExhausted, match="more than was paid for"):
        dataclasses.replace(LEDGER, spent=(Entry(ESTIMATE, 20), Entry(ESTIMATE, 20)))
    assert dataclasses.replace(LEDGER, spent=(Entry(ESTIMATE, 34),)) == LEDGER.spend(ESTIMATE, 34)


def test_ledgers_and_entries_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        LEDGER.spent = ()  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        LEDGER.allowance[0].count = 10  # type: ignore[misc]


def test_the_claim_is_the_reservation_and_does_not_grow_with_spending() -> None:
    assert LEDGER.spend(STREAM).spend(ESTIMATE, 3).claimed == LEDGER.claimed == EpsilonDelta(1.0, 1e-10)
