"""The boundary between records and prices is held by imports: what prices cannot reach, it cannot read."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "hushprice"

PRICES = [
    "hushprice.policies.paper.pricing.quoter",
    "hushprice.policies.newton.pricing.quoter",
    "hushprice.price_search",
    "hushprice.releases",
]
PRICES += ["hushprice.service.quoting.quoter_main", "hushprice.service.http.routes"]
BEYOND = ("hushprice.records", "hushprice.slots", "hushprice.noise", "hushprice.mechanisms")
PROBE = """
import importlib, pkgutil, sys
module = importlib.import_module({name!r})
for each in pkgutil.walk_packages(getattr(module, "__path__", []), {name!r} + "."):
    importlib.import_module(each.name)
print(*sorted(name for name in sys.modules if name.split(".")[0] == "hushprice"))
"""


def loaded(name: str) -> set[str]:
    """Every module of ours that a fresh interpreter holds after importing `name` with all its submodules."""
    probe = subprocess.run(
        [sys.executable, "-c", PROBE.format(name=name)], capture_output=True, text=True, check=True, timeout=300
    )
    return set(probe.stdout.split())


def beyond(modules: set[str]) -> set[str]:
    """Those on the side that reads records."""
    return {name for name in modules if name.startswith(BEYOND) or ".private" in name}


@pytest.mark.parametrize("name", PRICES)
def test_what_prices_loads_nothing_that_reads_records(name: str) -> None:
    modules = loaded(name)
    assert name in modules
    assert beyond(modules) == set()


def test_the_probe_sees_a_module_that_reads_records() -> None:
    learner = "hushprice.policies.paper.private.learner"
    assert {"hushprice.records", "hushprice.noise", learner} <= beyond(loaded(learner))


FOLDERS = sorted(each.parent for each in (SOURCE / "policies").glob("*/policy.py"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_no_policy_imports_another(folder: Path) -> None:
    """Of every folder that there is; of those listed, `make contracts` says so of what they import as well."""
    said = "\n".join(file.read_text() for file in folder.rglob("*.py"))
    others = {name for name in re.findall(r"hushprice\.policies\.(\w+)", said) if (SOURCE / "policies" / name).is_dir()}
    assert others <= {folder.name}
