"""Every table and figure has a name, and the paper's grids and numbers are those of its text."""

from __future__ import annotations

import math

import pytest

from hushprice.errors import InvalidInput
from hushprice.research.experiments import paper_numbers
from hushprice.research.experiments.experiment import NONPRIVATE, PRIVATE, PUBLISHED, PaperEntry
from hushprice.research.experiments.registry import EXPERIMENTS, chosen

LABELS = {
    "fig:regret-main",
    "fig:regret-veps",
    "fig:regret-vdelta",
    "tab:non-private",
    "tab:diffeps",
    "tab:input-perturbation",
    "fig:surplus",
}
# Rows as they stand in the paper's LaTeX source.
NON_PRIVATE_ROWS = {
    (10**5, 2): r"201\times, 142\times, 74.6\times, 41.9\times, 44.7\times, 3.1\times",
    (10**6, 2): r"46.0\times, 19.8\times, 11.5\times, 5.6\times, 5.5\times, 0.6\times",
    (10**5, 3): r"156\times, 130\times, 92.6\times, 62.9\times, 43.4\times, 3.1\times",
    (10**6, 3): r"74.9\times, 49.4\times, 23.1\times, 14.7\times, 5.7\times, 1.6\times",
}
DIFFERENT_ROWS = {
    (2, 1): "0.0247& 0.0232& 0.0195& 0.0145& 0.0073",
    (2, 2): "0.0192& 0.0178& 0.0196& 0.0192& 0.0191",
    (3, 1): "0.0164& 0.0160& 0.0147& 0.0128& 0.0092",
    (3, 2): "0.0145& 0.0149& 0.0144& 0.0149& 0.0154",
}
INPUT_ROWS = {
    10**5: "142&  74.6&  41.9& & 393& 393& 98.2",
    5 * 10**5: "42.7& 19.4& 10.4& & 393& 393& 95.8",
    10**6: "19.8& 11.5& 5.6& & 393& 393& 95.3",
}


def full(label: str) -> list[PaperEntry]:
    return chosen([label])[0].entries(quick=False)


def test_every_table_and_figure_is_registered() -> None:
    assert {each.label for each in EXPERIMENTS} == LABELS
    assert {each.name for each in EXPERIMENTS} == {label.partition(":")[2] for label in LABELS}


@pytest.mark.parametrize("label", sorted(LABELS))
def test_a_name_works_with_and_without_its_prefix(label: str) -> None:
    assert chosen([label]) == chosen([label.partition(":")[2]])
    assert [each.label for each in chosen([label])] == [label]


def test_all_is_everything_and_a_name_given_twice_is_one() -> None:
    assert tuple(chosen(["all", "surplus"])) == EXPERIMENTS
    assert len(chosen(["surplus", "fig:surplus"])) == 1


@pytest.mark.parametrize("name", ["fig:non-private", "regret", "", "ALL"])
def test_an_unknown_name_is_refused_with_the_list(name: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        chosen(["surplus", name])
    assert repr(name) in str(caught.value)
    assert all(label in str(caught.value) for label in LABELS)


def test_the_papers_numbers_are_those_of_its_source() -> None:
    for place, text in NON_PRIVATE_ROWS.items():
        assert list(paper_numbers.NON_PRIVATE[place]) == text.replace(r"\times", "").split(", ")
    for held, text in DIFFERENT_ROWS.items():
        assert list(paper_numbers.DIFFERENT[held]) == text.split("& ")
    for horizon, text in INPUT_ROWS.items():
        numbers = [*paper_numbers.INPUT_ALGORITHM[horizon], *paper_numbers.INPUT_PERTURBATION[horizon]]
        assert numbers == [each.strip() for each in text.split("&") if each.strip()]


def test_each_of_the_24_cells_of_the_table_is_compared() -> None:
    entries = full("tab:non-private")
    compared = [entry for entry in entries if entry.contender in (PUBLISHED, NONPRIVATE) and entry.paper is not None]
    assert len(compared) == 24
    cell = next(e for e in compared if (e.setting.horizon, e.setting.dimension, e.column) == (10**6, 3, "ε = 0.5"))
    assert cell.paper is not None
    assert math.isclose(cell.paper.value, 23.1e-4)
    budget = cell.cell(seed=0).prepare().budget
    assert (budget.covariance.epsilon, budget.estimates.epsilon) == (0.5, 0.5)
    assert math.isclose(budget.covariance.delta, 1e-12)


def test_the_grids_of_the_figures_are_our_reading_of_them() -> None:
    def grid(label: str) -> tuple[set[int], set[float], set[int], set[int]]:
        settings = [entry.setting for entry in full(label) if entry.contender == PUBLISHED]
        assert all(each.epsilon_covariance == each.epsilon_estimate for each in settings)
        return (
            {each.horizon // 10**5 for each in settings},
            {each.epsilon_estimate for each in settings},
            {each.power for each in settings},
            {each.dimension for each in settings},
        )

    tenths = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0}
    assert grid("fig:regret-main") == (set(range(1, 11)), {0.02, 0.05, 0.1, 0.2, 0.5, 1.0}, {2}, {2, 3})
    assert grid("fig:regret-veps") == grid("fig:surplus") == ({1, 5, 10}, tenths, {2}, {2, 3})
    assert grid("fig:regret-vdelta") == ({2, 5, 10}, {0.2, 0.5, 1.0}, set(range(1, 11)), {2, 3})


def test_every_experiment_has_every_calibration_and_every_yardstick() -> None:
    for experiment in EXPERIMENTS:
        names = {entry.contender.name for entry in experiment.entries(quick=False)}
        assert names >= {"published", "printed", "tight", "non-private", "best fixed price", "random prices"}
        assert names >= {contender.name for contender in PRIVATE}


def test_input_perturbation_gets_the_columns_epsilon_and_the_claims_total() -> None:
    found = [entry for entry in full("tab:input-perturbation") if "input" in entry.contender.name]
    totals = {(e.line, e.column): e.cell(0).prepare().budget.total.epsilon for e in found}
    assert totals["input perturbation", "ε = 0.5"] == 0.5
    assert totals["input perturbation, 2ε", "ε = 0.5"] == 1.0
