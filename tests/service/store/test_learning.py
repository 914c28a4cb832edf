"""Leases, releases, restored backups and figures, on both databases."""

from __future__ import annotations

import pytest
from tests.service.conftest import as_quoter
from tests.service.store.samples import HOLDER, PRODUCT, given, learn, pass_time, release, state, tell

from hushprice.errors import InvalidInput
from hushprice.service.store import decisions, open_store
from hushprice.service.store.consistency import inspect, problems
from hushprice.service.store.lost_releases import Mark, lineage_of, mark_of
from hushprice.service.store.protocol import (
    LEASE,
    SKEW,
    DuplicateProduct,
    LearnerStore,
    LeaseLost,
    QuoterStore,
    UnknownProduct,
)
from hushprice.service.store.values import ApiKey, Figures, LearnerReport, LearningProgress, SeenRelease


def test_one_learner_has_the_lease_until_it_runs_out_or_is_dropped(learner: LearnerStore, quoter: QuoterStore) -> None:
    assert not quoter.learner_alive(0.0)
    assert learner.take_lease("a", 100.0)
    assert not learner.take_lease("b", 100.0 + LEASE - 0.01)
    assert learner.take_lease("a", 102.0)
    assert quoter.learner_alive(102.0 + LEASE - 0.01)
    assert not quoter.learner_alive(102.0 + LEASE)
    assert learner.take_lease("b", 102.0 + LEASE)
    learner.drop_lease("a")
    assert not learner.take_lease("a", 108.0)
    learner.drop_lease("b")
    assert learner.take_lease("a", 108.0)


def test_a_lease_further_ahead_than_any_can_be_has_expired(learner: LearnerStore, quoter: QuoterStore) -> None:
    """Its holder's clock was an hour fast, and it crashed: nobody waits for that hour."""
    assert learner.take_lease("fast", 100.0 + 3600.0)
    assert not quoter.learner_alive(100.0)
    assert not quoter.learning_progress(100.0).held
    assert learner.take_lease("right", 100.0)
    assert not learner.take_lease("a little slow", 100.0 - SKEW)
    assert quoter.learner_alive(100.0 - SKEW)
    assert learner.take_lease("slow", 100.0 - SKEW - 0.01)


def test_progress_is_what_the_holder_says_and_what_is_due(learner: LearnerStore, quoter: QuoterStore) -> None:
    learner.add_product("coat", b"{}", b"{}", 1000.0)
    given(quoter, 3, window=10.0)
    assert quoter.learning_progress(100.0) == LearningProgress(False, LearnerReport(), {})
    assert learner.take_lease("a", 100.0, LearnerReport(7.5, 2))
    pass_time(quoter, 14.0)
    progress = quoter.learning_progress(101.0)
    assert (progress.held, progress.report) == (True, LearnerReport(7.5, 2))
    assert progress.overdue == {PRODUCT: pytest.approx(4.0)}
    learner.drop_lease("a")
    learn(learner, 3)
    assert learner.learning_progress(1000.0).overdue == {}


def test_a_release_is_stored_with_the_state_that_made_it(quoter: QuoterStore, learner: LearnerStore) -> None:
    given(quoter, 4)
    pass_time(quoter, 20.0)
    assert learner.state(PRODUCT) is None
    assert quoter.latest_release(PRODUCT) is None
    first, second = release(1, 2, kind="curvature"), release(2, 2)
    learn(learner, 2, first, second)
    assert learner.state(PRODUCT) == state(2, 2)
    assert quoter.releases(PRODUCT) == [first, second]
    third = release(3, 4, batch=2, kind="moments")
    learn(learner, 4, third)
    assert quoter.releases(PRODUCT, after=2) == [third] == [quoter.latest_release(PRODUCT)]
    assert quoter.releases(PRODUCT, after=3) == quoter.releases("nothing") == []
    assert problems(learner) == []


def test_learned_slots_lose_their_contexts(quoter: QuoterStore, learner: LearnerStore) -> None:
    given(quoter, 3)
    pass_time(quoter, 20.0)
    learn(learner, 2)
    assert inspect(learner, PRODUCT).contexts_learned == 0
    assert [slot.context is None for slot in learner.due(PRODUCT, 2, 10)] == [False]
    with pytest.raises(LeaseLost):
        learner.due(PRODUCT, 1, 10)
    assert problems(learner) == []


def test_a_store_may_be_closed_twice(learner: LearnerStore) -> None:
    learner.close()
    learner.close()


@pytest.mark.parametrize("holder", ["other", None])
def test_without_the_lease_nothing_is_stored(quoter: QuoterStore, learner: LearnerStore, holder: str | None) -> None:
    given(quoter, 2)
    if holder is not None:
        learner.take_lease(holder, 1000.0)
    for call in (
        lambda: learner.commit(HOLDER, state(2, 1), [release(1, 2)], 1000.0),
        lambda: learner.skip_to(HOLDER, SeenRelease(PRODUCT, 3, 9), 1000.0),
    ):
        with pytest.raises(LeaseLost):
            call()
    assert (learner.state(PRODUCT), learner.releases(PRODUCT), learner.products()[0].slots) == (None, [], 2)


@pytest.mark.parametrize(
    ("learned", "releases"),
    [(1, [release(2, 1)]), (2, [release(1, 2)]), (1, []), (3, [])],
    ids=["fewer slots", "a release that was made", "fewer releases and slots", "fewer releases"],
)
def test_a_state_older_than_the_stored_one_is_refused(
    quoter: QuoterStore, learner: LearnerStore, learned: int, releases: list
) -> None:
    given(quoter, 3)
    pass_time(quoter, 20.0)
    learn(learner, 2, release(1, 2))
    sequence = releases[-1].sequence if releases else 0
    with pytest.raises(LeaseLost):
        learner.commit(HOLDER, state(learned, sequence), releases, 1000.0)
    assert learner.state(PRODUCT) == state(2, 1)


def test_releases_with_gaps_or_of_slots_never_given_are_refused(quoter: QuoterStore, learner: LearnerStore) -> None:
    given(quoter, 2)
    learner.take_lease(HOLDER, 1000.0)
    for learned, sequence, releases in (
        (2, 2, [release(2, 2)]),
        (2, 1, []),
        (2, 1, [release(1, 2, product="coat")]),
        (3, 0, []),
    ):
        with pytest.raises(InvalidInput):
            learner.commit(HOLDER, state(learned, sequence), releases, 1000.0)
    assert (learner.state(PRODUCT), learner.releases(PRODUCT)) == (None, [])
    learner.commit(HOLDER, state(2), [], 1000.0)
    learner.commit(HOLDER, state(2), [], 1000.0)  # the same again loses nothing


def test_the_highest_release_seen_by_anybody_is_kept(quoter: QuoterStore, learner: LearnerStore) -> None:
    assert learner.highest_seen(PRODUCT) is None
    quoter.report_seen([SeenRelease(PRODUCT, 3, 30), SeenRelease("older than this backup", 1, 2)])
    quoter.report_seen([SeenRelease(PRODUCT, 2, 20)])
    quoter.report_seen([])
    assert learner.highest_seen(PRODUCT) == SeenRelease(PRODUCT, 3, 30)
    quoter.report_seen([SeenRelease(PRODUCT, 4, 40), SeenRelease(PRODUCT, 5, 50)])
    assert learner.highest_seen(PRODUCT) == SeenRelease(PRODUCT, 5, 50)
    assert learner.highest_seen("older than this backup") == SeenRelease("older than this backup", 1, 2)


def test_after_a_restored_backup_no_charged_slot_is_learned_again(quoter: QuoterStore, learner: LearnerStore) -> None:
    given(quoter, 6)
    pass_time(quoter, 20.0)
    learn(learner, 2, release(1, 2))
    first, fourth = mark_of(release(1, 2)), Mark(4, b"digest of it")
    seen = SeenRelease(PRODUCT, 4, 8, fourth.digest, lineage=lineage_of([first, fourth]))
    quoter.report_seen([seen])
    learner.skip_to(HOLDER, seen, 1234.0)
    learner.skip_to(HOLDER, seen, 1235.0)  # a learner that died in between does it again
    assert learner.due(PRODUCT, 2, 10) == learner.due(PRODUCT, 8, 10) == []
    assert problems(learner) == []
    with pytest.raises(LeaseLost):
        learner.commit(HOLDER, state(6, 1), [], 1000.0)  # the old numbers
    with pytest.raises(LeaseLost):
        learner.commit(HOLDER, state(8, 2), [release(2, 8)], 1000.0)
    learner.commit(HOLDER, state(8, 4), [], 1000.0)
    given(quoter, 2)
    pass_time(quoter, 20.0, start=2e6)
    assert [slot.slot for slot in learner.due(PRODUCT, 8, 10)] == [9, 10]
    learn(learner, 10, release(5, 10, batch=8))
    assert [one.sequence for one in learner.releases(PRODUCT)] == [1, 5]
    (change,) = learner.changes(PRODUCT)
    assert (change.what, change.at) == ("restored backup", 1234.0)
    assert "8" in change.detail
    assert learner.figures(PRODUCT).waiting == 0
    assert problems(learner) == []


def test_a_backup_older_than_its_unlearned_slots_hands_none_of_them_out(
    quoter: QuoterStore, learner: LearnerStore
) -> None:
    given(quoter, 6)
    pass_time(quoter, 20.0)
    learner.take_lease(HOLDER, 1000.0)
    learner.skip_to(HOLDER, SeenRelease(PRODUCT, 1, 4), 1000.0)
    assert [slot.slot for slot in learner.due(PRODUCT, 0, 10)] == [5, 6]
    assert inspect(learner, PRODUCT).slots == 6


def test_figures_count_every_quote_once(
    quoter: QuoterStore, learner: LearnerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decisions, "today", lambda: 0)
    bought, declined, silent, late = given(quoter, 4, price=0.25)
    (held,) = given(quoter, holdout=True, price=0.5, cap=1, customer=b"ann")
    given(quoter, cap=1, customer=b"ann")
    for name, demand in ((bought, 2.0), (declined, 0.0), (held, 1.0), (bought, 2.0), (bought, 3.0)):
        tell(quoter, name, demand)
    monkeypatch.setattr(decisions, "today", lambda: 1)
    given(quoter, 1, window=1000.0)
    day = Figures(
        quoted=6,
        bought=2,
        declined=1,
        expired=0,
        waiting=3,
        repeated=1,
        conflicting=1,
        late=0,
        over_cap=1,
        forgotten=0,
        holdout_quotes=1,
        holdout_revenue=0.5,
        personal_quotes=5,
        personal_revenue=0.5,
        holdout_squares=0.25,
        personal_squares=0.25,
    )
    new = Figures(1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0.0, 1, 0.0, 0.0, 0.0)
    assert learner.daily_figures(PRODUCT, 5) == [("1970-01-01", day), ("1970-01-02", new)]
    assert learner.daily_figures(PRODUCT, 1) == [("1970-01-02", new)]
    pass_time(quoter, 20.0)
    tell(quoter, late)
    learn(learner, 6)
    total = learner.figures(PRODUCT)
    assert (total.quoted, total.expired, total.waiting, total.late) == (7, 3, 1, 1)
    assert silent


def test_figures_of_a_forgotten_customer_are_taken_back(quoter: QuoterStore, learner: LearnerStore) -> None:
    names = given(quoter, 3, customer=b"ann", price=0.25)
    tell(quoter, names[0], 2.0)
    tell(quoter, names[1], 0.0)
    pass_time(quoter, 20.0)
    learn(learner, 3)
    given(quoter, 1, customer=b"ann", holdout=True)
    quoter.forget(b"ann")
    assert learner.figures(PRODUCT) == Figures(4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0.0, 0, 0.0, 0.0, 0.0)
    pass_time(quoter, 20.0, start=2e6)
    learn(learner, 4)
    assert learner.figures(PRODUCT).expired == 0
    assert problems(learner) == []


def test_products_and_changes(quoter: QuoterStore, learner: LearnerStore) -> None:
    with pytest.raises(DuplicateProduct):
        quoter.add_product(PRODUCT, b"other", b"{}", 1.0)
    quoter.add_product("coat", b'{"a": 1}', b'{"floor": 1}', 2.0)
    quoter.set_status("coat", "frozen", 3.0)
    quoter.set_status("coat", "frozen", 4.0)  # no change
    quoter.set_status("coat", "open", 5.0)
    quoter.set_rules("coat", b'{"floor": 2}', "floor 2", 6.0)
    quoter.set_reference_price("coat", 0.25, 7.0)
    coat = quoter.products()[1]
    assert (coat.name, coat.spec, coat.status, coat.rules) == ("coat", b'{"a": 1}', "open", b'{"floor": 2}')
    assert (coat.reference_price, coat.slots, coat.created) == (0.25, 0, 2.0)
    assert [(change.what, change.at) for change in quoter.changes("coat")] == [
        ("freeze", 3.0),
        ("resume", 5.0),
        ("rules", 6.0),
        ("reference price", 7.0),
    ]
    assert "0.25" in quoter.changes("coat")[3].detail
    assert quoter.changes(PRODUCT) == []


def test_a_product_that_is_not_there_is_unknown(quoter: QuoterStore, learner: LearnerStore) -> None:
    learner.take_lease(HOLDER, 1.0)
    for call in (
        lambda: quoter.set_status("coat", "open", 1.0),
        lambda: quoter.set_rules("coat", b"{}", "", 1.0),
        lambda: quoter.set_reference_price("coat", 0.5, 1.0),
        lambda: learner.due("coat", 0, 1),
        lambda: learner.commit(HOLDER, state(0, product="coat"), [], 1.0),
        lambda: learner.skip_to(HOLDER, SeenRelease("coat", 1, 1), 1.0),
        lambda: learner.add_certificate("coat", b"", 1.0),
        lambda: learner.figures("coat"),
        lambda: learner.daily_figures("coat", 1),
        lambda: inspect(learner, "coat"),
    ):
        with pytest.raises(UnknownProduct):
            call()
    assert quoter.certificate("coat") is None
    assert learner.state("coat") is None


def test_api_keys_and_certificates_are_replaced(quoter: QuoterStore, learner: LearnerStore) -> None:
    learner.add_api_key(ApiKey("shop", "shop", b"1"))
    learner.add_api_key(ApiKey("admin", "admin", b"2"))
    learner.add_api_key(ApiKey("shop", "auditor", b"3"))
    assert quoter.api_keys() == [ApiKey("admin", "admin", b"2"), ApiKey("shop", "auditor", b"3")]
    learner.remove_api_key("shop")
    learner.remove_api_key("nobody")
    assert quoter.api_keys() == [ApiKey("admin", "admin", b"2")]
    learner.add_certificate(PRODUCT, b"old", 1.0)
    learner.add_certificate(PRODUCT, b"new", 2.0)
    assert quoter.certificate(PRODUCT) == b"new"


def test_everything_is_there_after_opening_again(store_uri: str, quoter: QuoterStore, learner: LearnerStore) -> None:
    name, _ = given(quoter, 2)
    tell(quoter, name, 2.0)
    pass_time(quoter, 20.0)
    learn(learner, 1, release(1, 1))
    with_quoter, again = open_store(as_quoter(store_uri), "quoter"), open_store(store_uri, "learner")
    try:
        assert with_quoter.latest_release(PRODUCT) == release(1, 1)
        assert again.state(PRODUCT) == state(1, 1)
        assert tell(with_quoter, name, 2.0).repeat
        assert problems(again) == []
    finally:
        with_quoter.close()
        again.close()
