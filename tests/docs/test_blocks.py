"""What the pages show runs: Python blocks, and shell blocks after a line `<!-- runnable -->`.

Blocks after a line `<!-- session -->` belong together and are for test_sessions.py.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hushprice.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PYTHON = re.compile(r"(?<!<!-- session -->\n)^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
SHELL = re.compile(r"^<!-- runnable -->\n```sh\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)

# What is typed, made small by options that come after it: a plan's picture, an attack's strength are tested elsewhere.
SMALLER = {
    "hushprice plan --product": "--trials 1 --visitors-per-day 100 --days 2",
    "hushprice plan --customers": "--customers 5e3",
    "hushprice attack": "--runs 20 --horizon 60",
    "hushprice audit": "--runs 20 --horizon 60",
    "hushprice reproduce": "--trials 2",
}


def blocks(pattern: re.Pattern[str]) -> Iterator[object]:
    for page in PAGES:
        for number, match in enumerate(pattern.finditer(page.read_text()), start=1):
            yield pytest.param(match[1], id=f"{page.name}-{number}")


def commands() -> Iterator[object]:
    for page in PAGES:
        for match in SHELL.finditer(page.read_text()):
            for line in match[1].splitlines():
                yield pytest.param(line, id=line[:60])


@pytest.mark.parametrize("source", list(blocks(PYTHON)))
def test_python_blocks_run(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(source, "block", "exec"), {"__name__": "block"})


@pytest.mark.parametrize("line", list(commands()))
def test_runnable_commands_run(line, tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    smaller = next((more for start, more in SMALLER.items() if line.startswith(start)), "")
    if line.startswith("hushprice ") and ">" not in line:
        run_here(line, smaller, monkeypatch)
    else:
        run_in_a_shell(line)


def run_here(line, smaller, monkeypatch):
    """What the installed script does, without another process: it takes longer to start than most commands to run."""
    monkeypatch.setattr(sys, "argv", [*shlex.split(line, comments=True), *smaller.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code


def run_in_a_shell(line):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", line],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_readme_has_blocks_of_both_kinds():
    readme = (ROOT / "README.md").read_text()
    assert len(PYTHON.findall(readme)) >= 3
    assert len(SHELL.findall(readme)) >= 2


def test_the_first_python_block_is_ten_lines():
    first = PYTHON.findall((ROOT / "README.md").read_text())[0]
    assert len([line for line in first.splitlines() if line.strip()]) <= 10
