"""What the planner's page shows is what the planner says, and what was measured."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[2] / "docs"
DRAWING: dict[str, Any] = runpy.run_path(str(DOCS / "draw_planner.py"))


def test_the_sample_and_the_table_are_those_of_the_package():
    """Where this fails: python docs/draw_planner.py"""
    text = (DOCS / "guide" / "planner.md").read_text()
    assert len(DRAWING["SAMPLE"].findall(text)) == 1
    assert len(DRAWING["TABLE"].findall(text)) == 1
    assert DRAWING["page"](text) == text


def test_pictures_are_there():
    assert (DOCS / "images" / "map.png").stat().st_size > 10_000
    assert (DOCS / "images" / "plan.png").stat().st_size > 10_000
