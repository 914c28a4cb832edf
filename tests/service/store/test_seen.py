"""What was seen and the store does not have: kept, charged once, and nothing is released before that."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.service.store.samples import HOLDER, PRODUCT, given, learn, pass_time, release, state
from tests.service.store_consistency import problems

from hushprice.service.store import open_store
from hushprice.service.store.decisions import digest
from hushprice.service.store.protocol import LearnerStore, LeaseLost, QuoterStore
from hushprice.service.store.values import SeenRelease, StoredRelease


def seen(made: StoredRelease, restores: int = 0) -> SeenRelease:
    return SeenRelease(made.product, made.sequence, made.records, digest(made.numbers), restores)


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
    assert change.what == "restored backup"
    assert "another release 1" in change.detail
    assert "up to 5" in change.detail
    (product,) = quoter.products()
    assert (product.skipped_releases, product.restores) == (3, 1)
    assert problems(two) == []


def test_lower_releases_of_a_history_that_was_charged_are_charged_with_it(
    two: LearnerStore, quoter: QuoterStore
) -> None:
    quoter.report_seen([SeenRelease(PRODUCT, 6, 9, b"six")])
    two.skip_to(HOLDER, SeenRelease(PRODUCT, 6, 9), 1234.0)
    quoter.report_seen([SeenRelease(PRODUCT, 5, 8, b"five"), SeenRelease(PRODUCT, 6, 9, b"six")])
    assert two.highest_seen(PRODUCT) is None
    quoter.report_seen([SeenRelease(PRODUCT, 5, 12, b"of yet another history")])
    assert two.highest_seen(PRODUCT) == SeenRelease(PRODUCT, 5, 12)


def test_restored_backups_that_a_backup_has_forgotten_are_counted(two: LearnerStore, quoter: QuoterStore) -> None:
    """The same backup is restored for the third time; the note is of a release after the second."""
    quoter.report_seen([SeenRelease(PRODUCT, 9, 20, b"nine", restores=2)])
    found = two.highest_seen(PRODUCT)
    assert found == SeenRelease(PRODUCT, 9, 20, restores=2)
    two.skip_to(HOLDER, found, 1234.0)
    assert quoter.products()[0].restores == 3
    assert [change.what for change in two.changes(PRODUCT)] == ["restored backup"] * 3


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
