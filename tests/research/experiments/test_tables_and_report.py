"""Verdicts by rule, tables with every number, files that are what they say, and a page that loads nothing."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars
import pytest

from hushprice.research.experiments.experiment import (
    NONPRIVATE,
    PRINTED,
    PRIVATE,
    PUBLISHED,
    TIGHT,
    Contender,
    PrintedNumber,
)
from hushprice.research.experiments.files import page, write_outcome
from hushprice.research.experiments.input_perturbation import AT_EPSILON
from hushprice.research.experiments.registry import EXPERIMENTS, chosen
from hushprice.research.experiments.report import report
from hushprice.research.experiments.rows import ReproducedEntry, reasons
from hushprice.research.experiments.run import MeasuredExperiment
from hushprice.research.experiments.tables import cell_by_cell, in_the_papers_shape
from hushprice.simulation.result import Mean


@pytest.fixture
def row(everything: tuple) -> Callable[..., ReproducedEntry]:
    """A row with any number of ours and of the paper's."""
    some: ReproducedEntry = everything[1][0].rows[0]

    def make(
        mean: float,
        error: float | None,
        paper: str | None,
        *,
        contender: Contender = PUBLISHED,
        epsilon: float = 0.5,
        column: str = "ε = 0.5",
        trials: int = 20,
        device: str = "cpu",
    ) -> ReproducedEntry:
        setting = replace(some.entry.setting, epsilon_covariance=epsilon, epsilon_estimate=epsilon)
        number = None if paper is None else PrintedNumber(text=paper, unit=1e-4)
        entry = replace(some.entry, setting=setting, contender=contender, paper=number, column=column)
        result: Any = SimpleNamespace(trials=trials, horizon=100, seconds=1.0, device=device, precision="single")
        return replace(some, entry=entry, measured=Mean(mean, error), result=result)

    return make


def test_the_distance_takes_the_papers_error_to_be_ours_with_its_twenty_trials(row: Callable) -> None:
    assert row(80e-4, 3e-4, "74.6").distance == pytest.approx((80 - 74.6) / (math.sqrt(2) * 3))
    assert row(80e-4, 3e-4, "74.6", trials=1000).distance == pytest.approx((80 - 74.6) / math.hypot(3, 3 * 50**0.5))
    assert row(80e-4, None, "74.6").distance is None
    assert row(80e-4, 3e-4, None).matches is None
    assert row(74.6e-4 + 3.9 * math.sqrt(2) * 1e-4, 1e-4, "74.6").matches is True
    assert row(74.6e-4 + 4.1 * math.sqrt(2) * 1e-4, 1e-4, "74.6").matches is False
    assert row(74.6e-4 - 4.1 * math.sqrt(2) * 1e-4, 1e-4, "74.6").matches is False


def test_a_number_that_rounds_to_the_papers_matches_it(row: Callable) -> None:
    assert row(0.64e-4, 0.001e-4, "0.6").matches is True
    assert row(0.66e-4, 0.001e-4, "0.6").matches is False


def test_a_reason_is_chosen_by_rule(row: Callable) -> None:
    table, perturbed = chosen(["non-private"])[0], chosen(["input-perturbation"])[0]
    far = {
        "printed": row(300e-4, 1e-4, "201", contender=PRINTED),
        "tight": row(100e-4, 1e-4, "201", contender=TIGHT),
        "without": row(2e-4, 0.1e-4, "3.1", contender=NONPRIVATE, column="any ε"),
        "large": row(10e-4, 1e-4, "44.7", epsilon=5.0),
        "better": row(7e-4, 0.5e-4, "14.7"),
        "worse": row(30e-4, 0.5e-4, "14.7"),
    }
    texts = {name: table.reason(each) for name, each in far.items()}
    assert len(set(texts.values())) == len(far)
    assert table.reason(row(20e-4, 0.1e-4, "14.7")) == texts["worse"]
    assert "word for word" in texts["printed"]
    assert "From epsilon = 1 to 5" in texts["large"]
    assert "noise law" in perturbed.reason(row(8e-4, 0.1e-4, "393", contender=AT_EPSILON))
    assert list(reasons(table, [*far.values(), row(201e-4, 1e-4, "201")])) == list("abcdef")


def test_tables_show_the_paper_beside_ours_with_the_reason(row: Callable) -> None:
    table = chosen(["non-private"])[0]
    rows = [row(80e-4, 3e-4, "74.6"), row(10e-4, 1e-4, "44.7", epsilon=5.0, column="ε = 5")]
    text = in_the_papers_shape(table, rows).markdown()
    assert "| paper | 74.6 | 44.7 |" in text
    assert "| published | 80.0 ± 3.0 (+1.3) | 10.0 ± 1.0 (-24.5) [a] |" in text
    compared = cell_by_cell(table, rows)
    assert compared is not None
    assert [line[-1] for line in compared.lines] == ["matches", "differs [a]"]
    assert "<td>80.0 ± 3.0</td>" in compared.html()


def test_input_perturbation_has_a_paper_line_of_its_own(row: Callable) -> None:
    experiment = chosen(["input-perturbation"])[0]
    rows = [row(80e-4, 3e-4, "74.6"), row(8e-4, 1e-4, "393", contender=AT_EPSILON)]
    names = [line[0] for line in in_the_papers_shape(experiment, rows).lines]
    assert names[1:] == ["paper", "paper, input perturbation", "published", "input perturbation"]


def test_an_experiment_leaves_table_data_and_pictures(everything: tuple, tmp_path: Path) -> None:
    _, outcomes = everything
    kinds = ("tab:non-private", "fig:regret-main", "fig:surplus")
    for outcome in (each for each in outcomes if each.experiment.label in kinds):
        name = outcome.experiment.name
        files = write_outcome(outcome, tmp_path)
        assert {path.suffix for path in files} == {".md", ".parquet", ".svg", ".png"}
        pictures = {path.stem for path in files if path.suffix == ".png"}
        figure = outcome.experiment.label.startswith("fig:")
        assert pictures == ({f"{name}-{each.name}" for each in PRIVATE} if figure else {name})
        assert pictures == {path.stem for path in files if path.suffix == ".svg"}
        frame = polars.read_parquet(tmp_path / f"{name}.parquet")
        assert frame["ours"].to_list() == [row.mean for row in outcome.rows]
        assert set(frame["label"]) == {outcome.experiment.label}
        assert frame["standard_error"].null_count() == 0
        assert all(path.stat().st_size > 0 for path in files)
    assert not list(tmp_path.glob(".*"))


def test_the_markdown_page_has_every_line(everything: tuple) -> None:
    for outcome in everything[1]:
        text = page(outcome)
        assert text.startswith(f"# {outcome.experiment.label}: ")
        assert all(f"| {row.entry.line} |" in text for row in outcome.rows)


def test_the_report_loads_nothing_and_names_everything(everything: tuple, whole_report: str) -> None:
    (plan, outcomes), text = everything, whole_report
    visible = re.sub(r'src="data:image/svg\+xml;base64,[^"]*"', "", text)
    assert "http" not in visible
    assert not re.search(r"<(script|link|iframe|object)|url\(|@import|src=", visible)
    assert all(f"<h2>{each.label}: " in visible for each in EXPERIMENTS)
    assert "quick" in visible
    assert "seconds by the clock." in visible  # all of it is of this run
    again = report(plan, [replace(outcomes[0], new_periods=0)], seconds=1.0)
    assert "This run: 0 customers, 1 seconds by the clock; the rest was there already." in again
    pictures = re.findall(r"base64,([^\"]*)", text)
    assert len(pictures) == sum(len(each.experiment.figures(each.rows)) for each in outcomes)
    assert all(b"<svg" in base64.b64decode(picture) for picture in pictures)


def test_the_report_escapes_what_it_shows(everything: tuple) -> None:
    plan, outcomes = everything
    some: MeasuredExperiment = outcomes[0]
    entry = replace(some.rows[0].entry, group="<b>T & d</b>")
    odd = replace(some, rows=[replace(some.rows[0], entry=entry), *some.rows[1:]])
    text = report(plan, [odd], seconds=1.0)
    assert "<b>T" not in text
    assert "&lt;b&gt;T &amp; d&lt;/b&gt;" in text


def test_the_report_lists_each_cell_that_should_match_and_does_not(everything: tuple, row: Callable) -> None:
    plan, outcomes = everything
    rows = [
        row(80e-4, 3e-4, "74.6"),
        row(10e-4, 1e-4, "44.7", epsilon=5.0, column="ε = 5"),
        row(300e-4, 1e-4, "74.6", contender=PRINTED),
    ]
    table: MeasuredExperiment = next(each for each in outcomes if each.experiment.label == "tab:non-private")
    yardsticks = [each for each in table.rows if not each.entry.contender.reads_budget]
    text = report(plan, [replace(table, rows=[*rows, *yardsticks])], seconds=1.0)
    listed = text.partition("What did not, and why")[2].partition("Known before any run")[0]
    assert "tab:non-private: published at T = 1e3, d = 2, ε = 5: paper 44.7, ours 10.0 ± 1.0. From epsilon" in listed
    assert "74.6" not in listed
    assert "<td>1 of 2</td>" in text
    assert "seconds of one core, " in text
    text = report(plan, [replace(table, rows=[row(80e-4, 3e-4, "74.6", device="gpu"), *yardsticks])], seconds=1.0)
    assert "seconds of a GPU in single precision, several cells at once, " in text
