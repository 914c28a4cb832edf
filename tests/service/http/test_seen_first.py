"""Nobody is shown a release, or anything made of one, before this machine has noted it."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from tests.planted import service_checks
from tests.service.http.running import Running
from tests.service.http.test_product_table import release
from tests.waiting import eventually

from hushprice.errors import InvalidInput
from hushprice.service.shared import setup
from hushprice.service.shared.config import build
from hushprice.service.shared.seen_releases import SeenReleasesFile
from hushprice.service.store import open_store
from hushprice.service.store.values import SeenRelease

PATHS = ("report", "privacy", "prices", "demand", "certificate")


def test_what_is_shown_is_what_is_noted() -> None:
    service_checks.releases_are_noted_before_they_are_shown()


def test_no_answer_shows_a_release_that_could_not_be_noted(fresh: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def full(path: Path, content: bytes) -> None:
        tried.append(path)
        raise OSError("no space")

    client, store = fresh.client(), open_store(fresh.store, "learner")
    before = {path: client.get(f"/v1/products/umbrella/{path}").json() for path in PATHS}
    metrics = fresh.client("auditor").get("/metrics").text
    assert "hushprice_releases_total" in metrics
    monkeypatch.setattr("hushprice.service.shared.seen_releases.replace_file", full)
    release(store)
    store.add_certificate("umbrella", b'{"after": "a release"}', time.time())
    eventually(lambda: len(tried) >= 2)  # the service has found the release, and could not note it
    for path in PATHS[:-1]:
        assert client.get(f"/v1/products/umbrella/{path}").json() == before[path], path
    refused = client.get("/v1/products/umbrella/certificate")
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "store_unavailable")
    assert client.get("/readyz").json()["store"] == "away"
    assert fresh.client("admin").post("/v1/products/umbrella/freeze").json()["status"] == "frozen"
    assert client.get("/v1/products/umbrella").json()["status"] == "frozen"
    assert fresh.quote()["version"] == 0
    for name in ("releases_total", "epsilon_spent", "slots_learned_total"):
        line = f'hushprice_{name}{{product="umbrella"}}'
        assert [each for each in metrics.splitlines() if each.startswith(line)] == [
            each for each in fresh.client("auditor").get("/metrics").text.splitlines() if each.startswith(line)
        ]
    monkeypatch.undo()
    assert client.get("/v1/products/umbrella/certificate").json() == {"after": "a release"}
    assert [each["sequence"] for each in client.get("/v1/products/umbrella/report").json()["releases"]] == [1]
    release(store, 2)
    release(store, 3)
    fresh.look()
    report = client.get("/v1/products/umbrella/report").json()
    assert [each["sequence"] for each in report["releases"]] == [1, 2, 3]
    store.close()


def test_processes_that_share_a_note_never_lower_it(tmp_path: Path) -> None:
    ahead, behind = SeenReleasesFile(tmp_path / "seen.json"), SeenReleasesFile(tmp_path / "seen.json")
    ahead.note([SeenRelease("a", 7, 70)])
    behind.note([SeenRelease("a", 5, 50), SeenRelease("b", 1, 10)])
    assert {each.product: each.sequence for each in SeenReleasesFile(tmp_path / "seen.json").all()} == {"a": 7, "b": 1}
    assert {each.product: each.sequence for each in behind.all()} == {"a": 7, "b": 1}

    def count(product: str) -> None:
        file = SeenReleasesFile(tmp_path / "seen.json")
        for number in range(1, 40):
            file.note([SeenRelease(product, number, number)])

    threads = [threading.Thread(target=count, args=(name,)) for name in ("x", "y")]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    found = {each.product: each.sequence for each in SeenReleasesFile(tmp_path / "seen.json").all()}
    assert (found["x"], found["y"]) == (39, 39)


def test_the_note_lies_away_from_the_store_and_each_store_has_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    paths = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        settings = build({"store": str(tmp_path / name / "shop.db")})
        setup.quoters_seen_file(settings).note([SeenRelease(name, 1, 1)])
        paths += [path for path in (tmp_path / "state" / "hushprice").glob("seen-*.json") if path not in paths]
        assert not list((tmp_path / name).glob("*seen*"))
    assert len(paths) == 2
    assert (tmp_path / "state" / "hushprice").stat().st_mode & 0o777 == 0o700
    moved = (tmp_path / "one" / "shop.db").rename(tmp_path / "two" / "moved.db")
    assert setup.quoters_seen_file(build({"store": str(moved)})).all() == [SeenRelease("one", 1, 1)]  # by what it is
    chosen = build({"store": str(moved), "state_dir": str(tmp_path / "chosen")})
    assert setup.quoters_seen_file(chosen).all() == []
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert build({}).own_dir == tmp_path / ".local" / "state" / "hushprice"


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    settings = build({"store": str(tmp_path / "shop.db"), "state_dir": str(tmp_path / "file" / "x")})
    with pytest.raises(InvalidInput, match=r"^state_dir: folder '.*' cannot be made"):
        setup.quoters_seen_file(settings)
