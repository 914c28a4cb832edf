"""The tables of docs/lab/rivals.md are those that the results give."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

from hushprice.policies import POLICIES

ROOT = Path(__file__).resolve().parents[2]


def _table() -> Any:
    spec = importlib.util.spec_from_file_location("rivals_table", ROOT / "benchmarks" / "rivals" / "table.py")
    assert spec is not None
    assert spec.loader is not None
    table = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(table)
    return table


def test_the_page_shows_the_results() -> None:
    table = _table()
    page = (ROOT / "docs" / "lab" / "rivals.md").read_text()
    for name, made in table.tables(json.loads(table.RESULTS.read_text())).items():
        assert f"<!-- {name} -->\n{made}\n\n" in page, name


def test_every_rival_has_a_section_a_row_and_what_it_reproduces() -> None:
    rivals = {name for name, module in POLICIES.items() if ".rivals." in module}
    headings = re.findall("^### (.*)$", (ROOT / "docs" / "guide" / "rivals.md").read_text(), re.MULTILINE)
    named = set(re.findall("`([a-z-]+)`", " ".join(headings)))
    assert named <= rivals
    assert rivals - named == {"glm-pricing-mixed", "glm-pricing-open"}  # in the section of `glm-pricing`
    table = _table()
    assert rivals <= {policy for policy, _ in (table.PRIVATE | table.OPEN).values()}
    reproduced = set(json.loads((ROOT / "benchmarks" / "rivals" / "reproduced.json").read_text()))
    assert reproduced <= rivals
    assert rivals - reproduced == {"one-price", "shariff-sheffet-revenue", "greedy-ils-dispersed"}
