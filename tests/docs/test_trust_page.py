"""The page on trust models shows the picture that is drawn."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DRAWING: dict[str, Any] = runpy.run_path(str(ROOT / "docs" / "draw_trust.py"))


def test_the_picture_is_the_one_that_is_drawn(tmp_path: Path) -> None:
    DRAWING["draw"](tmp_path)
    words = re.compile(r"<text[^>]*>(.*?)</text>|<tspan[^>]*>(.*?)</tspan>", flags=re.DOTALL)
    for name in DRAWING["PICTURES"]:
        drawn = words.findall((tmp_path / f"{name}.svg").read_text())
        assert drawn == words.findall((DRAWING["TARGET"] / f"{name}.svg").read_text()), "run docs/draw_trust.py"
        assert len(drawn) > 10
