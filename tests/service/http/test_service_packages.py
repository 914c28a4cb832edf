"""The service in an environment that has what `hushprice[service]` asks for and nothing else: no plots, no tables."""

from __future__ import annotations

import subprocess
import tomllib
import venv
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tests.service.http.running import CUSTOMER, PRODUCT
from tests.service.http.test_serve import Served
from tests.waiting import eventually

import hushprice

ROOT = Path(__file__).parents[3]
RESEARCH = {"matplotlib", "polars"}  # for figures and tables of experiments


def declared() -> list[str]:
    """What pyproject.toml asks for, for the service."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = [*project["dependencies"], *project["optional-dependencies"]["service"]]
    return [each for each in listed if Requirement(each).name not in RESEARCH]


def with_their_own(requirements: Iterable[str]) -> dict[str, metadata.Distribution]:
    """The installed packages that are needed, with those that they need in turn."""
    needed: dict[str, metadata.Distribution] = {}
    waiting = [(each, "") for each in requirements]
    while waiting:
        text, extra = waiting.pop()
        requirement = Requirement(text)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        distribution = metadata.distribution(name)
        own = distribution.requires or []
        waiting += [(each, extra) for extra in requirement.extras for each in own]
        if name not in needed:
            needed[name] = distribution
            waiting += [(each, "") for each in own]
    return needed


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter that finds the packages of the service, linked from where they are installed."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for distribution in [*with_their_own(declared()).values(), metadata.distribution("hushprice")]:
        for top in {file.parts[0] for file in distribution.files or [] if file.parts[0] not in ("..", "__pycache__")}:
            target = Path(distribution.locate_file(top)).resolve()
            if target.suffix != ".pth" and not (packages / top).exists():
                (packages / top).symlink_to(target)
    return folder / "bin" / "python"


def test_the_service_quotes_and_learns_without_them(python: Path, tmp_path: Path) -> None:
    find = "from importlib.util import find_spec; print([name for name in {!r} if find_spec(name)])"
    absent = sorted({*RESEARCH, "pyarrow", "PIL", "pytest"})
    found = subprocess.run([python, "-c", find.format(absent)], capture_output=True, text=True, check=True, env={})
    assert found.stdout == "[]\n"
    served = Served(tmp_path, python=str(python), PYTHONPATH=str(Path(hushprice.__file__).parents[1]))
    try:
        assert served.public.post("/v1/products", json=PRODUCT, headers=served.key("admin")).status_code == 201
        asked = {"product": "umbrella", "attributes": CUSTOMER}
        assert served.public.post("/v1/quotes", json=asked, headers=served.key("shop")).status_code == 201
        eventually(lambda: served.public.get("/readyz/learning").status_code == 200)
        eventually(lambda: served.public.get("/v1/products/umbrella/certificate").status_code == 200)
    finally:
        served.close()
