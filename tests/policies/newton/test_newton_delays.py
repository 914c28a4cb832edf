"""noisy-newton learns and releases by slot number: when outcomes come, in which order, or whether, decides nothing.

Each check below is also run against an engine with the bug it is there for, and must then fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.policies.newton.newton_runs import COUNT, DELAY, IN_TURN, bought, opened, serve

from hushprice import Pricer
from hushprice.numerics.jit import COMPILED
from hushprice.policies.newton.engine import NewtonEngine
from hushprice.policies.newton.pricing import transition
from hushprice.releases import CurvatureRelease
from hushprice.slots import Slots
from hushprice.types import FloatArray

LATEST = {n + DELAY: [n] for n in range(COUNT - DELAY)}
BACKWARDS = {n: [n - 1, n] if n % 2 else [] for n in range(COUNT)} | {n: [n, n - 1] for n in range(1, COUNT, 2)}
GATHERED = {n: list(range(n, n - DELAY - 1, -1)) for n in range(DELAY, COUNT, DELAY + 1)}
ARRIVALS = {"in turn": IN_TURN, "latest": LATEST, "backwards": BACKWARDS, "gathered": GATHERED, "never": {}}


@pytest.fixture(autouse=True, scope="module")
def many_blocks() -> Iterator[None]:
    """Short batches have one block; here they have several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transition, "BLOCKS", 1.0)
        yield


class Watched:
    """A batch that writes down after how many records, and at which quote, each release was made."""

    def __init__(self, pricer: Pricer) -> None:
        self._real, self._slots = pricer.learner.batch, pricer.slots
        self.seen: list[tuple[str, int, int]] = []
        pricer.learner.batch = self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def look(self, records: int) -> FloatArray:
        self.seen.append(("look", records, self._slots.count + 1))
        return self._real.look(records)

    def score(self, records: int) -> FloatArray:
        self.seen.append(("score", records, self._slots.count + 1))
        return self._real.score(records)


def on_schedule() -> Pricer:
    """Batches are looked at block by block, and none is ended early."""
    usual = opened()
    rules = replace(usual.policy.rules, trigger=1e9)
    return Pricer(
        policy=replace(usual.policy, rules=rules),
        demand=usual.demand,
        features=usual.features,
        horizon=usual.horizon,
        delay=DELAY,
        source=usual.source,
        simulation=True,
    )


def watched_run(
    arrivals: dict[int, list[int]], make: Callable[[], Pricer] = opened
) -> tuple[list[tuple[str, int, int]], list[float]]:
    pricer = make()
    watched = Watched(pricer)
    prices = serve(pricer, arrivals)
    return watched.seen, prices


def public_ends(pricer: Pricer) -> tuple[list[int], list[int]]:
    """Where blocks and batches end without a trigger: functions of slot numbers alone."""
    looks, ends, quoter = [], [], pricer.quoter
    while quoter.look < COUNT - DELAY:
        looks.append(quoter.look)
        if quoter.look == quoter.end:
            ends.append(quoter.end)
            quoter.follow(quoter.end)
        else:
            quoter.go_on()
    return looks, ends


def check_releases_are_due_by_slot(arrivals: dict[int, list[int]]) -> None:
    """Every release comes with the quote at which the last slot of its block is learned, and with no other."""
    seen, _ = watched_run(arrivals, on_schedule)
    looks, ends = public_ends(on_schedule())
    assert [records for kind, records, _ in seen if kind == "look"] == looks
    assert [records for kind, records, _ in seen if kind == "score"] == ends
    assert len(looks) > 2 * len(ends) > 6
    assert all(quote == records + DELAY + 1 for _, records, quote in seen)


def check_arrivals_change_nothing(arrivals: dict[int, list[int]]) -> None:
    """In time is in time: releases and prices are those of outcomes that come at once."""
    assert watched_run(arrivals) == watched_run(IN_TURN)


@pytest.mark.parametrize("name", ARRIVALS)
def test_blocks_and_batches_end_by_slot_number(name: str) -> None:
    check_releases_are_due_by_slot(ARRIVALS[name])


@pytest.mark.parametrize("name", ["latest", "backwards", "gathered"])
def test_an_outcome_that_is_in_time_counts_whenever_it_came(name: str) -> None:
    check_arrivals_change_nothing(ARRIVALS[name])


@settings(deadline=None, max_examples=20 if COMPILED else 4)
@given(st.lists(st.integers(0, DELAY), min_size=COUNT, max_size=COUNT), st.randoms(use_true_random=False))
def test_any_order_within_the_deadline_gives_the_same_prices(waits: list[int], shuffler: Any) -> None:
    arrivals: dict[int, list[int]] = {}
    for slot, wait in enumerate(waits):
        arrivals.setdefault(slot + wait, []).append(slot)
    for some in arrivals.values():
        shuffler.shuffle(some)
    check_arrivals_change_nothing(arrivals)


def test_a_late_outcome_counts_as_no_purchase_and_so_does_a_missing_one() -> None:
    late = {n + DELAY + 1: [n] for n in range(COUNT - DELAY - 1)}
    expected = serve(opened(), IN_TURN, bought=lambda n, price: 0.0)
    assert serve(opened(), late) == serve(opened(), {}) == expected
    assert serve(opened(), IN_TURN) != expected


def test_an_outcome_moves_no_price_before_its_block_was_released() -> None:
    looks, _ = public_ends(on_schedule())
    base = serve(on_schedule())
    for slot in (1, 20, 50):

        def otherwise(n: int, price: float, slot: int = slot) -> float:
            return 1.0 - bought(n, price) if n == slot - 1 else bought(n, price)

        prices = serve(on_schedule(), bought=otherwise)
        released = next(look for look in looks if look >= slot) + DELAY  # quotes before it read older releases
        assert prices[:released] == base[:released]
        assert prices != base


# ---- planted ---------------------------------------------------------------------------------------------------------


def cut_by_arrival(self: NewtonEngine, slots: Slots, period: int) -> None:
    """The bug: a block ends once so many outcomes have come, whichever they are."""
    quoter, learner = self.quoter, self.learner
    due = slots.due()
    if due is not None:
        learner.absorb(*due, quoter.theta, quoter.inverse)
    arrived = sum(status == 1 for status in slots.status)
    if learner.count > quoter.batch and arrived >= quoter.look:
        release = learner.curvature()
        curvature = CurvatureRelease(release.packed, quoter.look, release.event)
        if quoter.ends(curvature):
            score = learner.score()
            object.__setattr__(score, "records", quoter.look)
            quoter.accept(score, curvature)
        else:
            quoter.go_on()
    if learner.ended:
        learner.begin(quoter.level)


def due_early(self: Slots) -> tuple[FloatArray, float] | None:
    """The bug: a slot is learned as soon as its outcome is there."""
    if self.pending and self.pending[0].demand is not None and self.learned < self.last:
        due = self.pending.popleft()
        self.learned += 1
        return due.phi, float(due.demand or 0.0)
    return REAL_DUE(self)


REAL_DUE = Slots.due
PLANTED: dict[str, tuple[type, str, Any]] = {
    "batches cut by arrival": (NewtonEngine, "learn", cut_by_arrival),
    "a release before the last slot's deadline": (Slots, "due", due_early),
}


def unless(check: Callable[[], None]) -> bool:
    """Does the check fail?"""
    try:
        check()
    except Exception:
        return True
    return False


@pytest.mark.parametrize("bug", PLANTED)
def test_the_checks_fail_where_the_bug_they_are_for_is_planted(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, name, planted = PLANTED[bug]
    monkeypatch.setattr(kind, name, planted)
    assert unless(lambda: check_releases_are_due_by_slot(IN_TURN))
    assert unless(lambda: check_arrivals_change_nothing(LATEST))
