"""The note of releases used belongs to one store in one place, and without it nobody learns who should have one."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.service.conftest import as_quoter, at_database
from tests.service.store.samples import HOLDER, PRODUCT, given, learn, pass_time, release

from hushprice.errors import InvalidInput
from hushprice.service.shared import seen_releases, setup
from hushprice.service.shared.config import ServiceSettings, build
from hushprice.service.store import open_store, sqlite_file
from hushprice.service.store.lost_releases import digest
from hushprice.service.store.values import SeenRelease


def settings_of(uri: str, state: Path, **more: Any) -> ServiceSettings:
    return build({"store": uri, "state_dir": str(state), **more})


def sold(uri: str) -> None:
    """A store with a release, of two of six slots."""
    store = open_store(uri, "learner")
    store.add_product(PRODUCT, b"{}", b"{}", 1000.0)
    given(store, 6)
    pass_time(store, 20.0)
    learn(store, 2, release(1, 2))
    store.close()


def changes(uri: str) -> list[str]:
    store = open_store(uri, "learner")
    found = [change.what for change in store.changes(PRODUCT)]
    store.close()
    return found


def test_a_store_with_quotes_and_no_note_is_not_learned_from_until_that_is_accepted(
    store_uri: str, tmp_path: Path
) -> None:
    sold(store_uri)
    settings = settings_of(store_uri, tmp_path)
    with pytest.raises(InvalidInput, match=r"seen-file .* is missing.* say --accept-lost-notes: the certificate"):
        setup.prepare_learning(settings)
    assert changes(store_uri) == []
    setup.prepare_learning(settings, accept_lost_notes=True)
    assert changes(store_uri) == ["lost notes"]
    setup.prepare_learning(settings, accept_lost_notes=True)  # a flag that nobody took away costs nothing more
    setup.prepare_learning(settings)
    assert changes(store_uri) == ["lost notes"]


def test_a_new_store_needs_no_note_and_has_one_from_then_on(store_uri: str, tmp_path: Path) -> None:
    settings = settings_of(store_uri, tmp_path)
    setup.prepare_learning(settings)
    sold(store_uri)
    setup.prepare_learning(settings)
    with pytest.raises(InvalidInput, match="seen-file"):
        setup.prepare_learning(settings_of(store_uri, tmp_path / "another machine"))


def test_a_machine_that_only_quotes_joins_without_a_word_and_stands_in_for_no_learner(
    store_uri: str, tmp_path: Path
) -> None:
    """It has shown nothing and draws nothing; but its empty note must not pass for one that was lost."""
    sold(store_uri)
    settings = settings_of(as_quoter(store_uri), tmp_path, **learner_of(store_uri))
    note = setup.quoters_seen_file(settings)
    assert note.all() == []
    note.note([SeenRelease(PRODUCT, 1, 2, digest(b"one"))])
    with pytest.raises(InvalidInput, match="was begun by a quoter"):
        setup.prepare_learning(settings)
    setup.prepare_learning(settings, accept_lost_notes=True)
    assert [seen.sequence for seen in setup.quoters_seen_file(settings).all()] == [1]


def learner_of(uri: str) -> dict[str, str]:
    return {"learner_store": uri} if "://" in uri else {}


def test_a_learner_joins_one_that_is_at_work_and_not_one_that_was_killed(
    postgres_uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sold(postgres_uri)
    settings = settings_of(postgres_uri, tmp_path)
    store = open_store(postgres_uri, "learner")
    waited: list[float] = []

    def renewed(seconds: float) -> None:
        waited.append(seconds)
        store.take_lease(HOLDER, time.time())

    store.take_lease(HOLDER, time.time() - 4.9)  # killed a moment ago
    monkeypatch.setattr(setup.time, "sleep", lambda seconds: store.drop_lease(HOLDER))
    with pytest.raises(InvalidInput, match="seen-file"):
        setup.prepare_learning(settings)
    store.take_lease(HOLDER, time.time())
    monkeypatch.setattr(setup.time, "sleep", renewed)
    setup.prepare_learning(settings)
    assert waited == [5.5]  # longer than any lease
    assert changes(postgres_uri) == []
    store.close()


def test_a_copy_of_a_store_in_use_is_refused_and_leaves_its_note_alone(tmp_path: Path) -> None:
    """A restore drill beside production: the same identity, the same machine."""
    ours, copy = tmp_path / "shop.db", tmp_path / "drill.db"
    sold(str(ours))
    settings = settings_of(str(ours), tmp_path)
    setup.prepare_learning(settings, accept_lost_notes=True)
    note = setup.quoters_seen_file(settings)
    shutil.copy(ours, copy)
    drill = settings_of(str(copy), tmp_path)
    for act in (setup.prepare_learning, setup.quoters_seen_file):
        with pytest.raises(InvalidInput, match=r"a copy of .*shop.db, which is being served; to try it out"):
            act(drill)
    del note
    with pytest.raises(InvalidInput, match=r"a copy of .*shop.db; to try it out"):
        setup.prepare_learning(drill)
    assert setup.quoters_seen_file(settings).all() == []
    ours.unlink()
    setup.prepare_learning(drill)  # moved, then


def test_a_copy_made_a_store_of_its_own_is_served_beside_the_other(tmp_path: Path) -> None:
    ours, copy = tmp_path / "shop.db", tmp_path / "drill.db"
    sold(str(ours))
    settings = settings_of(str(ours), tmp_path)
    setup.prepare_learning(settings, accept_lost_notes=True)
    shutil.copy(ours, copy)
    store = open_store(str(copy), "learner")
    store.become_copy(2000.0)
    store.close()
    setup.prepare_learning(settings_of(str(copy), tmp_path), accept_lost_notes=True)
    setup.quoters_seen_file(settings_of(str(copy), tmp_path)).note([SeenRelease(PRODUCT, 22, 40)])
    assert setup.quoters_seen_file(settings).all() == []
    assert changes(str(ours)) == ["lost notes"]


def test_a_database_restored_under_another_name_is_a_copy_until_the_first_is_gone(
    postgres_process: Any, tmp_path: Path
) -> None:
    with psycopg.connect(postgres_process.uri, autocommit=True) as connection:
        connection.execute("CREATE DATABASE production")
        sold(at_database(postgres_process.uri, "production"))
        connection.execute("CREATE DATABASE drill TEMPLATE production")
        setup.prepare_learning(
            settings_of(at_database(postgres_process.uri, "production"), tmp_path), accept_lost_notes=True
        )
        drill = settings_of(at_database(postgres_process.uri, "drill"), tmp_path)
        with pytest.raises(InvalidInput, match=r"a copy of postgresql:[0-9]+/production; to try it out"):
            setup.prepare_learning(drill)
        connection.execute("DROP DATABASE production")
        setup.prepare_learning(drill)
        store = open_store(at_database(postgres_process.uri, "drill"), "learner")
        assert store.is_at("postgresql:1/production")  # another server: nobody here can say
        store.close()
        connection.execute("DROP DATABASE drill")


def test_the_note_of_another_store_is_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        setup.prepare_learning(settings_of(str(tmp_path / f"{name}.db"), tmp_path / name))
    (one,), (two,) = (list((tmp_path / name).glob("seen-*.json")) for name in ("one", "two"))
    shutil.copy(one, two)
    with pytest.raises(InvalidInput, match="is of another store"):
        setup.prepare_learning(settings_of(str(tmp_path / "two.db"), tmp_path / "two"))


def test_a_note_of_version_1_is_taken_over(tmp_path: Path) -> None:
    uri = str(tmp_path / "shop.db")
    sold(uri)
    store, settings = open_store(uri, "learner"), settings_of(uri, tmp_path)
    path = setup.seen_path(settings, store)
    path.write_text('[{"product": "jacket", "sequence": 1, "records": 2, "digest": "", "restores": 0}]')
    setup.prepare_learning(settings)
    note = setup.quoters_seen_file(settings)
    assert note.all() == [SeenRelease(PRODUCT, 1, 2)]
    assert note.note([SeenRelease(PRODUCT, 1, 2, lineage=b"12345678")])  # what was not known of it
    assert setup.quoters_seen_file(settings).all() == [SeenRelease(PRODUCT, 1, 2, lineage=b"12345678")]
    store.close()


def test_a_note_deleted_while_it_is_in_use_is_written_again_in_full(tmp_path: Path) -> None:
    note = seen_releases.SeenReleasesFile(tmp_path / "seen.json")
    note.note([SeenRelease("a", 5, 50)])
    (tmp_path / "seen.json").unlink()
    note.note([SeenRelease("b", 1, 10)])
    found = seen_releases.SeenReleasesFile(tmp_path / "seen.json").all()
    assert [(each.product, each.sequence) for each in found] == [("a", 5), ("b", 1)]


def test_what_is_in_a_place_is_known_by_its_identity(tmp_path: Path) -> None:
    sold(str(tmp_path / "shop.db"))
    (tmp_path / "text").write_text("no database at all")
    assert len(sqlite_file.identity_at(tmp_path / "shop.db") or b"") == 16
    assert sqlite_file.identity_at(tmp_path / "text") == sqlite_file.identity_at(tmp_path / "nothing") == b""
    content = bytearray((tmp_path / "shop.db").read_bytes())
    content[4096:] = bytes(len(content) - 4096)
    (tmp_path / "shop.db").write_bytes(content)
    assert sqlite_file.identity_at(tmp_path / "shop.db") is None


@pytest.mark.beyond_coverage
def test_serve_says_what_is_missing_and_ends(tmp_path: Path) -> None:
    sold(str(tmp_path / "shop.db"))
    command = [*("serve", "--store", "shop.db", "--port", "0", "--operator-port", "0")]
    environment = {"HUSHPRICE_STATE_DIR": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}  # also while coverage is measured
    done = run(tmp_path, command, environment)
    assert done.returncode == 2
    assert done.stderr.startswith(b"hushprice: made the keys")
    assert b"hushprice: seen-file" in done.stderr
    assert b"--accept-lost-notes" in done.stderr


def run(folder: Path, words: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    import os
    import sys

    command = [sys.executable, "-c", "from hushprice.cli import main; main()", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False, env={**os.environ, **environment})
