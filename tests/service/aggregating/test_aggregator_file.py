"""An aggregator's file that is copied, damaged, or fills with what nobody asks for."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from tests.service.aggregating.test_aggregator_store import IDS, PROMISE, SCALES, agreed, opened, over, share

from hushprice.errors import InvalidInput
from hushprice.service.aggregating import aggregator_note
from hushprice.service.aggregating.aggregator_store import AggregatorStore, NotAgreed
from hushprice.service.shared.aggregator_messages import ShareTaken
from hushprice.service.store import decisions

WORDS = [1] * SCALES.size


def at(path: Path, notes: Path, **more: int) -> AggregatorStore:
    return AggregatorStore(path, {"tea": PROMISE}, notes=notes, **more)


def copied(folder: Path) -> tuple[AggregatorStore, Path]:
    """One in use, with a share that waits, and a copy of its file."""
    store, copy = opened(folder), folder / "drill.db"
    store.receive(share(IDS[0], WORDS))
    with sqlite3.connect(folder / "aggregator.db") as connection, sqlite3.connect(copy) as to:
        connection.backup(to)
    return store, copy


def test_a_copy_beside_the_first_publishes_nothing(tmp_path: Path) -> None:
    """A restore drill: its total would be of the same shares as the first one's, with noise of its own."""
    store, copy = copied(tmp_path)
    with pytest.raises(InvalidInput, match=r"a copy of .*aggregator.db, which is being served; both would publish"):
        at(copy, tmp_path)
    store.close()
    del store
    with pytest.raises(InvalidInput, match=r"a copy of .*aggregator.db; both would publish"):
        at(copy, tmp_path)
    for each in tmp_path.glob("aggregator.db*"):
        each.unlink()
    moved = at(copy, tmp_path)
    assert moved.over(over(IDS[:1])) == IDS[0]
    moved.close()


def test_a_copy_that_is_let_in_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: nobody looks where the first one is, and the same share is in two totals, each with its own noise."""
    store, copy = copied(tmp_path)
    monkeypatch.setattr(aggregator_note.SeenReleasesFile, "claim", lambda *given, **named: None)
    drill = at(copy, tmp_path)
    told = set()
    for each in (store, drill):
        batch = over(IDS[:1])
        assert each.over(batch) == IDS[0]
        told.add(each.publish(agreed(batch, IDS[:1])))
        each.close()
    assert len(told) == 2


def test_who_is_in_a_place_is_known_by_its_identity(tmp_path: Path) -> None:
    opened(tmp_path).close()
    ((identity,),) = sqlite3.connect(tmp_path / "aggregator.db").execute("SELECT id FROM identity")
    (tmp_path / "text").write_text("no database at all, and nobody can say what it was")
    assert aggregator_note.is_in(tmp_path / "aggregator.db", identity)
    assert aggregator_note.is_in(tmp_path / "text", identity)
    assert not aggregator_note.is_in(tmp_path / "aggregator.db", "another")
    assert not aggregator_note.is_in(tmp_path / "nothing", identity)


def test_a_file_with_a_zeroed_page_is_refused_whichever_page_it_is(tmp_path: Path) -> None:
    """A page that is gone may be the one that says which reports are in totals already."""
    store = opened(tmp_path)
    for identity in IDS:
        store.receive(share(identity, WORDS))
    batch = over(IDS[:4])
    store.over(batch)
    store.publish(agreed(batch, IDS[:4]))
    store.close()
    whole = (tmp_path / "aggregator.db").read_bytes()
    refused = 0
    for start in range(0, len(whole), 4096):
        (tmp_path / "aggregator.db").write_bytes(whole[:start] + bytes(4096) + whole[start + 4096 :])
        with pytest.raises(InvalidInput, match=r"^store: "):
            opened(tmp_path)
        refused += 1
    assert refused == len(whole) // 4096 > 4
    (tmp_path / "aggregator.db").write_bytes(whole)
    opened(tmp_path).close()


def test_a_note_that_cannot_be_read_is_said_in_a_line(tmp_path: Path) -> None:
    opened(tmp_path).close()
    (note,) = tmp_path.glob("aggregated-*.json")
    note.write_text("{")
    with pytest.raises(InvalidInput, match=r"aggregated-.*json' cannot be read"):
        opened(tmp_path)


def held(path: Path) -> int:
    ((found,),) = sqlite3.connect(path).execute("SELECT count(*) FROM share WHERE words IS NOT NULL")
    return int(found)


def test_shares_that_no_total_takes_are_deleted_in_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a quote that is in no batch, and of a batch that never comes out: two shares together are a record."""
    path, today = tmp_path / "aggregator.db", decisions.today()
    store = at(path, tmp_path, kept=30)
    for identity in IDS[:3]:
        store.receive(share(identity, WORDS))
    batch = over(IDS[:2])
    assert store.over(batch) == IDS[0] + IDS[1]
    monkeypatch.setattr(decisions, "today", lambda: today + 30)
    assert store.receive(share(IDS[3], WORDS)) == ShareTaken("recorded")
    assert held(path) == 4
    monkeypatch.setattr(decisions, "today", lambda: today + 31)
    assert store.receive(share(IDS[4], WORDS)) == ShareTaken("recorded")
    assert held(path) == 2
    assert store.over(batch) == ""
    with pytest.raises(NotAgreed, match="not here"):
        store.publish(agreed(batch, IDS[:1]))
    assert store.receive(share(IDS[0], WORDS)) == ShareTaken("late")  # its batch is over
    assert store.receive(share(IDS[2], WORDS)) == ShareTaken("recorded")  # it is in no batch, so in no total
    store.close()


def test_who_fills_the_file_keeps_devices_out_for_that_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With shares of quotes that there are not: those go first, once they have waited since an earlier day."""
    monkeypatch.setattr("hushprice.service.aggregating.aggregator_store.MOST_WAITING", 2)
    today, store = decisions.today(), at(tmp_path / "aggregator.db", tmp_path)
    for identity in IDS[:2]:
        store.receive(share(identity, WORDS))
    for _ in range(2):
        with pytest.raises(NotAgreed, match="too many"):
            store.receive(share(IDS[2], WORDS))
    monkeypatch.setattr(decisions, "today", lambda: today + 1)
    for identity in IDS[2:4]:
        assert store.receive(share(identity, WORDS)) == ShareTaken("recorded")
    with pytest.raises(NotAgreed, match="too many"):
        store.receive(share(IDS[4], WORDS))
    assert store.over(over(IDS)) == IDS[2] + IDS[3]
    assert store.receive(share(IDS[4], WORDS)) == ShareTaken("recorded")
    store.close()
