"""The pictures, tables and names of the pages on concepts, threats and pitfalls."""

from __future__ import annotations

import math
import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
DRAWING: dict[str, Any] = runpy.run_path(str(DOCS / "draw_concepts.py"))
LABEL = re.compile(r"`((?:fig|defn|fact|cor|prop|alg):[\w-]+)`")
PLANTED = 34


def block(page: str) -> dict[str, Any]:
    """What the first Python block of a page defines."""
    source = re.search(r"^```python\n(.*?)^```$", (DOCS / page).read_text(), flags=re.MULTILINE | re.DOTALL)
    assert source
    names: dict[str, Any] = {}
    exec(compile(source[1], page, "exec"), names)
    return names


def table_after(page: str, mark: str) -> str:
    """The rows of the table that follows a mark, without its head."""
    lines = (DOCS / page).read_text().partition(f"<!-- {mark} -->\n")[2].splitlines()
    return "\n".join(lines[2 : lines.index("")])


# pictures


def test_drawing_twice_gives_the_same_bytes_and_the_files_shown_are_these(tmp_path):
    for folder in ("one", "two"):
        DRAWING["draw"](tmp_path / folder)
    for name in DRAWING["PICTURES"]:
        drawn = (tmp_path / "one" / f"{name}.svg").read_text()
        assert drawn == (tmp_path / "two" / f"{name}.svg").read_text()
        kept = (DRAWING["TARGET"] / f"{name}.svg").read_text()
        words = re.compile(r"<text[^>]*>(.*?)</text>|<tspan[^>]*>(.*?)</tspan>", flags=re.DOTALL)
        assert words.findall(drawn) == words.findall(kept), "run docs/draw_concepts.py"
        assert len(kept) < 40_000


def test_every_picture_is_shown_with_the_label_it_stands_for():
    page = (DOCS / "guide" / "concepts.md").read_text()
    shown = re.findall(r"\]\(../images/concepts/(\w+)\.svg\)\n\n\*Stands for [^*]*`(fig:[\w-]+)`", page)
    assert [name for name, _ in shown] == list(DRAWING["PICTURES"])
    assert {path.stem for path in DRAWING["TARGET"].iterdir()} == set(DRAWING["PICTURES"])


@pytest.mark.parametrize("page", ["guide/concepts.md", "lab/paper_constants.md"])
def test_every_label_is_one_the_map_of_the_paper_knows(page):
    known = set(LABEL.findall((DOCS / "reference" / "paper_map.md").read_text()))
    assert set(LABEL.findall((DOCS / page).read_text())) <= known


def test_the_curve_of_a_gaussian_release_is_what_integration_gives():
    x = np.linspace(-12.0, 13.0, 2_000_001)
    for mu, epsilon in ((0.6, 1.0), (0.2, 0.1), (1.5, 3.0)):
        one, other = (np.exp(-((x - centre) ** 2) / 2) / math.sqrt(2 * math.pi) for centre in (mu, 0.0))
        integral = np.trapezoid(np.maximum(one - math.exp(epsilon) * other, 0.0), x)
        assert DRAWING["gaussian_delta"](mu, epsilon) == pytest.approx(integral, rel=1e-6)
        assert DRAWING["gaussian_epsilon"](mu, integral) == pytest.approx(epsilon, rel=1e-6)


def test_tight_composition_is_never_worse_and_advanced_wins_from_where_the_page_says():
    curves = {count: DRAWING["composed"](count) for count in (*range(1, 80), 1000)}
    for curve in curves.values():
        assert curve["tight"] <= min(curve["basic"], curve["advanced"]) * (1 + 1e-9)
    first = next(count for count, curve in curves.items() if curve["advanced"] < curve["basic"])
    assert f"from k = {first} on" in (DOCS / "guide" / "concepts.md").read_text()


# odds


def strongest_watcher(epsilon: float, delta: float) -> tuple[np.ndarray, np.ndarray]:
    """Outcome probabilities in both worlds of a mechanism that uses (epsilon, delta) up, most telling outcome first.

    With chance delta the world is shown outright; else one answer out of two, the true one e^epsilon times as often.
    """
    truth = (1 - delta) * math.exp(epsilon) / (1 + math.exp(epsilon))
    bought = np.array([delta, truth, 1 - delta - truth, 0.0])
    return bought, bought[::-1]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("delta", [0.0, 2e-10, 1e-3, 0.2])
def test_the_bounds_are_what_the_strongest_watcher_reaches(epsilon, delta):
    page = block("guide/concepts.md")
    bought, other = strongest_watcher(epsilon, delta)
    alarms, hits = (np.concatenate([[0.0], np.cumsum(world)]) for world in (other, bought))
    for share in (0.01, 0.05, 0.6, 1.0):  # Neyman and Pearson: between two corners the watcher tosses a coin
        reached = np.interp(share, alarms[1:], hits[1:])
        assert page["true_positives"](epsilon, delta, share) == pytest.approx(reached, rel=1e-9)
    assert page["advantage"](epsilon, delta) == pytest.approx(np.abs(bought - other).sum() / 2)
    if delta == 0.0:
        for yes, no in ((1, 1), (1, 100)):
            after = yes * bought[1] / (yes * bought[1] + no * other[1])
            assert page["posterior"](epsilon, yes, no) == pytest.approx(after)


def test_the_table_of_odds_is_what_its_block_computes():
    names = block("guide/concepts.md")
    assert table_after("guide/concepts.md", "odds") == names["table"]
    row = [cell.strip() for cell in names["table"].splitlines()[2].split("|")]
    text = (DOCS / "guide" / "concepts.md").read_text()
    assert row[1] == "1"
    assert f'thought "as likely as not" may end up thinking {row[3]}' in text
    assert f"1:100 may end up at {row[4]}" in text
    assert f"at most {row[5]} of buyers" in text
    assert f"one in {names['one_in']}" in text


# many visits


@pytest.mark.parametrize(("k", "epsilon", "delta"), [(1, 0.5, 1e-6), (2, 1.0, 1e-9), (7, 0.1, 1e-3)])
def test_visits_chain_the_bound_for_one(k, epsilon, delta):
    factor, slack = 1.0, 0.0  # Pr <= factor * Pr' + slack, one replaced record after the other
    for _ in range(k):
        factor, slack = factor * math.exp(epsilon), slack + factor * delta
    total, lost = block("guide/threat_model.md")["visits"](k, epsilon, delta)
    assert math.exp(total) == pytest.approx(factor)
    assert lost == pytest.approx(slack)


def test_the_table_of_visits_is_what_its_block_computes():
    assert table_after("guide/threat_model.md", "visits") == block("guide/threat_model.md")["table"]


# pitfalls


def pitfalls(page: str) -> list[tuple[str, str]]:
    """Severity and text of every entry, each text on one line."""
    entries = re.findall(r"^- \*\*.+?\*\*(?: \((.+?)\))?(.*?)(?=^- |^$)", page, flags=re.MULTILINE | re.DOTALL)
    return [(severity or "critical", " ".join(text.split())) for severity, text in entries]


def test_planted_bugs_are_named_as_the_tests_name_them():
    page = (DOCS / "reference" / "pitfalls.md").read_text().replace("√2", "sqrt(2)")
    bugs = re.findall(r"\"(.*?)\": \w+\.\w+", (ROOT / "tests" / "planted" / "test_planted.py").read_text())
    held = [text.partition("*Planted*: ")[2].removesuffix(".") for _, text in pitfalls(page) if "*Planted*: " in text]
    assert len(set(held)) == len(held) == PLANTED
    assert set(held) <= set(bugs)


def test_every_pitfall_has_a_severity():
    page = (DOCS / "reference" / "pitfalls.md").read_text().partition("## The planted bugs")[0]
    found = pitfalls(page)
    assert len(found) == len(re.findall(r"^- ", page, flags=re.MULTILINE)) > 25
    for severity, text in found:
        assert re.match(r"(critical|theoretical|negligible|by about 3 %)(;|$)", severity), text


def test_a_missed_tree_level_costs_what_the_page_says():
    assert round(100 * (math.sqrt(17 / 16) - 1)) == 3  # the shift grows with the root of the levels
    assert "(by about 3 %)" in (DOCS / "reference" / "pitfalls.md").read_text()


@pytest.mark.parametrize(
    "page", ["reference/pitfalls.md", "guide/threat_model.md", "guide/limitations.md", "lab/paper_constants.md"]
)
def test_named_files_exist(page):
    homes = (ROOT / "src" / "hushprice", ROOT / "tests", ROOT)
    named = re.findall(r"`((?:[\w-]+/)*[\w-]+\.(?:py|toml))`", (DOCS / page).read_text())
    assert not [name for name in named if not any((home / name).exists() for home in homes)]
