"""The tables of docs/lab/noisy_newton.md and the README's picture are what the results give."""

from __future__ import annotations

import importlib
import re
import runpy
from pathlib import Path
from statistics import median

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "lab" / "noisy_newton.md"


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("noisy_newton")


def test_the_page_shows_the_results(benchmark):
    found = benchmark.results()
    assert set(found) == set(benchmark.SECTIONS)
    for name in benchmark.ON_PAGE:
        _, _, rest = PAGE.read_text().partition(f"<!-- {name} -->\n")
        assert rest.partition("\n\n")[0] == benchmark.section(name).table(found[name]["rows"]), (
            f"{name}: run with --page"
        )


def test_every_table_stands_under_the_command_that_made_it_and_every_section_is_named(benchmark):
    page = PAGE.read_text()
    for name, kept in benchmark.results().items():
        before, _, _ = page.partition(f"<!-- {name} -->\n")
        assert f"`{kept['command']}`" in before or f"(`{name}`" in page


def test_the_gist_of_the_training_and_of_the_speed_is_that_of_the_results(benchmark):
    page, found = " ".join(PAGE.read_text().split()), benchmark.results()
    for row in found["training"]["rows"]:
        if row["taken"]:
            assert "({} %, {} to {})".format(*(f"{100 * (each - 1):+.1f}" for each in row["all"])) in page
    ratios = [median(np.divide(row["ours"], row["paper"])) for row in found["speed"]["rows"]]
    assert f"{ratios[0]:.1f} times as fast as `paper@tight` at d = 2" in page
    assert "{:.1f} at 3, {:.1f} at 5 and {:.1f} at 10".format(*ratios[1:]) in page


def test_misses_are_said_on_the_page(benchmark):
    page = PAGE.read_text()
    for name in ("cells", "instances", "adversarial"):
        section = benchmark.section(name)
        for missed in section.misses(benchmark.results()[name]["rows"]):
            assert f"- {missed}" in page


def test_every_constant_of_the_rules_has_a_row_or_is_named_as_not_measured(benchmark):
    source = (ROOT / "src" / "hushprice" / "policies" / "newton" / "rules.py").read_text()
    constants = set(re.findall(r"^([A-Z]+(?:_[A-Z]+)*) = ", source, flags=re.MULTILINE))
    rows = benchmark.results()["rules"]["rows"]
    _, _, rest = PAGE.read_text().partition("Not measured: ")
    assert constants == ({row["name"] for row in rows} & constants) | set(
        re.findall(r"`(\w+)`", rest.partition(".")[0])
    )
    policy = importlib.import_module("hushprice.policies.newton.rules")
    for row in rows:  # measured with the constants as they are now
        assert row["now"] == getattr(policy, row["name"], row["now"])


def test_constants_are_what_the_rule_takes_on_the_training_set(benchmark):
    training, rules = benchmark.section("training"), benchmark.section("rules")
    rows = benchmark.results()["training"]["rows"]
    assert not set(training.SEEDS) & set(benchmark.section("instances").TEST)
    for name, (before, *values) in training.CANDIDATES.items():
        tried = [row for row in rows if row["name"] == name]
        assert [row["value"] for row in tried] == values
        taken = training.chosen(tried, before, freely=name == "TRUST")
        assert taken == getattr(rules.home(name), name)
        assert [row["value"] for row in tried if row["taken"]] == [taken] * (taken != before)


@pytest.mark.parametrize(
    ("all_cells", "one_cell", "freely", "taken"),
    [
        ([0.9, 0.8, 0.95], [0.9, 0.8, 1.2], False, 2.0),
        ([0.9, 0.8, 1.01], [0.9, 0.8, 1.2], False, 1.0),  # may be chance
        ([0.9, 0.8, 0.95], [1.2, 1.1, 1.3], False, 1.0),  # worse somewhere
        ([0.9, 0.8, 1.01], [1.2, 1.1, 1.3], True, 2.0),
        ([1.1, 0.8, 1.3], [0.9, 0.8, 0.95], True, 1.0),
    ],
)
def test_a_candidate_is_taken_if_better_beyond_chance_and_worse_nowhere(benchmark, all_cells, one_cell, freely, taken):
    row = {"value": 2.0, "all": all_cells, "cells": [[1.0, 0.9, 1.1], one_cell]}
    assert benchmark.section("training").chosen([row], 1.0, freely=freely) == taken


def test_the_picture_is_drawn_from_the_results(benchmark, tmp_path):
    drawing = runpy.run_path(str(ROOT / "docs" / "draw_noisy_newton.py"))
    drawing["draw"](tmp_path / "drawn.svg")
    numbers = re.compile(r"-?\d+\.?\d*")  # to a tenth of a point: another matplotlib may round differently
    drawn, kept = (numbers.findall(path.read_text()) for path in (tmp_path / "drawn.svg", drawing["TARGET"]))
    assert len(drawn) == len(kept)
    assert all(abs(float(one) - float(other)) < 0.1 for one, other in zip(drawn, kept, strict=True))
    assert drawing["EPSILONS"] == benchmark.section("curve").EPSILONS
