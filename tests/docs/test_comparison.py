"""The README's table is what its command prints, and its picture is small enough to load."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hushprice.simulation.compare import DEFAULT, compare_policies

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def shown() -> dict[str, float]:
    _, _, rest = (ROOT / "README.md").read_text().partition("<!-- comparison -->")
    rows = re.findall(r"^(\S.*?)  +([\d.]+) (?:±|\+-) ", rest.partition("\n```\n")[0], flags=re.MULTILINE)
    return {name: float(regret) for name, regret in rows}


@pytest.mark.slow
def test_the_table_can_be_repeated(shown):
    results = compare_policies(DEFAULT, horizon=100_000, trials=20, seed=0)
    measured = {result.label: 1e4 * result.regret.mean() for result in results}
    assert shown == pytest.approx(measured, rel=0.01, abs=0.02)


def test_the_text_beside_the_table_is_true_of_it(shown):
    best = shown["fixed (best in hindsight)"]
    assert round(best, 1) == 5.4
    assert shown["nonprivate"] < best < shown["paper (published)"] < shown["random"] < shown["paper (printed)"]
    assert shown["nonprivate"] < shown["paper (tight)"] < shown["paper (published)"]
    assert shown["noisy-newton"] < min(best, shown["nonprivate"])


def test_the_picture_is_small():
    picture = (ROOT / "docs" / "images" / "comparison.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 200_000
