"""How work is cut: everything missing once, in an order in which workers end together, enough pieces for all."""

from __future__ import annotations

import numpy as np
import pytest

from hushprice.research.sweeps.block import Block
from hushprice.research.sweeps.cell import Cell
from hushprice.research.sweeps.trial_range import LARGEST, cut, gaps

LONG, SHORT = Cell(policy="random", horizon=1_000_000), Cell(policy="random", horizon=1000)


def block(first: int, stop: int) -> Block:
    rows = np.zeros((stop - first, 7))
    return Block(first=first, seconds=0.0, totals=rows, regret_at=rows, estimate_periods=())


@pytest.mark.parametrize(
    ("stored", "missing"),
    [
        ([], [range(10)]),
        ([(0, 10)], []),
        ([(0, 20)], []),
        ([(2, 4), (4, 5), (8, 9)], [range(2), range(5, 8), range(9, 10)]),
        ([(0, 6), (2, 4)], [range(6, 10)]),
    ],
)
def test_gaps_are_what_no_block_holds(stored: list[tuple[int, int]], missing: list[range]) -> None:
    assert gaps([block(*each) for each in stored], 10) == missing


@pytest.mark.parametrize("slots", [1, 16, 1600])
def test_every_missing_trial_is_in_one_piece(slots: int) -> None:
    missing = {SHORT: [range(3, 500)], LONG: [range(40), range(50, 100)]}
    pieces = cut(missing, slots)
    for cell, ranges in missing.items():
        found = sorted(number for piece in pieces if piece.cell is cell for number in piece.numbers)
        assert found == [number for numbers in ranges for number in numbers]
    assert max(piece.cost for piece in pieces) <= LARGEST


@pytest.mark.parametrize("slots", [16, 1600])
def test_the_longest_come_first_where_few_pieces_are_for_each_worker(slots: int) -> None:
    costs = [piece.cost for piece in cut({SHORT: [range(497)], LONG: [range(90)]}, slots)]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > costs[-1]


def test_a_long_run_keeps_the_order_of_its_cells() -> None:
    longest = Cell(policy="random", horizon=2 * LARGEST)
    pieces = cut({SHORT: [range(497)], LONG: [range(90)], longest: [range(2)]}, 1)
    assert list(dict.fromkeys(piece.cell for piece in pieces)) == [longest, SHORT, LONG]
    assert pieces == sorted(pieces, key=lambda piece: (piece.cost <= LARGEST, piece.cell is LONG, piece.numbers.start))


def test_more_workers_get_smaller_pieces_down_to_a_trial() -> None:
    few, many = (cut({LONG: [range(100)]}, slots) for slots in (4, 1600))
    assert len(few) == 25
    assert len(many) == 100


def test_plain_python_is_cut_into_single_trials(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow_rule.py").write_text(  # type: ignore[operator]
        "class Slow:\n    def price(self, x): return 0.5\n    def learn(self, *_): pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    own = Cell(policy="slow_rule:Slow", horizon=10_000)
    pieces = cut({own: [range(3)], SHORT: [range(3)]}, 1)
    assert [(piece.cell, len(piece.numbers)) for piece in pieces] == [(own, 1)] * 3 + [(SHORT, 3)]
