"""Alarms by key, computed from quotes and releases alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.service.http.running import PRODUCT
from tests.service.http.test_product_table import belief
from tests.service.learning_runs import WINDOW, Shop, spec
from tests.waiting import eventually

from hushprice.service.learning import key_watch
from hushprice.service.learning.key_watch import KeyWatch
from hushprice.service.quoting.product_table import ProductTable
from hushprice.service.shared.seen_releases import SeenReleasesFile
from hushprice.service.store import decisions, open_store
from hushprice.service.store.protocol import LearnerStore, StoreUnavailable
from hushprice.service.store.values import ApiKey, LearnerState, StoredRelease

WEB, THIEF = "web", ApiKey("thief", "shop", b"\x01" * 32)


class Watched:
    """A shop, what its operator's process sees, and the watch."""

    def __init__(self, folder: Path, body: bytes) -> None:
        self.shop = Shop(folder, body)
        self.name = str(msgspec.json.decode(body)["name"])
        self.shop.store.add_api_key(THIEF)
        self.table = ProductTable(SeenReleasesFile(folder / "seen.json"))
        self.watch = KeyWatch(self.table, lambda: self.shop.time)
        self.look()

    def look(self) -> None:
        self.table.refresh(self.shop.store)
        self.watch.look(self.shop.store)

    def quotes(self, count: int, key: str) -> None:
        for _ in range(count):
            self.shop.quote(0, product=self.name, key=key)

    def release(self, sequence: int, batch: int, records: int, personal: bool = True) -> None:
        """What the learner does, with a belief of the test's own."""
        store, time = self.shop.store, self.shop.time
        assert store.take_lease("test", time)
        made = msgspec.json.encode(msgspec.structs.replace(belief(sequence), ready=personal))
        release = StoredRelease(self.name, sequence, sequence, "score", records, batch, b"%d" % sequence, made, time)
        store.commit("test", LearnerState(self.name, records, sequence, b"", b"{}"), [release], time)


@pytest.fixture
def tea(tmp_path: Path) -> Iterator[Watched]:
    watched = Watched(tmp_path, spec(horizon=1000))
    yield watched
    watched.shop.close()


@pytest.fixture
def umbrella(tmp_path: Path) -> Iterator[Watched]:
    watched = Watched(tmp_path, msgspec.json.encode(PRODUCT))
    yield watched
    watched.shop.close()


def test_a_key_that_uses_up_a_horizon_raises_an_alarm_once(tea: Watched, caplog: pytest.LogCaptureFixture) -> None:
    tea.quotes(99, THIEF.identity)
    tea.quotes(99, WEB)
    tea.look()
    assert list(tea.watch.alarms) == []
    tea.quotes(21, THIEF.identity)
    for _ in range(2):
        tea.look()
    (alarm,) = tea.watch.alarms
    assert (alarm.kind, alarm.key, alarm.product, alarm.share) == ("horizon", "thief", "tea", 0.12)
    assert tea.watch.raised == {"horizon": 1, "prices": 0}
    assert tea.watch.recent("tea", THIEF.identity) == 120
    assert "alarm: API key thief used 12% of the horizon of product tea within 600 s" in caplog.text


def test_the_same_number_over_a_long_time_raises_none(tea: Watched) -> None:
    for _ in range(4):
        tea.quotes(60, THIEF.identity)
        tea.look()
        tea.shop.time += key_watch.WINDOW
    assert list(tea.watch.alarms) == []


def test_counts_go_on_over_days_and_days_that_are_over_are_read_once(
    tea: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, ...]] = []
    real = tea.shop.store.key_counts
    monkeypatch.setattr(tea.shop.store, "key_counts", lambda *days: asked.append(days) or real(*days))
    today = decisions.today()
    tea.shop.time = 86400.0 * today + 5.0
    for later in (0, 0, 1, 3):  # quotes are stored by the real day
        tea.shop.time = 86400.0 * (today + later) + 5.0
        tea.quotes(2, WEB)
        tea.look()
    assert [each.quoted for each in tea.watch.counts] == [8]
    assert [days for days in asked if len(days) == 2] == [(0, today + later - 2) for later in (0, 1, 3)]


def test_an_alarm_that_is_over_may_be_raised_again_and_quotes_before_the_first_look_are_no_news(tea: Watched) -> None:
    tea.quotes(150, THIEF.identity)
    tea.watch = KeyWatch(tea.table, lambda: tea.shop.time)
    tea.look()
    assert list(tea.watch.alarms) == []
    for _ in range(2):
        tea.quotes(100, THIEF.identity)
        tea.look()
        tea.shop.time += key_watch.WINDOW + 1.0
        tea.look()
    assert [alarm.share for alarm in tea.watch.alarms] == [0.1, 0.1]


def test_a_key_that_fills_a_batch_whose_release_moves_prices_raises_an_alarm(
    umbrella: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    umbrella.quotes(30, WEB)
    umbrella.quotes(20, THIEF.identity)
    umbrella.quotes(5, WEB)
    umbrella.shop.wait(WINDOW)
    umbrella.release(1, 0, 20, personal=False)
    umbrella.look()
    umbrella.release(2, 20, 50)
    umbrella.look()
    (alarm,) = umbrella.watch.alarms
    assert (alarm.kind, alarm.key, alarm.product) == ("prices", "thief", "umbrella")
    assert alarm.share == pytest.approx(20 / 30)
    assert alarm.moved is not None
    assert alarm.moved > key_watch.MOVE
    assert "alarm: API key thief made 67% of a batch of product umbrella, and prices moved by " in caplog.text


def test_a_key_with_its_usual_share_raises_none_however_prices_move(umbrella: Watched) -> None:
    umbrella.quotes(50, WEB)
    umbrella.shop.wait(WINDOW)
    umbrella.release(1, 0, 20, personal=False)
    umbrella.look()
    umbrella.release(2, 20, 50)
    umbrella.look()
    assert list(umbrella.watch.alarms) == []


def test_a_key_that_fills_a_batch_raises_none_where_prices_stay(umbrella: Watched) -> None:
    umbrella.quotes(20, WEB)
    umbrella.quotes(30, THIEF.identity)
    umbrella.shop.wait(WINDOW)
    umbrella.release(1, 0, 20, personal=False)
    umbrella.look()
    umbrella.release(2, 20, 50, personal=False)
    umbrella.look()
    assert list(umbrella.watch.alarms) == []


def test_a_release_is_compared_only_after_it_was_noted(umbrella: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    umbrella.quotes(20, WEB)
    umbrella.quotes(30, THIEF.identity)
    umbrella.shop.wait(WINDOW)
    umbrella.release(1, 0, 20, personal=False)
    umbrella.look()
    with monkeypatch.context() as patch:
        patch.setattr("hushprice.service.shared.seen_releases.replace_file", _full)
        umbrella.release(2, 20, 50)
        umbrella.look()
        assert list(umbrella.watch.alarms) == []
    umbrella.look()
    assert [alarm.kind for alarm in umbrella.watch.alarms] == ["prices"]


def _full(*_: object) -> None:
    raise OSError("no space")


def test_outcomes_are_not_looked_at(tmp_path: Path) -> None:
    """The same quotes, bought or not: the same alarms and counts."""
    seen = []
    for bought in (None, 0.0, 1.0):
        (folder := tmp_path / str(bought)).mkdir()
        watched = Watched(folder, spec(horizon=500))
        for _ in range(120):
            identity = watched.shop.quote(0)
            if bought is not None:
                watched.shop.tell(identity, bought)
        watched.look()
        seen.append((list(watched.watch.alarms), watched.watch.counts))
        watched.shop.close()
    assert seen[0] == seen[1] == seen[2]
    assert len(seen[0][0]) == 1


def test_a_store_that_is_away_is_looked_at_again(
    tea: Watched, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    looks: list[int] = []
    real = KeyWatch.look

    def look(self: KeyWatch, store: object) -> None:
        looks.append(1)
        if len(looks) < 3:
            raise StoreUnavailable("away") if len(looks) == 1 else ValueError("of a record")
        real(self, store)  # type: ignore[arg-type]

    monkeypatch.setattr(key_watch, "LOOK", 0.01)
    monkeypatch.setattr(KeyWatch, "look", look)
    stop = threading.Event()
    tries: list[int] = []

    def opened() -> LearnerStore:
        tries.append(1)
        if len(tries) == 1:
            raise StoreUnavailable("away")
        return open_store(str(tea.shop.path), "learner")

    thread = threading.Thread(target=tea.watch.run, args=(opened, stop))
    thread.start()
    eventually(lambda: len(looks) > 4)
    stop.set()
    thread.join()
    assert len(tries) == 2
    assert caplog.text.count("a look at keys failed: ValueError") == 1
    assert "of a record" not in caplog.text
