"""Cells prepared in other processes: the same jobs to the last digit, the same errors, and only where it pays."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from hushprice.errors import InvalidInput
from hushprice.policies.protocol import Policy
from hushprice.research.sweeps import preparation
from hushprice.research.sweeps.cell import Cell
from hushprice.research.sweeps.preparation import prepare_all
from hushprice.research.sweeps.run import run_cells
from hushprice.simulation.market_file import load_market


class Asked:
    """Remembers which cells went to other processes; `answer` may stand in for those."""

    def __init__(self) -> None:
        self.real = preparation.map_in_subprocesses
        self.shares: list[list[Cell]] = []
        self.answer: Callable[[list[Cell]], list[Policy] | None] | None = None

    def __call__(self, function: Any, calls: Sequence[tuple[list[Cell]]]) -> list[Any]:
        self.shares = [share for (share,) in calls]
        return self.real(function, calls) if self.answer is None else [self.answer(share) for share in self.shares]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Two processors, and every calibration long enough to be worth a process."""
    found = Asked()
    monkeypatch.setattr(preparation, "map_in_subprocesses", found)
    monkeypatch.setattr(preparation, "cores", lambda: 2)
    monkeypatch.setattr(preparation, "TIGHT", 60.0)
    monkeypatch.setattr(preparation, "OTHER", 30.0)
    return found


def as_a_process(share: list[Cell]) -> list[Policy] | None:
    """What another process gives for these cells: copies, or None where it fails."""
    try:
        copied: list[Policy] = pickle.loads(pickle.dumps(preparation.policies_of(pickle.loads(pickle.dumps(share)))))
    except InvalidInput:
        return None
    return copied


def cells_of(shop: Path) -> list[Cell]:
    market = load_market(shop)
    settings: list[dict[str, Any]] = [
        {"policy": "random", "horizon": 200},
        {"policy": "paper", "horizon": 300, "epsilon": 4.0},
        {"policy": "paper", "horizon": 300, "epsilon": 4.0, "seed": 7},
        {"policy": "paper", "horizon": 250, "market": market, "features": "interactions", "adjacency": "zero-out"},
        {"policy": "paper", "horizon": 400, "calibration": "published", "max_estimates": 3, "width": 0.5},
        {"policy": "noisy-newton", "horizon": 300},
        {"policy": "paper", "horizon": 300, "calibration": "printed", "epsilon_covariance": 1, "epsilon_estimate": 2},
    ]
    return [Cell(**setting) for setting in settings]


def test_jobs_are_the_same_wherever_they_are_prepared(asked: Asked, shop: Callable[..., Path], same: Callable) -> None:
    path = shop(rows="0.5\n-0.25\n1\n")
    elsewhere, here = cells_of(path), cells_of(path)
    jobs = prepare_all(elsewhere)
    assert sum(map(len, asked.shares)) == 4  # two cells differ in their seed alone
    assert jobs == [cell.prepare() for cell in elsewhere]
    for cell, twin in zip(elsewhere, here, strict=True):
        assert cell.prepared
        assert not twin.prepared
        assert repr(cell.prepare().policy) == repr(twin.prepare().policy)
        assert cell.prepare().budget == twin.prepare().budget
        assert cell.content == twin.content
        assert cell.key == twin.key
        same(run_cells([cell], trials=2)[cell], run_cells([twin], trials=2)[twin])
    assert elsewhere[2].prepare().seed == 7


def test_the_slow_ones_are_dealt_out_evenly_and_done_once(asked: Asked) -> None:
    asked.answer = as_a_process
    kinds = ("published", "tight")
    cells = [Cell(policy="paper", horizon=100 + i, calibration=kind) for i in range(3) for kind in kinds]
    prepare_all(cells)
    assert [sorted(cell.calibration for cell in share) for share in asked.shares] == [
        ["published", "tight", "tight"],
        ["published", "published", "tight"],
    ]
    asked.shares = []
    prepare_all(cells)
    assert asked.shares == []


BAD = [
    Cell(policy="random", horizon=0),
    Cell(policy="paper", horizon=300, epsilon=-1.0),
    Cell(policy="paper", horizon=300, price=0.5),
    Cell(policy="paper", horizon=300, epsilon=5.0, seed=-1),
    Cell(policy="papier", horizon=300),
]


@pytest.mark.parametrize(("first", "answer"), [(0, None), *((number, as_a_process) for number in range(1, len(BAD)))])
def test_the_first_bad_cell_is_refused_in_the_same_words(asked: Asked, first: int, answer: Any) -> None:
    """Once by real processes, which take seconds to start."""
    asked.answer = answer
    with pytest.raises(InvalidInput) as here:
        BAD[first].prepare()
    good = [Cell(policy="paper", horizon=300 + i) for i in range(2)]
    with pytest.raises(InvalidInput) as elsewhere:
        prepare_all([*good, *BAD[first:], *BAD[:first]])
    assert len(asked.shares) == 2
    assert str(elsewhere.value) == str(here.value)


def test_where_a_process_fails_cells_are_prepared_here(asked: Asked) -> None:
    asked.answer = lambda share: None if len(share) == 1 else preparation.policies_of(share)
    cells = [Cell(policy="paper", horizon=300 + i) for i in range(3)]
    jobs = prepare_all(cells)
    assert sorted(map(len, asked.shares)) == [1, 2]
    assert [job.horizon for job in jobs] == [300, 301, 302]
    assert all(cell.prepared for cell in cells)


@pytest.mark.parametrize(
    ("processors", "tight", "other", "processes"),
    [
        (1, 2000, 0, 0),
        (2, 15, 0, 0),  # 2 s of work: as long there as here
        (2, 16, 0, 2),
        (16, 11, 0, 0),
        (16, 12, 0, 3),
        (16, 39, 78, 4),
        (16, 338, 676, 4),
        (16, 0, 200, 4),
        (16, 0, 0, 0),
    ],
)
def test_processes_are_started_where_they_save_time(
    monkeypatch: pytest.MonkeyPatch, processors: int, tight: int, other: int, processes: int
) -> None:
    started: list[int] = []

    def map_in_subprocesses(function: Any, calls: Sequence[Any]) -> list[None]:
        started.append(len(calls))
        return [None for _ in calls]

    monkeypatch.setattr(preparation, "map_in_subprocesses", map_in_subprocesses)
    monkeypatch.setattr(preparation, "cores", lambda: processors)
    monkeypatch.setattr(Cell, "prepare", lambda cell: None)
    cells = [Cell(policy="paper", horizon=1 + i) for i in range(tight)]
    cells += [Cell(policy="paper", horizon=1 + i, calibration="printed") for i in range(other)]
    cells += [Cell(policy="noisy-newton", horizon=1 + i) for i in range(1000)]
    cells += [Cell(policy="paper", horizon=5, seed=1 + i) for i in range(1000 if tight > 4 else 0)]
    prepare_all(cells)
    assert started == ([processes] if processes else [])
