"""Personal prices can be stopped while the store is away: at once here, and everywhere once it is back."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.service.http.running import Running, add_keys, running
from tests.service.http.test_product_table import SPEC, release
from tests.waiting import eventually

from hushprice.errors import InvalidInput
from hushprice.service.quoting import freezes
from hushprice.service.quoting.freezes import FreezeAsked, FreezeFile
from hushprice.service.store import open_store
from hushprice.service.store.protocol import StoreUnavailable
from hushprice.service.store.sqlite import SqliteStore

YOUNG, OLD = ({"age": age, "member": True, "region": "north"} for age in (18, 98))
ASKED = FreezeAsked(1_700_000_000.0, "boss 0123")


@pytest.fixture
def learned(fresh: Running) -> Running:
    """A server whose prices are personal."""
    store = open_store(fresh.store, "learner")
    release(store)
    store.close()
    fresh.look()
    assert personal(fresh)
    return fresh


def personal(server: Running) -> bool:
    return len({server.quote(attributes=each)["price"] for each in (YOUNG, OLD)}) == 2


@contextmanager
def away(*names: str) -> Iterator[None]:
    """A store that fails at these calls, wherever it is open."""

    def fail(*_: Any) -> None:
        raise StoreUnavailable("away")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(freezes, "RETRY", 0.02)
        for name in names or ("set_status", "write", "beat", "heads"):
            patch.setattr(SqliteStore, name, fail)
        yield


def test_a_freeze_is_taken_at_once_while_the_store_is_away_and_stored_when_it_is_back(learned: Running) -> None:
    admin = learned.client("admin")
    prices = "/v1/products/umbrella/prices?x=age&steps=5"
    drawn = admin.get(prices).json()["prices"]
    with away():
        asked = time.time()
        answer = admin.post("/v1/products/umbrella/freeze")
        assert (answer.status_code, answer.json()["status"]) == (202, "frozen")
        assert not personal(learned)
        assert admin.get("/v1/products/umbrella").json()["status"] == "frozen"
        assert admin.get(prices).json()["prices"] != drawn
        assert admin.post("/v1/products/umbrella/resume").status_code == 503
        assert not personal(learned)
    store = open_store(learned.store, "learner")
    try:
        eventually(lambda: store.products()[0].status == "frozen")
        (change,) = store.changes("umbrella")
        assert change.what == "freeze"
        (entry,) = [each for each in store.trail() if each.what == "freeze"]
        assert entry.at == change.at
        assert "admin" in entry.actor
        assert asked - 1.0 <= change.at <= asked + 5.0  # when it was asked for, not when it could be stored
    finally:
        store.close()
    assert not personal(learned)
    assert admin.post("/v1/products/umbrella/resume").json()["status"] == "open"
    assert personal(learned)


def test_a_store_that_can_be_read_and_not_written_does_not_undo_a_freeze(learned: Running) -> None:
    with away("set_status", "write", "beat"):
        assert learned.client("admin").post("/v1/products/umbrella/freeze").status_code == 202
        learned.look()  # where the product is open
        assert not personal(learned)
        store = open_store(learned.store, "learner")
        release(store, 2)
        store.close()
        learned.look()
        assert not personal(learned)


def test_a_freeze_that_the_store_never_heard_of_outlives_a_restart(learned: Running, tmp_path: Path) -> None:
    with away("set_status"):
        assert learned.client("admin").post("/v1/products/umbrella/freeze").status_code == 202
        (folder := tmp_path / "again").mkdir()
        kept = tmp_path / "seen.json.freezes"
        assert list(FreezeFile(kept).read()) == ["umbrella"]
        for name in ("seen.json", "seen.json.freezes"):  # as of a process that was killed
            (folder / name).write_bytes((tmp_path / name).read_bytes())
        with running(learned.store, folder) as again:
            assert not personal(again)
            assert again.client().get("/v1/products/umbrella").json()["status"] == "frozen"
    eventually(lambda: FreezeFile(kept).read() == {})  # the first one has told the store


def test_a_freeze_is_stored_after_a_restart(tmp_path: Path) -> None:
    path = str(tmp_path / "shop.db")
    add_keys(path)
    file = FreezeFile(tmp_path / "seen.json.freezes")
    file.set("umbrella", ASKED)
    file.set("gone", ASKED)  # from a store that was restored since
    with running(path, tmp_path) as server:
        server.create()
    file.set("umbrella", ASKED)
    with running(path, tmp_path) as server:
        eventually(lambda: file.read() == {})
        assert server.client().get("/v1/products/umbrella").json()["status"] == "frozen"
    store = open_store(path, "learner")
    (entry,) = [each for each in store.trail() if each.what == "freeze"]
    store.close()
    assert (entry.at, entry.actor) == ASKED


def test_a_full_disk_does_not_delay_a_freeze(
    learned: Running, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(freezes, "replace_file", full)
    with away():
        assert learned.client("admin").post("/v1/products/umbrella/freeze").status_code == 202
        assert not personal(learned)
    assert "cannot be noted: " in caplog.text


def test_a_damaged_file_of_freezes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "freezes").write_text("{")
    with pytest.raises(InvalidInput, match="cannot be read"):
        FreezeFile(tmp_path / "freezes").read()


def test_freezing_an_unknown_product_is_refused(learned: Running) -> None:
    assert SPEC.name == "umbrella"
    assert learned.client("admin").post("/v1/products/nothing/freeze").status_code == 404
