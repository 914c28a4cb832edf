"""The tables of docs/lab/rivals.md are those that the results give."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_shows_the_results() -> None:
    spec = importlib.util.spec_from_file_location("rivals_table", ROOT / "benchmarks" / "rivals" / "table.py")
    assert spec is not None
    assert spec.loader is not None
    table = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(table)
    page = (ROOT / "docs" / "lab" / "rivals.md").read_text()
    for name, made in table.tables(json.loads(table.RESULTS.read_text())).items():
        assert f"<!-- {name} -->\n{made}\n\n" in page, name
