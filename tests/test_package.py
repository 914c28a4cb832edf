"""The package as a whole: its names, its version, its weight, and the promises its build files make."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import hushprice

ROOT = Path(__file__).parent.parent
HEAVY = ("numba", "scipy", "matplotlib", "polars", "numpy")


def test_every_public_name_is_there() -> None:
    for name in hushprice.__all__:
        assert getattr(hushprice, name) is not None


def test_an_unknown_name_is_an_attribute_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        hushprice.no_such_name  # noqa: B018


def test_the_version_is_stated_once() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert hushprice.__version__ == declared == importlib.metadata.version("hushprice")


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = f"import hushprice, sys; print([name for name in {HEAVY!r} if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "file", ["requirements.txt", "requirements-dev.txt", "requirements-cluster.txt", "requirements-gpu.txt"]
)
def test_requirements_are_pinned_and_name_no_index(file: str) -> None:
    lines = [line for line in (ROOT / file).read_text().splitlines() if line and not line.startswith("#")]
    assert lines
    for line in lines:
        assert re.fullmatch(r"[A-Za-z0-9_.\-]+==[0-9][0-9A-Za-z.]*", line), line


def test_every_dependency_of_the_package_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pinned = {line.split("==")[0].lower() for line in (ROOT / "requirements.txt").read_text().splitlines()}
    for requirement in project["dependencies"]:
        assert re.split(r"[<>=\[]", requirement)[0].lower() in pinned


def test_the_extras_are_optional() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(project["optional-dependencies"]) == {"gpu", "cluster", "service"}
    assert any(requirement.startswith("numba") for requirement in project["dependencies"])
