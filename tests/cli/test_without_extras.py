"""What works where no extra, or the service's alone, is installed, and what the other verbs say there."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import signal
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.waiting import PATIENCE, eventually

from hushprice import extras
from hushprice.errors import NotAvailable

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has what requirements-service.txt pins, and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    lines = (ROOT / "requirements-service.txt").read_text().splitlines()
    for package in ("hushprice", *(line.partition("==")[0] for line in lines if not line.startswith("#"))):
        parts = importlib.metadata.distribution(package)
        for name in {file.parts[0] for file in parts.files or [] if file.parts[0] not in ("..", "__pycache__")}:
            (packages / name).symlink_to(Path(str(parts.locate_file(name))))
    return folder / "bin" / "python"


def run(python: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run([python, *words], cwd=folder, env=env, capture_output=True, text=True, check=False)


def test_the_environment_is_without_them(environment: Path, tmp_path: Path) -> None:
    found = "import importlib.util as u; print([n for n in ('matplotlib', 'polars', 'pytest') if u.find_spec(n)])"
    assert run(environment, tmp_path, "-c", found).stdout == "[]\n"


def test_pricing_and_simulating_need_no_extra(environment: Path, tmp_path: Path) -> None:
    program = """
import hushprice
from hushprice import open_pricer, simulate
print(simulate("random", horizon=100, trials=1).trials)
print(open_pricer(contexts=1, horizon=1000).quote([0.5]).price > 0.0)
"""
    done = run(environment, tmp_path, "-c", program)
    assert (done.stdout, done.stderr) == ("1\nTrue\n", "")
    words = ["--policy", "random", "--horizon", "100", "--trials", "1"]
    done = run(environment, tmp_path, "-m", "hushprice", "simulate", *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


@pytest.fixture(scope="module")
def refusals(environment: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """What every verb that needs the extra leaves behind: code, output, errors and files; all in one process."""
    program = f"""
import contextlib, io, json, os, sys
from hushprice.cli import main
for words, _ in {NEEDING!r}:
    os.mkdir(words.split()[0])
    os.chdir(words.split()[0])
    sys.argv, out, err = ["hushprice", *words.split()], io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as ended:
            code = ended.code
    print(json.dumps([code, out.getvalue(), err.getvalue(), os.listdir()]))
    os.chdir("..")
"""
    done = run(environment, tmp_path_factory.mktemp("refusals"), "-c", program)
    return [json.loads(line) for line in done.stdout.splitlines()]


NEEDING = [
    ("simulate --horizon 100 --trials 1 --output runs.parquet", "polars"),
    ("compare --horizon 100 --trials 1 --output demo", "matplotlib"),
    ("attack --output demo", "matplotlib"),
    ("plan --customers 100 --features 1 --picture plan.svg", "matplotlib"),
    ("theory period-cost --quick --output theory", "matplotlib"),
    ("sweep --policy random --horizon 100 --trials 1 --output study", "polars"),
    ("reproduce all --quick --output small", "matplotlib"),
]


@pytest.mark.parametrize(("number", "package"), [(number, package) for number, (_, package) in enumerate(NEEDING)])
def test_a_verb_that_needs_the_extra_says_so_before_it_works(refusals: list[Any], number: int, package: str) -> None:
    line = f"this needs the package {package}: install the extra research, pip install 'hushprice[research]'"
    assert refusals[number] == [2, "", f"hushprice: {line}\n", []]


def test_the_service_starts_and_answers_without_the_extra_research(environment: Path, tmp_path: Path) -> None:
    command = [environment, "-m", "hushprice", "serve", "--store", "shop.db", "--port", "0", "--operator-port", "0"]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    log = tmp_path / "log.txt"
    with log.open("wb") as words, subprocess.Popen(command, cwd=tmp_path, stdout=words, stderr=words, env=env) as run:
        try:
            serving = re.compile(r"serving (http\S+), for the operator")
            found = eventually(lambda: serving.search(log.read_text()) or run.poll() is not None)
            assert isinstance(found, re.Match), log.read_text()
            assert httpx.get(f"{found[1]}/healthz", timeout=PATIENCE, trust_env=False).status_code == 200
            run.send_signal(signal.SIGTERM)
            assert run.wait(timeout=PATIENCE) == 0
        finally:
            run.kill()


def test_a_package_that_no_extra_brings_is_a_plain_error() -> None:
    with pytest.raises(ModuleNotFoundError), extras.needed():
        import no_such_package  # noqa: F401


def test_a_missing_package_names_its_extra(monkeypatch: pytest.MonkeyPatch, call: Callable) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(NotAvailable, match=r"pip install 'hushprice\[research\]'"):
        extras.require("matplotlib", "polars")
    with pytest.raises(NotAvailable, match=r"the package polars: .*hushprice\[research\]"), extras.needed():
        import polars  # noqa: F401
