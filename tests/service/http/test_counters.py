"""Counters on /metrics: answers by class, refused keys, horizons. What depends on records is counted apart."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from tests.service.http import test_nothing_raw
from tests.service.http.running import Running, ask

from hushprice.service.http.answer_counts import AnswerCounts
from hushprice.service.quoting.learner_process import LearnerProcess


def counted(server: Running, name: str) -> dict[str, int]:
    lines = server.client("auditor").get("/metrics").text.splitlines()
    pairs = [each.rsplit(" ", 1) for each in lines if each.startswith(name)]
    return {label.partition('"')[2].partition('"')[0]: int(value) for label, value in pairs}


def test_answers_are_counted_by_class(fresh: Running) -> None:
    before = counted(fresh, "hushprice_answers_total")
    fresh.quote()
    fresh.client("shop").post("/v1/quotes", json={})
    fresh.client("shop").get("/nothing")
    fresh.client("shop").put("/v1/quotes", json={})
    after = counted(fresh, "hushprice_answers_total")
    assert {kind: after[kind] - before[kind] for kind in ("2xx", "4xx", "5xx")} == {"2xx": 2, "4xx": 3, "5xx": 0}


def test_refused_keys_are_counted(fresh: Running) -> None:
    fresh.client().post("/v1/quotes", json=ask())
    fresh.client().post("/v1/quotes", json=ask(), headers={"x-api-key": "hp_shop_guessed"})
    fresh.client("auditor").post("/v1/quotes", json=ask())
    for role in (None, "auditor"):  # that there is an outcome to tell may depend on a record
        fresh.client(role).post(f"/v1/quotes/{fresh.quote()['id']}/outcome", json={"purchased": True})
    assert counted(fresh, "hushprice_refused_keys_total") == {"unknown": 2, "role": 1}


def test_the_horizon_left_and_the_end_of_learning_are_told(fresh: Running) -> None:
    fresh.create(name="short", horizon=2)
    fresh.create(name="fixed", policy="fixed")
    for left in (1, 0, 0):
        fresh.quote(product="short")
        fresh.look()
        assert counted(fresh, "hushprice_horizon_left")["short"] == left
    assert set(counted(fresh, "hushprice_learning_ended{")) == {"short", "fixed"}


def test_restarts_of_a_learner_are_told_by_the_process_that_started_it(fresh: Running) -> None:
    assert counted(fresh, "hushprice_learner_restarts_total") == {}
    with socket.socket() as listening:
        fresh.service.learner = LearnerProcess(fresh.service.settings, listening)
        fresh.service.learner.restarts = 3
        assert counted(fresh, "hushprice_learner_restarts_total") == {"": 3}


def test_answers_to_outcomes_and_deletions_are_not_on_the_public_port(fresh: Running) -> None:
    quote, shop = fresh.quote(), fresh.client("shop")
    before = counted(fresh, "hushprice_answers_total")
    for bought in (True, True, False):
        shop.post(f"/v1/quotes/{quote['id']}/outcome", json={"purchased": bought})
    fresh.client("admin").post("/v1/customers/forget", json={"customer": "c"})
    after = counted(fresh, "hushprice_answers_total")
    assert after == before | {"2xx": before["2xx"] + 1}  # the look at the counters
    assert fresh.service.answers.of_records() == {"1xx": 0, "2xx": 3, "3xx": 0, "4xx": 1, "5xx": 0}


def test_counting_them_with_the_others_would_be_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug of the test that public answers are the same in two worlds."""
    real = AnswerCounts.add
    monkeypatch.setattr(AnswerCounts, "add", lambda self, status, of_records: real(self, status, of_records=False))
    (one, _), (other, _) = (test_nothing_raw.serve(tmp_path / name, name == "other") for name in ("one", "other"))
    assert one["/metrics"] != other["/metrics"]
