"""The learner's process as its parent keeps it: real processes, which end as they are told to."""

from __future__ import annotations

import asyncio
import socket
import stat
import sys
from pathlib import Path

import pytest

from hushprice.service.quoting import learner_process
from hushprice.service.quoting.learner_process import LearnerProcess
from hushprice.service.shared.child_settings import STORE_AWAY
from hushprice.service.shared.config import build


def kept_running(
    folder: Path, monkeypatch: pytest.MonkeyPatch, script: str, most: int, stays: str = "cat > /dev/null"
) -> tuple[LearnerProcess, int]:
    """A learner whose process is a shell script; returns it, and how often it began.

    The script ends as it likes `most` times; after that it stays until its parent closes the pipe.
    """
    starts, program = folder / "starts", folder / "child"
    program.write_text(
        f"#!/bin/sh\necho started >> {starts}\n[ $(wc -l < {starts}) -gt {most} ] && exec {stays}\n{script}\n"
    )
    program.chmod(stat.S_IRWXU)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setattr(learner_process, "_FIRST_PAUSE", 0.0)

    def begun() -> int:
        return len(starts.read_text().splitlines()) if starts.exists() else 0

    async def run(listening: socket.socket) -> LearnerProcess:
        learner = LearnerProcess(build({}), listening)
        learner.start()
        while not (learner.stopped or (learner.running and begun() == most + 1)):
            await asyncio.sleep(0.01)
        await learner.stop()
        return learner

    with socket.socket() as listening:
        return asyncio.run(run(listening)), begun()


def test_one_that_dies_again_and_again_stays_down_and_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(learner_process, "RESTARTS", 2)
    learner, begun = kept_running(tmp_path, monkeypatch, "exit 3", 5)
    assert (begun, learner.running, learner.restarts) == (3, False, 2)
    assert [message.split("; ")[0] for message in caplog.messages[:2]] == [
        "the learner's process ended with code 3"
    ] * 2
    (last,) = caplog.messages[2:]
    assert "ended with code 3 and stays down, after 2 restarts within a day" in last
    assert "then restart the service" in last


def test_one_that_finds_no_store_is_started_until_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It has read nothing, so that this may go on as long as an outage does."""
    monkeypatch.setattr(learner_process, "RESTARTS", 2)
    learner, begun = kept_running(tmp_path, monkeypatch, f"exit {STORE_AWAY}", 5)
    assert (begun, learner.stopped, learner.restarts) == (6, False, 0)
    assert set(caplog.messages) == {"the learner finds no store; starting it again in 0 s"}


def test_one_that_does_not_end_when_it_is_told_to_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(learner_process, "_FAREWELL", 0.05)
    _, begun = kept_running(tmp_path, monkeypatch, "", 0, "sleep 3600")
    assert (begun, caplog.messages) == (1, ["the learner's process does not end, and is killed"])


@pytest.mark.parametrize("ending", [True, False])
def test_one_that_ends_with_its_parent_is_not_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, ending: bool
) -> None:
    """Ctrl-C in a terminal signals both; a child that ends alone is started again, whatever its code."""
    program = tmp_path / "child"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(stat.S_IRWXU)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setattr(learner_process, "_FIRST_PAUSE", 3600.0)

    async def run(listening: socket.socket) -> LearnerProcess:
        told = asyncio.Event()
        learner = LearnerProcess(build({}), listening, told)
        if ending:
            told.set()
        learner.start()
        assert learner._task is not None
        while not (learner._task.done() or learner.restarts):
            await asyncio.sleep(0.01)
        await learner.stop()
        return learner

    with socket.socket() as listening:
        learner = asyncio.run(run(listening))
    assert (learner.restarts, learner.stopped, len(caplog.messages)) == (0, False, 0) if ending else (1, False, 1)
