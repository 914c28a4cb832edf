"""An older backup is put back: what customers have seen prices of stays charged, and nothing is learned twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import psycopg
import pytest
from tests.service.conftest import PostgresProcess
from tests.service.crash import truth
from tests.service.crash.backups import Backup, OfDatabase, OfFile
from tests.service.crash.runs import Load
from tests.service.crash.served import OnPostgres, OnSqlite, Served
from tests.service.crash.shoppers import Notes, add_product
from tests.waiting import eventually

from hushprice.service.quoting import quoter_main
from hushprice.service.shared import setup
from hushprice.service.shared.config import build
from hushprice.service.shared.seen_releases import SeenReleasesFile
from hushprice.service.store import consistency as store_consistency
from hushprice.service.store import open_store
from hushprice.service.store.postgres_setup import prepare
from hushprice.service.store.values import SeenRelease


class Case(NamedTuple):
    served: Served
    backup: Backup
    notes_in: Path  # the folder with what this machine has seen


@pytest.fixture(params=["sqlite", "postgresql"])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Case]:
    made: Case
    if request.param == "sqlite":
        file = OnSqlite(tmp_path)
        made = Case(file, OfFile(tmp_path / "shop.db", tmp_path), tmp_path)
    else:
        process: PostgresProcess = request.getfixturevalue("postgres_process")
        with psycopg.connect(process.uri, autocommit=True) as connection:
            connection.execute("CREATE DATABASE restored")
        backup = OfDatabase(process, "restored")
        prepare(backup.uri)
        made = Case(OnPostgres(tmp_path, backup.uri, process), backup, tmp_path)
    yield made
    made.served.close()


def noted(case: Case) -> SeenRelease:
    """What this machine has noted that it saw of the only product; release 0 if nothing yet."""
    files = list(case.notes_in.glob("seen-*.json"))
    every = [seen for file in files for seen in SeenReleasesFile(file).all()]
    assert len(every) <= 1
    return every[0] if every else SeenRelease("", 0, 0)


def test_up_to_the_highest_release_seen_is_charged_and_no_record_is_released_twice(case: Case) -> None:
    served, notes = case.served, Notes()
    served.start()
    name = add_product(served, notes, "plain")
    with Load(served, notes):
        eventually(lambda: len(truth.releases(served.uri)) >= 4)
        case.backup.take()
        backed_up = len(truth.releases(served.uri))
        # Quoters ask for releases now and then: that releases are stored does not say that any was seen.
        eventually(lambda: noted(case).sequence >= backed_up + 2)
    served.crash("both")
    before = truth.releases(served.uri)
    seen = noted(case)
    case.backup.put_back()
    old = truth.releases(served.uri)
    assert 0 < len(old) < seen.sequence <= len(before)

    served.start()
    line = served.line("auditor")
    report = f"/v1/products/{name}/report"
    changes = eventually(lambda: line.call("GET", report)[1]["changes"])
    assert [change["what"] for change in changes] == ["restored backup"]
    assert f"release {seen.sequence}," in changes[0]["detail"]
    with Load(served, Notes(products=[name])):
        eventually(lambda: max(sequence for _, sequence in truth.releases(served.uri)) >= seen.sequence + 3)
    certificate = f"/v1/products/{name}/certificate"
    eventually(lambda: "restored backup" in str(line.call("GET", certificate)[1]))
    line.close()
    served.end()

    after = truth.releases(served.uri)
    assert truth.changed(old, after) == []
    new = [release for place, release in after.items() if place not in old]
    assert all(release.sequence > seen.sequence and release.batch >= seen.records for release in new)
    with served.store() as store:
        assert store_consistency.problems(store) == []
        state = store.state(name)
        assert state is not None
        assert msgspec.json.decode(state.ledger)["releases"] == max(release.sequence for release in new)


def test_the_store_knows_what_was_seen_before_its_learner_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a learner that is quicker than its quoter would learn charged slots of a restored backup."""
    settings = build({"store": str(tmp_path / "shop.db"), "state_dir": str(tmp_path), "port": 0, "operator_port": 0})
    setup.quoters_seen_file(settings).note([SeenRelease("tea", 7, 93)])
    found: list[SeenRelease | None] = []

    async def serve(*_: object) -> bool:
        store = open_store(settings.store.reveal(), "learner")
        found.append(store.highest_seen("tea"))
        store.close()
        return True

    monkeypatch.setattr(quoter_main, "_serve", serve)
    monkeypatch.setattr(quoter_main, "precompile", lambda: None)
    quoter_main.run(settings, lambda line: None)
    assert found == [SeenRelease("tea", 7, 93)]
