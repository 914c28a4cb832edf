"""What was seen and the store does not have: kept, charged once, and nothing is released before that."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.service.store.samples import HOLDER, PRODUCT, given, learn, pass_time, release, state

from hushprice.service.store import open_store
from hushprice.service.store.consistency import problems
from hushprice.service.store.lost_releases import Mark, digest, lineage_of
from hushprice.service.store.protocol import LearnerStore, LeaseLost, QuoterStore
from hushprice.service.store.values import SeenRelease, StoredRelease


def seen(made: StoredRelease, restores: int = 0) -> SeenRelease:
    return SeenRelease(made.product, made.sequence, made.records, digest(made.numbers), restores)


FIRST, SECOND = Mark(1, digest(release(1, 2).numbers)), Mark(2, digest(release(2, 4).numbers))  # of the store


def lost(number: int, records: int, *before: Mark, name: bytes = b"", restores: int = 0) -> SeenRelease:
    """A release that the store lacks, of a history that had these releases before it."""
    made = Mark(number, digest(name or b"%d" % number))
    return SeenRelease(PRODUCT, number, records, made.digest, restores, 0, lineage_of([*before, made]))


@pytest.fixture
def two(quoter: QuoterStore, learner: LearnerStore) -> LearnerStore:
    """A store with two releases, of four slots."""
    given(quoter, 6)
    pass_time(quoter, 20.0)
    learn(learner, 2, release(1, 2))
    learn(learner, 4, release(2, 4, batch=2))
    return learner


def test_a_release_of_the_store_is_no_news(two: LearnerStore, quoter: QuoterStore) -> None:
    quoter.report_seen([seen(release(1, 2)), seen(release(2, 4))])
    assert two.highest_seen(PRODUCT) is None
    learn(two, 6, release(3, 6, batch=4))


def test_another_release_of_the_same_number_stops_releases_until_it_is_charged(
    two: LearnerStore, quoter: QuoterStore
) -> None:
    """The quoter was away while a backup was restored and its number was reached again."""
    other = seen(release(1, 5, numbers=b"another draw"))
    quoter.report_seen([other, other])
    assert two.highest_seen(PRODUCT) == SeenRelease(PRODUCT, 1, 5)
    with pytest.raises(LeaseLost):
        learn(two, 6, release(3, 6, batch=4))
    with pytest.raises(LeaseLost):
        learn(two, 6, sequence=2)

    to = two.skip_to(HOLDER, SeenRelease(PRODUCT, 1, 5), 1234.0)
    assert (to.sequence, to.records) == (3, 5)  # a number that nobody has, after all that either has learned
    assert two.highest_seen(PRODUCT) is None
    assert two.skip_to(HOLDER, SeenRelease(PRODUCT, 3, 0), 1235.0) == to  # a learner that died in between does it again
    quoter.report_seen([other])  # and so does its quoter
    assert two.highest_seen(PRODUCT) is None
    two.commit(HOLDER, state(5, 3), [], 1236.0)
    learn(two, 6, release(4, 6, batch=5))
    (change,) = two.changes(PRODUCT)
    assert change.what == "overlapping histories"
    assert "release 1 of a history that the store had lost" in change.detail
    assert "up to 5 may be in releases of both" in change.detail
    (product,) = quoter.products()
    assert (product.skipped_releases, product.restores, product.overlaps) == (3, 1, 1)
    assert problems(two) == []


def test_lower_releases_of_a_history_that_was_charged_are_charged_with_it(
    two: LearnerStore, quoter: QuoterStore
) -> None:
    five = lost(5, 8, FIRST, SECOND)
    six = lost(6, 9, FIRST, SECOND, Mark(5, five.digest))
    quoter.report_seen([six])
    two.skip_to(HOLDER, six, 1234.0)
    quoter.report_seen([five, six])
    assert two.highest_seen(PRODUCT) is None
    quoter.report_seen([lost(5, 8, FIRST, SECOND, name=b"of yet another history")])
    assert two.highest_seen(PRODUCT) == SeenRelease(PRODUCT, 5, 8)


def test_restored_backups_that_a_backup_has_forgotten_are_counted(two: LearnerStore, quoter: QuoterStore) -> None:
    """The same backup is restored for the third time; the note is of a release after the second."""
    quoter.report_seen([lost(9, 20, FIRST, SECOND, restores=2)])
    found = two.highest_seen(PRODUCT)
    assert found == SeenRelease(PRODUCT, 9, 20)
    two.skip_to(HOLDER, found, 1234.0)
    assert (quoter.products()[0].restores, quoter.products()[0].overlaps) == (3, 0)
    assert [change.what for change in two.changes(PRODUCT)] == ["restored backup"] * 3


def listed(two: LearnerStore, *told: list[SeenRelease]) -> list[str]:
    """The changes that come of telling a store of lost releases, one list after another."""
    for seen in told:
        two.report_seen(seen)
        found = two.highest_seen(PRODUCT)
        assert found is not None
        two.skip_to(HOLDER, found, 1234.0)
    return [change.what for change in two.changes(PRODUCT)]


def test_a_store_that_is_told_in_time_has_no_overlap(two: LearnerStore) -> None:
    six = lost(6, 9, FIRST, SECOND)
    assert listed(two, [six], [lost(8, 12, FIRST, SECOND, Mark(6, six.digest))]) == ["restored backup"] * 2


def test_a_second_quoter_of_the_lost_history_that_comes_too_late_has_one(two: LearnerStore) -> None:
    """The first had told the store of release 6, after which it went on and made release 7."""
    six = lost(6, 9, FIRST, SECOND)
    assert listed(two, [six]) == ["restored backup"]
    given(two, 10)
    pass_time(two, 20.0)
    two.commit(HOLDER, state(9, 6), [], 1235.0)
    learn(two, 12, release(7, 12, batch=9))
    changes = listed(two, [lost(8, 14, FIRST, SECOND, Mark(6, six.digest))])
    assert changes == ["restored backup", "overlapping histories"]
    assert "not learned again" not in two.changes(PRODUCT)[-1].detail


def test_two_quoters_of_one_lost_history_are_charged_once(two: LearnerStore) -> None:
    six = lost(6, 9, FIRST, SECOND)
    assert listed(two, [six, lost(8, 12, FIRST, SECOND, Mark(6, six.digest))]) == ["restored backup"]


def test_two_lost_histories_overlap_though_each_was_told_in_time(two: LearnerStore) -> None:
    one, other = lost(6, 9, FIRST, SECOND), lost(5, 9, FIRST, SECOND, name=b"other")
    assert listed(two, [one, other]) == ["restored backup", "overlapping histories"]


def test_two_lost_histories_overlap_also_where_they_are_told_one_by_one(two: LearnerStore) -> None:
    one, other = lost(6, 9, FIRST, SECOND), lost(7, 9, FIRST, SECOND, name=b"other", restores=1)
    assert listed(two, [one], [other]) == ["restored backup", "restored backup", "overlapping histories"]


def test_overlaps_that_a_backup_has_forgotten_are_counted(two: LearnerStore) -> None:
    noted = msgspec.structs.replace(lost(9, 20, FIRST, SECOND, restores=3), overlaps=2)
    assert sorted(listed(two, [noted])) == ["overlapping histories"] * 2 + ["restored backup"] * 2


def test_a_note_of_version_1_has_no_lineage_and_counts_as_an_overlap(two: LearnerStore) -> None:
    assert listed(two, [SeenRelease(PRODUCT, 6, 9, b"six")]) == ["overlapping histories"]


def test_accepting_lost_notes_is_listed_for_every_product_with_quotes(two: LearnerStore) -> None:
    two.add_product("unsold", b"{}", b"{}", 0.0)
    two.accept_lost_notes(1234.0)
    assert [change.what for change in two.changes(PRODUCT)] == ["lost notes"]
    assert two.changes("unsold") == []
    assert [(each.restores, each.overlaps) for each in two.products()] == [(1, 1), (0, 0)]


def test_a_copy_takes_an_identity_of_its_own_and_says_so(two: LearnerStore) -> None:
    before = two.identity()
    two.become_copy(1234.0)
    assert len(two.identity()) == 16
    assert two.identity() != before
    (change,) = two.changes(PRODUCT)
    assert change.what == "overlapping histories"
    assert "up to slot 6" in change.detail


def test_what_is_reported_while_a_learner_skips_is_not_lost(two: LearnerStore, quoter: QuoterStore) -> None:
    quoter.report_seen([SeenRelease(PRODUCT, 6, 9, b"six")])
    found = two.highest_seen(PRODUCT)
    assert found is not None
    quoter.report_seen([SeenRelease(PRODUCT, 8, 14, b"eight")])
    two.skip_to(HOLDER, found, 1234.0)
    assert two.highest_seen(PRODUCT) == SeenRelease(PRODUCT, 8, 14)


def test_a_store_has_an_identity_of_its_own(
    store_uri: str, learner: LearnerStore, quoter: QuoterStore, tmp_path: Path
) -> None:
    assert len(learner.identity()) == 16
    assert quoter.identity() == learner.identity()
    other = open_store(str(tmp_path / "other.db"), "quoter")
    assert other.identity() != learner.identity()
    other.close()
