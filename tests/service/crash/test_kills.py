"""kill -9 at random moments, under load. `make crash` does the same much longer."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.service.conftest import PostgresProcess
from tests.service.crash.runs import TOLD, crashed
from tests.service.crash.served import OnPostgres, OnSqlite, Served

KILLS = os.environ.get("CRASH_KILLS")  # without it, one of each kind


@pytest.fixture(params=["sqlite", "postgresql"])
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    made: Served
    if request.param == "sqlite":
        made = OnSqlite(tmp_path)
    else:
        database: PostgresProcess = request.getfixturevalue("postgres_process")
        made = OnPostgres(tmp_path, request.getfixturevalue("postgres_uri"), database)
    yield made
    made.close()


def test_no_crash_loses_or_doubles_what_was_acknowledged_or_draws_a_release_again(
    served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = random.SystemRandom().randrange(10**6)  # other moments every time; what is promised holds at all of them
    kills = len(served.kinds) if KILLS is None else int(KILLS)
    run = crashed(served, kills, seed)
    with capsys.disabled():
        print(f"\n{type(served).__name__}: {run}")  # noqa: T201
    assert not run.wrong, "\n".join(run.wrong[:50])
    assert run.kills == kills
    assert len(run.notes.told) > TOLD * kills
    assert run.releases > kills
