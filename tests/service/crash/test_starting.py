"""Killed while it starts: the next start finds its ports free and its files whole."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.service.crash.served import OnSqlite
from tests.waiting import eventually


@pytest.fixture
def served(tmp_path: Path) -> Iterator[OnSqlite]:
    made = OnSqlite(tmp_path)
    yield made
    made.close()


def test_a_service_killed_while_it_starts_is_started_again_on_the_same_ports(served: OnSqlite) -> None:
    served.begin()
    eventually(served.learner)  # which is still loading, and holds the operator's socket
    served.crash("parent")
    served.start()
    served.end()
    assert "Traceback" not in served.log()


@pytest.mark.parametrize("said", [b"", b'{"settings": {"sto'])
def test_a_learner_whose_parent_died_before_it_spoke_ends_without_a_word(said: bytes) -> None:
    command = [sys.executable, "-m", "hushprice.service.learning.child"]
    ended = subprocess.run(command, input=said, capture_output=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, b"", b"")
