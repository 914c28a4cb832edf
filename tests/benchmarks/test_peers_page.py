"""The table of docs/lab/peers.md is the one the results give."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_shows_the_results(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks" / "peers"))
    run_all = importlib.import_module("run_all")
    rows = json.loads(run_all.RESULTS.read_text())["rows"]
    _, _, rest = (ROOT / "docs" / "lab" / "peers.md").read_text().partition("<!-- peers -->\n")
    assert rest.partition("\n\n")[0] == run_all.table(rows)
    for peer in run_all.ADAPTERS:  # every peer has a row, if only to say why it did not run
        assert any(row["name"].startswith(peer) for row in rows)
