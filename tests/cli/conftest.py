"""Two ways to run the command: in this process, quick, and as the installed script, real."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import typer.main

from hushprice.cli import main

SCRIPT = Path(sys.executable).with_name("hushprice")


class Ran(NamedTuple):
    """What a run of the command left behind."""

    code: int
    out: str
    err: str


@pytest.fixture(autouse=True, scope="session")
def _verbs_are_read_once() -> Iterator[None]:
    """Typer reads the options of all verbs anew at every call, which takes longer than most calls."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", functools.cache(typer.main.get_command))
        yield


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run the command in this process, with its arguments in one string or many."""

    def run(*arguments: str) -> Ran:
        words = arguments[0].split() if len(arguments) == 1 else list(arguments)
        monkeypatch.setattr(sys, "argv", ["hushprice", *words])
        with pytest.raises(SystemExit) as caught:
            main()
        code = caught.value.code
        return Ran(int(code or 0), *capfd.readouterr())

    return run


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., Ran]:
    """Run the installed script in an empty folder."""

    def run(arguments: str) -> Ran:
        done = subprocess.run(
            [SCRIPT, *arguments.split()], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return run
