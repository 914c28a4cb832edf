"""Health follows what is learned, and not who says that it learns; quoting is ready as long as it can quote."""

from __future__ import annotations

import os
import socket
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.service.clock import pass_deadlines
from tests.service.http.running import Running
from tests.waiting import eventually

from hushprice.service.learning.loop import LearningLoop
from hushprice.service.quoting.learner_process import LearnerProcess
from hushprice.service.store import open_store
from hushprice.service.store.protocol import LearnerStore, StoreUnavailable

HOUR = 3600.0


@pytest.fixture
def store(either: Running) -> Iterator[LearnerStore]:
    """The learner's side of the same store."""
    opened = open_store(either.store, "learner")
    yield opened
    opened.close()


def learning(server: Running) -> tuple[int, dict[str, Any]]:
    """What the service says of learning, once it has looked, and a metric says the same; quoting is ready anyway."""
    server.look()
    client = server.client()
    answer = client.get("/readyz/learning")
    body = answer.json()
    ready = client.get("/readyz")
    assert (ready.status_code, ready.json()["learner"]) == (200, body["learner"])
    assert f"hushprice_learner_up {int(body['ready'])}" in server.client("auditor").get("/metrics").text.splitlines()
    assert server.client("shop").post("/v1/quotes", json=_ask()).status_code == 201
    return answer.status_code, body


def _ask() -> dict[str, Any]:
    return {"product": "umbrella", "attributes": {"age": 41, "member": True, "region": "north"}}


def change(uri: str, statement: str, *values: Any) -> None:
    """Change the store behind the service's back, on either kind."""
    if "://" in uri:
        with psycopg.connect(uri, autocommit=True) as connection:
            connection.execute(statement.replace("UPDATE ", "UPDATE hushprice.").replace("?", "%s").encode(), values)
        return
    file = sqlite3.connect(uri, timeout=60.0)
    with file:
        file.execute(statement, values)
    file.close()


def test_a_lease_of_a_clock_that_was_an_hour_fast_is_nobodys(either: Running, store: LearnerStore) -> None:
    assert store.take_lease("crashed since", time.time() + HOUR)
    status, body = learning(either)
    assert (status, body["learner"]) == (503, "away")
    LearningLoop(store).turn()
    assert learning(either)[0] == 200


def test_a_state_that_cannot_be_read_is_seen_although_somebody_holds_the_lease(
    either: Running, store: LearnerStore, caplog: pytest.LogCaptureFixture
) -> None:
    either.quote()
    pass_deadlines(either.store)
    LearningLoop(store).turn()
    assert learning(either)[0] == 200
    state = store.state("umbrella")
    assert state is not None
    change(either.store, "UPDATE learner SET state = ?", b"damaged")
    either.quote()
    pass_deadlines(either.store)  # a product that nothing is due of is not read
    began, passed = time.time(), [0.0]
    damaged = LearningLoop(store, now=lambda: began + passed[0])
    change(either.store, "UPDATE lease SET holder = NULL")
    damaged.turn()
    passed[0] = 1.0  # when the lease is renewed
    damaged.turn()
    status, body = learning(either)
    assert (status, body["learner"], body["set_aside"]) == (503, "behind", 1)
    assert "learning is behind; " in caplog.text  # said once, on a slow machine before the turn
    change(either.store, "UPDATE learner SET state = ?", state.state)
    change(either.store, "UPDATE lease SET holder = NULL")
    LearningLoop(store).turn()
    assert learning(either)[0] == 200
    assert "learning goes on" in caplog.messages


def test_slots_that_are_due_and_not_learned_are_seen_although_somebody_holds_the_lease(
    either: Running, store: LearnerStore
) -> None:
    either.quote()
    assert store.take_lease("does nothing", time.time())
    assert learning(either)[0] == 200  # nothing is due
    pass_deadlines(either.store)
    assert store.take_lease("does nothing", time.time())
    status, body = learning(either)
    assert (status, body["learner"], body["behind"]) == (503, "behind", 1)
    assert body["overdue_seconds"] > 1e5
    change(either.store, "UPDATE lease SET holder = NULL")
    LearningLoop(store).turn()
    assert learning(either) == (200, {**body, "ready": True, "learner": "up", "behind": 0, "overdue_seconds": 0.0})


def test_a_loop_that_fails_at_every_pass_is_seen(either: Running, store: LearnerStore, monkeypatch: Any) -> None:
    def failing(*_: Any) -> None:
        raise StoreUnavailable("a page that only the learner reads")

    clock = [time.time() - 100.0]
    fails = LearningLoop(store, now=lambda: clock[0])
    monkeypatch.setattr(store, "products_to_learn", failing)
    fails.turn()
    clock[0] += 100.0
    fails.turn()  # and takes the lease first
    status, body = learning(either)
    assert (status, body["learner"], body["since_look_seconds"]) == (503, "behind", 100.0)  # in tens
    assert body["behind"] == body["set_aside"] == 0


def test_a_learner_that_died_too_often_is_said_to_be_stopped(fresh: Running) -> None:
    with socket.socket() as listening:
        learner = LearnerProcess(fresh.service.settings, listening)
        fresh.service.learner = learner
        assert learning(fresh)[1]["learner"] == "away"
        learner.stopped = True
        assert learning(fresh)[1]["learner"] == "stopped"


def test_a_damaged_page_of_the_learners_is_its_trouble_alone(fresh: Running, caplog: pytest.LogCaptureFixture) -> None:
    fresh.quote()
    pass_deadlines(fresh.store)
    store = open_store(fresh.store, "learner")
    LearningLoop(store).turn()
    assert learning(fresh)[0] == 200
    _zero_page(Path(fresh.store), "learner")
    eventually(lambda: learning(fresh)[1]["learner"] == "unreadable")
    LearningLoop(store, now=lambda: time.time() + 6.0).turn()
    assert learning(fresh)[0] == 503
    assert "is damaged; restore a backup" in caplog.text
    store.close()


def _zero_page(path: Path, table: str) -> None:
    file = sqlite3.connect(path, timeout=60.0)
    (page,) = file.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
    (size,) = file.execute("PRAGMA page_size").fetchone()
    eventually(lambda: file.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0)
    number = os.open(path, os.O_WRONLY)
    os.pwrite(number, b"\0" * size, (page - 1) * size)
    file.close()
    os.close(number)
