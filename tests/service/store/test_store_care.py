"""A store checked, copied while it is used, and put back, on both databases and by the command line."""

from __future__ import annotations

import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest
from tests.service.store.samples import PRODUCT, given, learn, pass_time, release, tell
from tests.service.store.test_notes import changes, settings_of, sold

from hushprice.cli import main
from hushprice.errors import InvalidInput
from hushprice.service.shared import setup, store_care
from hushprice.service.shared.config import ServiceSettings
from hushprice.service.store import consistency, open_store, postgres_backup, postgres_setup, sqlite_backup, sqlite_file
from hushprice.service.store.lost_releases import lineage_of, mark_of
from hushprice.service.store.protocol import LearnerStore, StoreUnavailable
from hushprice.service.store.values import SeenRelease


@pytest.fixture
def shop(store_uri: str, tmp_path: Path) -> ServiceSettings:
    """A store with a release, and this machine's note."""
    settings = settings_of(store_uri, tmp_path)
    setup.prepare_learning(settings)
    sold(store_uri)
    return settings


def note_of(settings: ServiceSettings) -> Any:
    return setup.quoters_seen_file(settings)


def content_of(store: LearnerStore) -> list[Any]:
    return [store.identity(), store.products(), *(f(PRODUCT) for f in (store.releases, store.figures, store.state))]


def used(settings: ServiceSettings) -> SeenRelease:
    """One more release, which a price has used: noted."""
    store = open_store(settings.store.reveal(), "learner")
    learn(store, 4, release(2, 4, batch=2))
    marks = [mark_of(each) for each in store.releases(PRODUCT)]
    seen = SeenRelease(PRODUCT, 2, 4, marks[-1].digest, lineage=lineage_of(marks))
    note_of(settings).note([seen])
    store.close()
    return seen


def test_a_sound_store_has_nothing_wrong_and_a_note_that_is_ahead_is_told(
    shop: ServiceSettings, tmp_path: Path
) -> None:
    used(shop)
    assert store_care.check(shop) == []
    note_of(shop).note([SeenRelease(PRODUCT, 5, 9), SeenRelease("gone", 1, 1)])
    assert store_care.check(shop) == [
        f"{PRODUCT}: release 5 was used, the store has 2: it is an older backup",
        "gone: release 1 was used, and the store has no such product: it is an older backup",
    ]
    elsewhere = settings_of(shop.store.reveal(), tmp_path / "elsewhere")
    (missing,) = store_care.check(elsewhere)
    assert "seen-file" in missing


def test_another_release_of_the_same_number_is_told(shop: ServiceSettings) -> None:
    note_of(shop).note([SeenRelease(PRODUCT, 1, 2, b"another")])
    (line,) = store_care.check(shop)
    assert "another release 1 was used" in line


def test_what_was_charged_is_no_news(shop: ServiceSettings) -> None:
    store = open_store(shop.store.reveal(), "learner")
    seen = SeenRelease(PRODUCT, 7, 9, b"seven")
    store.report_seen([seen])
    store.skip_to("learner-1", seen, 1.0)
    store.close()
    note_of(shop).note([seen])
    assert store_care.check(shop) == []


def test_a_copy_is_of_one_moment_and_put_back_it_is_noticed(shop: ServiceSettings, tmp_path: Path) -> None:
    uri, copy = shop.store.reveal(), tmp_path / "copy"
    busy = open_store(uri, "learner")
    store_care.back_up(shop, copy)
    assert copy.stat().st_mode & 0o777 == 0o600
    before = content_of(busy)
    seen = used(shop)
    given(busy, 3)
    busy.close()
    with pytest.raises(InvalidInput, match="say --replace"):
        store_care.restore(shop, copy, replace=False, as_copy=False)
    store_care.restore(shop, copy, replace=True, as_copy=False)

    back = open_store(uri, "learner")
    assert before == [
        back.identity(),
        back.products(),
        back.releases(PRODUCT),
        back.figures(PRODUCT),
        back.state(PRODUCT),
    ]
    (line,) = store_care.check(shop)
    assert line == f"{PRODUCT}: release 2 was used, the store has 1: it is an older backup"
    setup.prepare_learning(shop)
    setup.report_seen(shop, note_of(shop).all())
    assert back.highest_seen(PRODUCT) == SeenRelease(PRODUCT, 2, seen.records)
    back.add_product("new", b"{}", b"{}", 1.0)  # numbered on
    back.accept_lost_notes(2.0)
    quote = given(back)[0]
    assert tell(back, quote).status == "recorded"
    pass_time(back, 20.0, start=3e6)
    back.close()


def test_a_copy_tried_out_elsewhere_is_a_store_of_its_own(shop: ServiceSettings, tmp_path: Path, bare_uri: str) -> None:
    copy = tmp_path / "copy"
    store_care.back_up(shop, copy)
    drill = settings_of(bare_uri if shop.postgres else str(tmp_path / "drill.db"), tmp_path)
    held = note_of(shop)
    store_care.restore(drill, copy, replace=False, as_copy=True)
    assert changes(drill.store.reveal()) == ["overlapping histories"]
    setup.prepare_learning(drill)
    note_of(drill).note([SeenRelease(PRODUCT, 30, 1100)])
    held.read_again()
    assert held.all() == []
    assert changes(shop.store.reveal()) == []
    assert store_care.check(shop) == []


def test_a_store_in_use_is_not_replaced(shop: ServiceSettings, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    store_care.back_up(shop, copy)
    held, store = note_of(shop), open_store(shop.store.reveal(), "learner")
    store.products()
    with pytest.raises(InvalidInput, match=r"a service has it open|connections of the service are open"):
        store_care.restore(shop, copy, replace=True, as_copy=False)
    store.close()
    assert held.all() == []


def test_a_store_that_took_anothers_place_says_so(tmp_path: Path) -> None:
    first, second = (settings_of(str(tmp_path / name), tmp_path) for name in ("a.db", "b.db"))
    setup.prepare_learning(first)
    sold(str(tmp_path / "a.db"))
    store_care.back_up(first, tmp_path / "b.db")
    with pytest.raises(InvalidInput, match="store moved"):
        setup.prepare_learning(second)
    store_care.moved(second)
    setup.prepare_learning(second)
    with pytest.raises(InvalidInput, match="a copy of"):
        setup.prepare_learning(first)


def test_files_that_are_no_backup_are_refused_and_nothing_is_changed(shop: ServiceSettings, tmp_path: Path) -> None:
    text, empty = tmp_path / "text", tmp_path / "empty.db"
    text.write_text("something else")
    sqlite3.connect(empty).close()
    for file in (text, tmp_path / "missing", *(() if shop.postgres else (empty,))):
        with pytest.raises((InvalidInput, StoreUnavailable), match=r"not a SQLite|no file|no store|cannot be read"):
            store_care.restore(shop, file, replace=True, as_copy=False)
    with pytest.raises(InvalidInput, match="cannot be made"):
        store_care.back_up(shop, text)
    assert text.read_text() == "something else"
    assert store_care.check(shop) == []


def test_a_file_that_somebody_has_open_is_not_replaced_whatever_note_is_looked_at(tmp_path: Path) -> None:
    """A service that was started with another state_dir would go on writing to a file that is gone."""
    settings, elsewhere = (settings_of(str(tmp_path / "shop.db"), tmp_path / folder) for folder in ("one", "two"))
    setup.prepare_learning(settings)
    sold(str(tmp_path / "shop.db"))
    store_care.back_up(settings, tmp_path / "copy.db")
    store = open_store(str(tmp_path / "shop.db"), "quoter")
    before = store.products()
    with pytest.raises(InvalidInput, match="a service has it open"):
        store_care.restore(elsewhere, tmp_path / "copy.db", replace=True, as_copy=False)
    assert store.products() == before
    store.close()
    store_care.restore(elsewhere, tmp_path / "copy.db", replace=True, as_copy=False)


def test_a_store_that_is_not_there_cannot_be_checked_or_copied(tmp_path: Path) -> None:
    nothing = settings_of(str(tmp_path / "none.db"), tmp_path)
    for act in (store_care.check, store_care.moved, lambda settings: store_care.back_up(settings, tmp_path / "copy")):
        with pytest.raises(InvalidInput, match="there is no file"):
            act(nothing)
    assert not (tmp_path / "none.db").exists()
    away = settings_of("postgresql://localhost:1/nothing", tmp_path)
    for act in (
        lambda: store_care.back_up(away, tmp_path / "copy"),
        lambda: store_care.restore(away, zipped(tmp_path / "empty.zip"), replace=True, as_copy=False),
    ):
        with pytest.raises(InvalidInput, match=r"^store: .* cannot be reached"):
            act()
    assert not (tmp_path / "copy").exists()


def test_a_copy_that_cannot_be_finished_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database at all, and longer than a header of a hundred bytes" * 3)
    with pytest.raises(InvalidInput, match="is not a SQLite database"):
        store_care.back_up(settings_of(str(tmp_path / "text"), tmp_path), tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def zipped(path: Path, version: int = 2) -> Path:
    about = {
        "format": "hushprice store 1",
        "version": version,
        "columns": {name: [] for name in postgres_backup._TABLES},
    }
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("about.json", msgspec.json.encode(about))
    return path


def test_a_backup_of_a_newer_version_or_with_a_table_missing_is_refused(bare_uri: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="version 99"):
        postgres_backup.put_back(zipped(tmp_path / "new.zip", 99), bare_uri, replace=False)
    with pytest.raises(InvalidInput, match="cannot be read"):
        postgres_backup.put_back(zipped(tmp_path / "half.zip"), bare_uri, replace=False)
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("about.json", b'{"format": "other", "version": 1, "columns": {}}')
    with pytest.raises(InvalidInput, match="no store"):
        postgres_backup.put_back(tmp_path / "other.zip", bare_uri, replace=False)


def damaged(path: Path, page: int, size: int) -> bytes:
    whole = path.read_bytes()
    return whole[: page * size] + bytes(size) + whole[(page + 1) * size :]


def test_no_store_with_a_zeroed_page_is_started_or_restored(tmp_path: Path) -> None:
    """Before, three of four started and took writes."""
    path = tmp_path / "shop.db"
    sold(str(path))
    store = open_store(str(path), "learner")
    given(store, 400, customer=b"c" * 16)
    store.close()
    sqlite_backup.back_up(path, tmp_path / "whole.db")
    copy = tmp_path / "damaged.db"
    with sqlite3.connect(tmp_path / "whole.db") as connection:
        size, pages, free = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_size", "page_count", "freelist_count")
        )
    connection.close()
    assert (free, pages > 20) == (0, True)
    for page in range(pages):
        copy.write_bytes(damaged(tmp_path / "whole.db", page, size))
        with pytest.raises(InvalidInput, match=r"damaged|not a SQLite database"):
            setup.check_undamaged(settings_of(str(copy), tmp_path))
    with pytest.raises(InvalidInput, match="is damaged"):
        store_care.restore(settings_of(str(path), tmp_path), copy, replace=True, as_copy=False)
    (line,) = store_care.check(settings_of(str(copy), tmp_path))
    assert "damaged" in line


def test_a_file_that_cannot_be_read_is_not_called_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "shop.db"
    sold(str(path))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA journal_mode = DELETE")
    other.execute("BEGIN EXCLUSIVE")
    monkeypatch.setattr(sqlite_file, "WAIT", 0.01)
    with pytest.raises(StoreUnavailable, match="locked by another process"):
        sqlite_file.check_undamaged(path)
    other.close()


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Callable[..., tuple[int, str]]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HUSHPRICE_STATE_DIR", str(tmp_path))

    def called(*words: str) -> tuple[int, str]:
        monkeypatch.setattr("sys.argv", ["hushprice", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        out = capsys.readouterr()
        return int(ended.value.code or 0), out.out + out.err

    return called


def test_the_verbs_from_the_command_line(call: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    settings = settings_of(str(tmp_path / "shop.db"), tmp_path)
    setup.prepare_learning(settings)
    sold("shop.db")
    assert call("check", "--store", "shop.db") == (0, "all is well\n")
    assert call("store", "backup", "copy.db", "--store", "shop.db") == (0, "wrote copy.db\n")
    assert call("backup", "other.db", "--store", "shop.db") == (0, "wrote other.db\n")
    used(settings)
    code, said = call("restore", "copy.db", "--store", "shop.db")
    assert (code, "say --replace" in said) == (2, True)
    assert call("store", "restore", "copy.db", "--store", "shop.db", "--replace")[0] == 0
    code, said = call("store", "check", "--store", "shop.db")
    assert (code, said) == (1, f"{PRODUCT}: release 2 was used, the store has 1: it is an older backup\n")
    assert call("store", "restore", "copy.db", "--store", "drill.db", "--as-copy")[0] == 0
    (tmp_path / "shop.db").rename(tmp_path / "elsewhere.db")
    assert call("store", "moved", "--store", "elsewhere.db") == (0, "")


def test_a_store_of_version_1_is_brought_up_to_date_at_the_start(tmp_path: Path, bare_uri: str) -> None:
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(postgres_setup.script("sqlite_1.sql"))
        connection.execute(f"PRAGMA application_id = {sqlite_file.APPLICATION}")
        connection.execute("PRAGMA user_version = 1")
    with psycopg.connect(bare_uri) as connection:
        postgres_setup.create(connection, 1)
    for uri in (str(path), bare_uri):
        sold(uri)
        store = open_store(uri, "learner")
        assert consistency.problems(store) == []
        store.close()


def test_a_backup_of_postgresql_has_every_table_of_the_schema(owner: psycopg.Connection[Any]) -> None:
    rows = owner.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = 'hushprice'")
    assert {name for (name,) in rows} == {*postgres_backup._TABLES, "meta"}


@pytest.mark.parametrize("words", ["keys list", "keys change --name web --quota 1", "keys remove --name web", "trail"])
def test_a_misspelt_store_is_not_made_by_who_looks_into_it(
    call: Callable[..., tuple[int, str]], tmp_path: Path, words: str
) -> None:
    code, said = call(*words.split(), "--store", str(tmp_path / "none.db"))
    assert code == 2
    assert "store: there is no file" in said
    assert not (tmp_path / "none.db").exists()


def test_the_first_key_makes_the_store_and_says_so(call: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    at = ("--store", str(tmp_path / "shop.db"))
    code, said = call("keys", "add", "--name", "web", *at)
    assert (code, said.count("made a new store")) == (0, 1)
    assert "made a new store" not in call("keys", "add", "--name", "app", *at)[1]
