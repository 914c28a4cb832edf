"""Results compared to the last digit, and cells small enough to run in a moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from hushprice.research.sweeps.cell import Cell
from hushprice.research.sweeps.executors import Advance, Ended, LocalExecutor
from hushprice.research.sweeps.trial_range import TrialRange
from hushprice.simulation.market_file import load_market
from hushprice.simulation.result import SimulationResult

ARRAYS = ("regret", "revenue", "surplus", "estimates", "indefinite", "checkpoints", "cumulative_regret")


@pytest.fixture
def same() -> Callable[[SimulationResult, SimulationResult], None]:
    """Assert that two results agree in everything but the time they took."""

    def compare(one: SimulationResult, other: SimulationResult) -> None:
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
        for ours, theirs in zip(one.estimate_periods, other.estimate_periods, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        for name in ("label", "market", "horizon", "dimension", "seed", "adjacency", "claimed", "proven", "hindsight"):
            assert getattr(one, name) == getattr(other, name), name

    return compare


@pytest.fixture
def shop(tmp_path: Path) -> Callable[..., Path]:
    """Write a market file; its contexts come from rows beside it where some are given."""

    def write(name: str = "shop", *, theta: str = "[0.1, 0.9]", rows: str | None = None) -> Path:
        source = "" if rows is None else f'kind = "file"\npath = "{name}.csv"\n'
        if rows is not None:
            (tmp_path / f"{name}.csv").write_text(rows)
        path = tmp_path / f"{name}.toml"
        path.write_text(f'[demand]\nfamily = "logistic"\ntheta = {theta}\n[contexts]\ndimension = 1\n{source}')
        return path

    return write


@pytest.fixture
def cells(shop: Callable[..., Path]) -> list[Cell]:
    """One of each kind, some with estimates and some without."""
    market = load_market(shop(rows="0.5\n-0.25\n1\n"))
    return [
        Cell(policy="paper", horizon=2000, epsilon=4.0, calibration="published"),
        Cell(policy="nonprivate", horizon=1000, dimension=3, seed=5),
        Cell(policy="fixed", horizon=700),
        Cell(policy="random", horizon=300, market=market, features="interactions"),
    ]


class Counting(LocalExecutor):
    """Runs pieces here and remembers which; stops with `problem` after some of them."""

    def __init__(self, *, stop_after: int | None = None, problem: type[BaseException] = KeyboardInterrupt) -> None:
        super().__init__(workers=1)
        self.ran: list[TrialRange] = []
        self._stop_after, self._problem = stop_after, problem

    def run(self, pieces: Sequence[TrialRange], advance: Advance) -> Ended:
        for piece, block in super().run(pieces, advance):
            if len(self.ran) == self._stop_after:
                raise self._problem
            self.ran.append(piece)
            yield piece, block

    @property
    def trials(self) -> list[tuple[str, range]]:
        return [(piece.cell.policy, piece.numbers) for piece in self.ran]


@pytest.fixture
def counting() -> type[Counting]:
    return Counting
