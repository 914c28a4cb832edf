"""The tables of docs/noisy_newton.md and the README's picture are what the results give."""

from __future__ import annotations

import importlib
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "noisy_newton.md"


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("noisy_newton")


def test_the_page_shows_the_results(benchmark):
    found = benchmark.results()
    assert set(found) == set(benchmark.SECTIONS)
    for name, kept in found.items():
        _, _, rest = PAGE.read_text().partition(f"<!-- {name} -->\n")
        assert rest.partition("\n\n")[0] == benchmark.section(name).table(kept["rows"]), f"{name}: run with --page"


def test_every_table_stands_under_the_command_that_made_it(benchmark):
    page = PAGE.read_text()
    for name, kept in benchmark.results().items():
        before, _, _ = page.partition(f"<!-- {name} -->\n")
        assert f"`{kept['command']}`" in before


def test_misses_are_said_on_the_page(benchmark):
    page = PAGE.read_text()
    for name in ("cells", "instances", "adversarial"):
        section = benchmark.section(name)
        for missed in section.misses(benchmark.results()[name]["rows"]):
            assert f"- {missed}" in page


def test_every_constant_of_the_rules_has_a_row(benchmark):
    source = (ROOT / "src" / "hushprice" / "policies" / "newton.py").read_text()
    constants = set(re.findall(r"^([A-Z]+(?:_[A-Z]+)*) = ", source, flags=re.MULTILINE))
    rows = benchmark.results()["rules"]["rows"]
    assert constants - {"LEVELS"} <= {row["name"] for row in rows}
    policy = importlib.import_module("hushprice.policies.newton")
    for row in rows:  # measured with the constants as they are now
        assert row["now"] == getattr(policy, row["name"], row["now"])


def test_the_picture_is_drawn_from_the_results(tmp_path):
    drawing = runpy.run_path(str(ROOT / "docs" / "draw_noisy_newton.py"))
    drawing["draw"](tmp_path / "drawn.svg")
    lines = re.compile(r"<text[^>]*>(.*?)</text>|<path d=\"(M[^\"]*)\"", flags=re.DOTALL)
    drawn, kept = ((path).read_text() for path in (tmp_path / "drawn.svg", drawing["TARGET"]))
    assert [match[0] for match in lines.findall(drawn)] == [match[0] for match in lines.findall(kept)]
    assert drawing["EPSILONS"] == importlib.import_module("newton.curve").EPSILONS
