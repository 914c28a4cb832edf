"""docs/lab/theory.md names every check, and says of each what the tests expect."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hushprice.research.theory.registry import CHECKS

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "lab" / "theory.md").read_text()
FALSE = {"estimate-error-small-units", "information-value", "input-noise-regret", "surplus-reason"}


@pytest.mark.parametrize("name", CHECKS)
def test_every_check_has_a_row_and_a_paragraph(name):
    row = re.search(rf"^\| `{name}` \| ([^|]*) \|", PAGE, flags=re.MULTILINE)
    assert row is not None
    assert ("false" in row[1]) == (name in FALSE)
    assert f"**`{name}`**" in PAGE
