"""The learner's loop on a real store: what is released when, what survives which failure, and who may learn."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.service.conftest import PostgresProcess
from tests.service.learning_runs import (
    BOUGHT,
    CONTEXTS,
    COUNT,
    WINDOW,
    Shop,
    many_blocks,
    public,
    same_noise,
    seen_of,
    spec,
)
from tests.waiting import eventually

from hushprice.policies.verification import verify
from hushprice.privacy.certificates import signing
from hushprice.privacy.certificates.certificate import Certificate
from hushprice.service.learning.loop import NICE, RETRY, LearningLoop
from hushprice.service.learning.product_learner import ProductLearner
from hushprice.service.store.protocol import LEASE, LearnerStore, LeaseLost, StoreUnavailable
from hushprice.service.store.sqlite import SqliteStore
from hushprice.service.store.values import LearnerReport, SeenRelease


@pytest.fixture(autouse=True, scope="module")
def blocks() -> Iterator[None]:
    with many_blocks():
        yield


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    opened = Shop(tmp_path)
    yield opened
    opened.close()


def run(folder: Path, act: Any) -> list[Any]:
    """The public side of a shop that `act` happens to, with the same noise every time."""
    folder.mkdir()
    shop = Shop(folder)
    with same_noise():
        act(shop)
    shown = public(shop.releases())
    shop.close()
    return shown


def learn_all(shop: Shop, **more: Any) -> LearningLoop:
    shop.wait(WINDOW + 1.0)
    learning = shop.learning(**more)
    while learning.turn():
        pass
    return learning


# ---- when ------------------------------------------------------------------------------------------------------------


def test_nothing_is_released_before_its_last_slots_deadline_however_complete_the_outcomes_are(shop: Shop) -> None:
    learning, deadlines = shop.learning(), list[float]()
    for n in range(12):
        shop.tell(shop.quote(n), BOUGHT[n])
        deadlines.append(shop.time + WINDOW)
        shop.wait(2.0)
    while shop.time < deadlines[-1]:
        learning.turn()
        assert all(deadlines[release.records - 1] <= shop.time for release in shop.releases())
        shop.wait(min(1.0, deadlines[-1] - shop.time))
    learning.turn()
    assert shop.releases()[-1].records > 9  # noise decides whether a batch ends at 9 or at 12, and when it is looked at


def test_release_times_do_not_depend_on_when_or_whether_outcomes_come(tmp_path: Path) -> None:
    def times(name: str, tells: Any) -> list[tuple[int, float]]:
        (tmp_path / name).mkdir()
        shop = Shop(tmp_path / name)
        learning, seen = shop.learning(), []
        with same_noise():
            for second in range(COUNT + 70):
                if second < 20:
                    shop.quote(second)
                for n in tells(second):
                    shop.tell(shop.ids[n], 0.0)
                shop.wait(1.0)
                learning.turn()
                seen.append((len(shop.releases()), shop.learned()))
        shop.close()
        return seen

    at_once = times("at once", lambda second: [second] if second < 20 else [])
    late = times("late", lambda second: [second - 50] if 50 <= second < 70 else [])
    never = times("never", lambda second: [])
    assert at_once == late == never
    assert at_once[-1][0] > 2


def test_a_late_purchase_is_not_learned_even_where_its_slot_was_not_learned_yet(tmp_path: Path) -> None:
    def served(shop: Shop, late: bool) -> None:
        for n in range(30):
            shop.quote(n)
        shop.wait(WINDOW + 1.0)
        if late:
            assert {shop.tell(each, 1.0).status for each in shop.ids} == {"late"}
        learn_all(shop)
        if late:
            assert {shop.tell(each, 1.0).status for each in shop.ids} <= {"late", "unknown"}
            learn_all(shop)

    assert run(tmp_path / "late", lambda shop: served(shop, True)) == run(
        tmp_path / "never", lambda shop: served(shop, False)
    )


def test_over_cap_and_forgotten_customers_leave_no_trace_in_releases(tmp_path: Path) -> None:
    def served(shop: Shop, other: bool) -> None:
        for n in range(40):
            again = 0 < n < 6  # customer "a" comes six times and may count once
            context = -CONTEXTS[n] if other and (again or n == 20) else None
            customer = b"a" if again or n == 0 else b"gone" if n == 20 else b"c%d" % n
            identity = shop.quote(n, context=context, customer=customer, cap=1)
            shop.tell(identity, 1.0 if other and again else BOUGHT[n])
        shop.store.forget(b"gone")
        learn_all(shop)

    one, two = (run(tmp_path / str(other), lambda shop, o=other: served(shop, o)) for other in (False, True))
    assert one == two
    assert len(one) > 3


def test_a_product_of_a_frozen_shop_is_learned_on(shop: Shop) -> None:
    shop.serve()
    shop.store.set_status("tea", "frozen", shop.time)
    learn_all(shop)
    assert shop.learned() == COUNT


def test_slots_after_the_horizon_are_counted_and_release_nothing(tmp_path: Path) -> None:
    shop = Shop(tmp_path, spec(horizon=46))
    shop.serve()
    learn_all(shop)
    assert shop.learned() == COUNT
    assert shop.releases()[-1].records <= 46
    assert not shop.learner().learning
    shop.close()


def test_both_stores_are_learned_from_alike(store_uri: str, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    shown = []
    for shop in (Shop(tmp_path, uri=store_uri), Shop(tmp_path / "other")):
        with same_noise():
            shop.serve(stop=40)
            learn_all(shop, chunk=15, signing_key=Ed25519PrivateKey.generate())
        assert shop.learned() == 40
        shown.append(public(shop.releases()))
        shop.close()
    assert shown[0] == shown[1]
    assert len(shown[0]) > 3


def test_a_database_that_goes_away_is_learned_from_when_it_is_back(
    postgres_process: PostgresProcess, postgres_uri: str, tmp_path: Path
) -> None:
    shop = Shop(tmp_path, uri=postgres_uri)
    shop.serve(stop=40)
    shop.wait(WINDOW)
    learning = shop.learning(chunk=15)
    assert learning.turn()
    postgres_process.stop()
    try:
        assert not learning.turn()
        assert learning._learners == {}
    finally:
        postgres_process.start()
    for _ in range(10):
        learning.turn()
    assert shop.learned() == 40
    sequences = [release.sequence for release in shop.releases()]
    assert sequences == list(range(1, len(sequences) + 1))
    shop.close()


# ---- crashes ---------------------------------------------------------------------------------------------------------


class Failing:
    """A store whose n-th commit with a release fails, before or after it was stored."""

    def __init__(self, store: LearnerStore, failing: int, stored: bool, problem: type[Exception]) -> None:
        self._store, self._left, self._stored, self._problem = store, failing, stored, problem

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def commit(self, holder: str, state: Any, releases: Any, now: float) -> None:
        self._left -= bool(releases)
        failing = self._left == 0 and bool(releases)
        if not failing or self._stored:
            self._store.commit(holder, state, releases, now)
        if failing:
            raise self._problem("the connection broke")


@pytest.mark.parametrize("problem", [StoreUnavailable, LeaseLost])
@pytest.mark.parametrize("failing", [1, 2, 5])
def test_a_release_that_was_not_stored_is_drawn_anew_and_nobody_saw_the_first(
    failing: int, problem: type[Exception], shop: Shop
) -> None:
    shop.serve()
    shop.wait(WINDOW)
    store: Any = Failing(shop.store, failing, False, problem)
    learning = LearningLoop(store, now=lambda: shop.time, chunk=5)
    with same_noise() as draws:
        while learning.turn():
            pass
        stored = len(shop.releases())
        assert stored < len(draws)
        while shop.learned() < COUNT:
            learning.turn()
    assert [release.sequence for release in shop.releases()] == list(range(1, len(shop.releases()) + 1))
    numbers = [release.numbers for release in shop.releases()]
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize("failing", [1, 2, 5])
def test_a_release_whose_commit_was_not_heard_of_is_read_back_and_never_drawn_again(
    failing: int, tmp_path: Path
) -> None:
    def served(shop: Shop, broken: bool) -> None:
        shop.serve()
        shop.wait(WINDOW)
        store: Any = Failing(shop.store, failing, True, StoreUnavailable) if broken else shop.store
        learning = LearningLoop(store, now=lambda: shop.time, chunk=5)
        while shop.learned() < COUNT:
            learning.turn()

    assert run(tmp_path / "broken", lambda shop: served(shop, True)) == run(
        tmp_path / "whole", lambda shop: served(shop, False)
    )


@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_restarts_and_chunks_change_nothing(chunk: int, tmp_path: Path) -> None:
    def served(shop: Shop, restart: bool) -> None:
        shop.serve()
        shop.wait(WINDOW)
        learning = shop.learning(chunk=chunk)
        while shop.learned() < COUNT:
            learning.turn()
            if restart:
                shop.store.drop_lease(learning.holder)
                learning = shop.learning(chunk=chunk)

    assert run(tmp_path / "restarted", lambda shop: served(shop, True)) == run(tmp_path / "not", learn_on)


def learn_on(shop: Shop) -> None:
    shop.serve()
    learn_all(shop)


def test_a_failing_draw_leaves_nothing_behind_and_the_others_go_on(tmp_path: Path, monkeypatch: Any) -> None:
    shop = Shop(tmp_path, spec(), spec(name="coffee"))
    shop.serve(stop=40)
    shop.serve(stop=40, product="coffee")
    shop.wait(WINDOW)
    real = ProductLearner._note_releases

    def failing(self: ProductLearner, *given: Any) -> None:
        if self.product.name == "tea" and given[0]:
            raise ZeroDivisionError("0.123456")
        real(self, *given)

    learning = shop.learning()
    with monkeypatch.context() as patch:
        patch.setattr(ProductLearner, "_note_releases", failing)
        learning.turn()
    assert shop.releases() == []
    assert len(shop.releases("coffee")) > 0
    assert learning.set_aside["tea"] == float("inf")  # noise was drawn: this process draws no other
    learning.turn()
    assert shop.releases() == []
    shop.wait(LEASE + 1.0)
    shop.learning().turn()  # another process may: nobody saw the first
    assert len(shop.releases()) > 0
    shop.close()


def test_a_product_that_cannot_be_read_is_tried_again_later(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    shop = Shop(tmp_path, spec(), spec(name="coffee"))
    shop.add(spec(name="broken").replace(b'"contexts":2', b'"contexts":-2'))
    shop.quote(0, product="broken")
    shop.wait(WINDOW)
    learning = shop.learning()
    learning.turn()
    assert learning.set_aside["broken"] == shop.time + RETRY
    assert "product broken is set aside: " in caplog.text
    shop.wait(RETRY + 1.0)
    learning.turn()
    assert learning.set_aside["broken"] == shop.time + RETRY
    shop.close()


# ---- restored backups ------------------------------------------------------------------------------------------------


def test_after_a_restored_backup_no_charged_slot_is_learned_again(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    shop = Shop(tmp_path / "shop")
    shop.serve(stop=30)
    learn_all(shop)
    backup = tmp_path / "backup"
    shop.back_up(backup)
    at_backup = shop.learned(), shop.releases()
    shop.serve(30, 70)
    learn_all(shop)
    seen = seen_of(shop.releases())
    assert seen.sequence > at_backup[1][-1].sequence

    shop.restore_backup(backup)
    shop.store.report_seen([seen])
    shop.wait(LEASE)
    learning = shop.learning()
    learning.turn()
    assert shop.learned() == seen.records
    (change,) = shop.store.changes("tea")
    assert change.what == "restored backup"
    learning.turn()
    assert len(shop.store.changes("tea")) == 1
    before = shop.learner()
    assert before._engine is not None
    assert before._engine.quoter.batch == seen.records
    assert before.version == at_backup[1][-1].version

    shop.serve(0, 60)
    shop.wait(WINDOW)
    learning.turn()
    fresh = [release for release in shop.releases() if release.sequence > at_backup[1][-1].sequence]
    assert fresh[0].sequence == seen.sequence + 1
    assert min(release.batch for release in fresh) >= seen.records
    shop.close()


def test_a_crash_after_skipping_is_skipped_again(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.serve(stop=20)
    shop.wait(WINDOW)
    shop.store.report_seen([SeenRelease("tea", 9, 15)])
    learning = shop.learning()
    shop.store.take_lease(learning.holder, shop.time)
    shop.store.skip_to(learning.holder, SeenRelease("tea", 9, 15), shop.time)  # and the process dies
    learning.turn()
    assert (shop.learned(), len(shop.store.changes("tea"))) == (20, 1)
    assert all(release.sequence > 9 and release.batch >= 15 for release in shop.releases())
    shop.close()


def test_memory_from_before_a_restored_backup_is_read_back(shop: Shop) -> None:
    shop.serve(stop=20)
    first = learn_all(shop)
    other = shop.learning()
    other.holder = first.holder  # as after a store that was restored while this process slept
    shop.store.report_seen([SeenRelease("tea", 90, 15)])
    other.turn()
    shop.serve(20, 40)
    shop.wait(WINDOW)
    first._renewed = shop.time  # it has kept its lease, and what it remembers
    first.turn()
    assert [change.what for change in shop.store.changes("tea")] == ["overlapping histories"]
    assert first._learners["tea"].sequence > 90


def test_memory_that_is_old_is_not_taken_for_a_restored_backup(shop: Shop) -> None:
    shop.serve(stop=30)
    first = learn_all(shop)
    stale = first._learners["tea"]
    shop.serve(30, 60)
    learn_all(shop, chunk=1000)  # another process of the same holder's name cannot be; this one is forgotten
    shop.serve(60, 70)
    shop.wait(WINDOW)
    first.turn()
    assert first._learners["tea"] is not stale
    latest = shop.releases()[-1]
    shop.store.report_seen([SeenRelease("tea", latest.sequence, latest.records)])
    first._learners["tea"] = stale
    first.turn()
    assert shop.store.changes("tea") == []


# ---- who -------------------------------------------------------------------------------------------------------------


def test_a_second_learner_never_releases_while_the_first_lives(shop: Shop) -> None:
    first, second = shop.learning(chunk=5), shop.learning(chunk=5)
    shop.serve(stop=60)
    shop.wait(WINDOW)
    first.turn()
    for _ in range(12):
        assert not second.turn()
        held = shop.releases()
        first.turn()
        assert shop.releases()[: len(held)] == held
        shop.wait(1.0)
    assert second._learners == {}
    assert shop.learned() == 60


def test_a_learner_that_was_away_forgets_and_the_one_that_took_over_goes_on(tmp_path: Path) -> None:
    def served(shop: Shop, change: bool) -> None:
        first, second = shop.learning(chunk=5), shop.learning(chunk=5)
        shop.serve(stop=60)
        shop.wait(WINDOW)
        for turn in range(14):
            if change and turn == 4:
                shop.wait(LEASE + 1.0)
            (second if change and turn >= 4 else first).turn()
        assert shop.learned() == 60
        if change:
            shop.wait(0.5)
            assert not first.turn()
            assert first._learners == {}

    assert run(tmp_path / "two", lambda shop: served(shop, True)) == run(
        tmp_path / "one", lambda shop: served(shop, False)
    )


def test_a_learner_whose_lease_was_taken_stores_nothing(shop: Shop) -> None:
    shop.serve(stop=40)
    shop.wait(WINDOW)
    first = shop.learning(chunk=5)
    first.turn()
    learned = shop.learned()
    first._renewed = shop.time + 0.5  # a process that slept believes in its lease still
    shop.wait(LEASE + 1.0)
    assert shop.store.take_lease("another", shop.time)
    first._renewed = shop.time
    assert not first.turn()
    assert shop.learned() == learned
    assert first._learners == {}


def test_a_learner_goes_on_at_once_after_one_whose_clock_was_fast_crashed(shop: Shop) -> None:
    shop.serve(stop=20)
    shop.wait(WINDOW)
    shop.learning(now=lambda: shop.time + 3600.0).turn()  # and the process dies, and the clock is put right
    held = shop.releases()
    shop.serve(20, 40)
    shop.wait(WINDOW)
    shop.learning().turn()
    assert shop.learned() == 40
    assert shop.releases()[: len(held)] == held


def test_a_product_found_at_run_time_is_learned(shop: Shop) -> None:
    learning = shop.learning()
    learning.turn()
    shop.add(spec(name="coffee"))
    shop.serve(stop=20, product="coffee")
    shop.wait(WINDOW)
    learning.turn()
    assert shop.learned("coffee") == 20


def test_the_loop_runs_until_it_is_stopped_and_lets_go_of_the_lease(shop: Shop) -> None:
    shop.serve(stop=30)
    shop.wait(WINDOW)
    stop = threading.Event()
    store = SqliteStore(shop.path)

    def work() -> None:
        LearningLoop(store, now=lambda: shop.time).run(stop)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        eventually(lambda: shop.learned() == 30)
        alive = shop.store.learner_alive(shop.time)
    finally:
        stop.set()
        thread.join()
        store.close()
    assert alive
    assert shop.learned() == 30
    assert not shop.store.learner_alive(shop.time)


class Watched:
    """A store that notes at which priority it is asked, and how often it commits."""

    def __init__(self, store: LearnerStore) -> None:
        self._store = store
        self.commits: list[int] = []  # releases in each
        self.priorities: dict[str, set[int]] = {}

    def __getattr__(self, name: str) -> Any:
        self.priorities.setdefault(name, set()).add(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        return getattr(self._store, name)

    def commit(self, holder: str, state: Any, releases: Any, now: float) -> None:
        self.commits.append(len(releases))
        self.__getattr__("commit")(holder, state, releases, now)


def test_a_chunk_keeps_quotes_from_the_store_once_however_much_it_releases(shop: Shop) -> None:
    shop.serve()
    shop.wait(WINDOW)
    store: Any = Watched(shop.store)
    learning = LearningLoop(store, now=lambda: shop.time, chunk=COUNT // 2)
    for _ in range(3):
        learning.turn()
    assert len(store.commits) == 2
    assert sum(store.commits) == len(shop.releases()) > 3


def test_reading_and_fitting_give_way_to_quotes_and_storing_does_not(shop: Shop) -> None:
    shop.serve(stop=30)
    shop.wait(WINDOW)
    store: Any = Watched(shop.store)
    own = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    LearningLoop(store, now=lambda: shop.time).turn()
    assert store.priorities["due"] == {max(NICE, own)}
    assert store.priorities["commit"] == {own}


# ---- what the operator and the auditor get ---------------------------------------------------------------------------


def test_fit_times_and_clip_counts_are_kept(shop: Shop) -> None:
    for n in range(30):
        shop.tell(shop.quote(n), 1.0)
    shop.store._connection.execute("UPDATE quote SET demand = 5.0")  # which an earlier version took
    learning = learn_all(shop)
    fits = learning.fit_seconds["tea"]
    assert fits.count == 1 < len(shop.releases())  # one chunk
    assert 0.0 < fits.largest <= fits.total
    assert learning._learners["tea"].clipped.demands == 30


def test_certificates_follow_changes_and_versions_and_are_chained(shop: Shop) -> None:
    key = Ed25519PrivateKey.generate()
    learning, seen = shop.learning(signing_key=key), []

    def newest() -> Certificate:
        learning.turn()
        body = shop.store.certificate("tea")
        assert body is not None
        return Certificate.parse(body)

    seen.append(newest())
    assert newest() == seen[0]
    shop.store.set_status("tea", "frozen", shop.time)
    seen.append(newest())
    shop.serve(stop=40)
    shop.wait(WINDOW)
    seen.append(newest())
    shop.time += 86400.0
    seen.append(newest())
    assert newest() == seen[-1]
    for before, after in zip([None, *seen], seen, strict=False):
        assert after.previous == (None if before is None else before.hash)
        verify(after, previous=before)
    assert len({each.hash for each in seen}) == 4


def test_after_a_change_of_the_signing_key_certificates_go_on(shop: Shop) -> None:
    chain: list[Certificate] = []
    keys = [Ed25519PrivateKey.generate() for _ in range(2)]
    for key in (keys[0], keys[1], keys[1]):
        shop.learning(signing_key=key).turn()
        body = shop.store.certificate("tea")
        assert body is not None
        chain.append(Certificate.parse(body))
        shop.time += 86400.0
    for before, after, key in zip(chain, chain[1:], keys[1:] * 2, strict=False):
        assert after.previous == before.hash
        verify(after, public_key=signing.public_half(key), previous=before)


def test_a_certificate_that_cannot_be_issued_stops_no_learning(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    shop.serve(stop=20)
    shop.wait(WINDOW)
    shop.store.add_certificate("tea", b"{}", shop.time)
    learning = shop.learning(signing_key=Ed25519PrivateKey.generate())
    learning.turn()
    learning.turn()
    assert shop.learned() == 20
    assert caplog.text.count("product tea has no new certificate") == 1


def test_a_product_at_a_fixed_price_has_nothing_to_certify(tmp_path: Path) -> None:
    shop = Shop(tmp_path, spec(policy="fixed"))
    shop.serve(stop=5)
    learn_all(shop, signing_key=Ed25519PrivateKey.generate())
    assert (shop.learned(), shop.store.certificate("tea")) == (5, None)
    shop.close()


def test_no_log_line_has_a_record_in_it(shop: Shop, caplog: pytest.LogCaptureFixture, monkeypatch: Any) -> None:
    def failing(self: ProductLearner, *given: Any) -> None:
        raise ValueError(f"{np.array2string(CONTEXTS[0])}")

    shop.serve(stop=5)
    shop.wait(WINDOW)
    monkeypatch.setattr(ProductLearner, "_records", failing)
    shop.learning().turn()
    assert "product tea is set aside: ValueError" in caplog.text
    assert "[" not in caplog.text.split("set aside")[1]


def test_the_lease_says_when_all_was_looked_at_and_what_is_set_aside(shop: Shop, monkeypatch: Any) -> None:
    shop.serve(stop=5)
    shop.wait(WINDOW)
    learning, waiting = shop.learning(), shop.learning()
    waiting.turn()
    learning.turn()  # waits for the lease
    shop.wait(LEASE)

    def report() -> LearnerReport:
        learning.turn()
        return shop.store.learning_progress(shop.time).report

    assert report() == LearnerReport(0.0, 0)
    shop.wait(11.0)
    assert report() == LearnerReport(10.0, 0)
    shop.quote(6)
    shop.wait(WINDOW)
    with monkeypatch.context() as patch:
        patch.setattr(ProductLearner, "_records", lambda self, slots: 1 / 0)
        assert report() == LearnerReport(WINDOW, 0)
        shop.wait(1.0)
        assert report() == LearnerReport(0.0, 1)
    shop.time -= 3600.0
    assert report() == LearnerReport(0.0, 1)


def test_a_learner_that_waits_for_the_lease_says_so_once(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    first, second = shop.learning(), shop.learning()
    first.turn()
    for _ in range(5):
        second.turn()
    assert caplog.messages == ["learning starts over: LeaseLost"]
    shop.wait(LEASE)
    second.turn()
    shop.wait(LEASE)
    first.turn()
    second.turn()
    assert caplog.messages == ["learning starts over: LeaseLost"] * 2
