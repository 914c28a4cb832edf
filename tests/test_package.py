"""The package as a whole: its names, its version, its weight, and the promises its build files make."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import hushprice

ROOT = Path(__file__).parent.parent
FILES = {  # pinned versions, and the extras they are for
    "requirements.txt": ["research"],
    "requirements-service.txt": ["service"],
    "requirements-dev.txt": ["research", "service", "dev"],
    "requirements-cluster.txt": ["cluster"],
    "requirements-gpu.txt": ["gpu", "cuda13"],
}
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


def pins(file: str) -> dict[str, str]:
    """The versions in a file, by name; every line must be such a pair, and name no index, path or hash."""
    found = {}
    for line in (ROOT / file).read_text().splitlines():
        if not line.startswith("#"):
            match = re.fullmatch(r"([a-z0-9.\-]+)==([0-9][0-9A-Za-z.]*)", line)
            assert match, line
            found[match[1]] = match[2]
    assert found
    return found


def with_what_they_need(requirements: list[Requirement]) -> set[str]:
    """The names of all packages that come with these, by what the installed ones say they need."""
    names: set[str] = set()
    waiting, done = list(requirements), set[tuple[str, str]]()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        names.add(name)
        for extra in {"", *requirement.extras} - {extra for other, extra in done if other == name}:
            done.add((name, extra))
            for text in importlib.metadata.requires(name) or []:
                needed = Requirement(text)
                if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                    waiting.append(needed)
    return names


def asked(*extras: str) -> list[Requirement]:
    """What pyproject.toml asks for, with these extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lists = [project["dependencies"], *(project["optional-dependencies"][extra] for extra in extras)]
    return [Requirement(text) for each in lists for text in each]


@pytest.mark.parametrize("file", FILES)
def test_the_pins_are_what_pyproject_asks_for(file: str) -> None:
    pinned = pins(file)
    for requirement in asked(*FILES[file]):
        version = pinned[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), f"{file} has {version} of {requirement}: run `make pins`"


@pytest.mark.parametrize("file", ["requirements.txt", "requirements-service.txt", "requirements-dev.txt"])
def test_the_pins_are_complete_and_no_more(file: str) -> None:
    assert set(pins(file)) == with_what_they_need(asked(*FILES[file])), "run `make pins`"


def test_files_of_pins_agree() -> None:
    found: dict[str, str] = {}
    for file in FILES:
        for name, version in pins(file).items():
            assert found.setdefault(name, version) == version, (file, name)


def test_make_pins_writes_every_file_with_its_extras() -> None:
    rules = (ROOT / "Makefile").read_text()
    for file, extras in FILES.items():
        (line,) = re.findall(rf"^\t\$\(COMPILE\) -o {re.escape(file)} .*$", rules, re.MULTILINE)
        assert re.findall(r"--extra (\S+)", line) == extras
    assert set(FILES) == {path.name for path in ROOT.glob("requirements*.txt")}


def test_the_extras_are_optional() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {"research", "service", "cluster", "gpu", "cuda13", "dev"}
    assert set(project["optional-dependencies"]) == extras
    assert any(requirement.startswith("numba") for requirement in project["dependencies"])
    assert not {"matplotlib", "polars"} & {requirement.name for requirement in asked()}
