"""A plan small enough to run in a moment, and rows as it finds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from hushprice.experiments.registry import chosen
from hushprice.experiments.run import Outcome, Plan, measure
from hushprice.sweeps.executors import Advance, Ended, Local
from hushprice.sweeps.piece import Piece
from hushprice.sweeps.store import Store


class Counting(Local):
    """Runs pieces here and remembers which; stops after some of them."""

    def __init__(self, stop_after: int | None = None) -> None:
        super().__init__(workers=1)
        self.ran: list[tuple[str, range]] = []
        self._stop_after = stop_after

    def run(self, pieces: Sequence[Piece], advance: Advance) -> Ended:
        for piece, block in super().run(pieces, advance):
            if len(self.ran) == self._stop_after:
                raise KeyboardInterrupt
            self.ran.append((piece.cell.key, piece.numbers))
            yield piece, block


@pytest.fixture
def counting() -> type[Counting]:
    return Counting


def plan_of(*names: str, trials: int = 2, seed: int = 3) -> Plan:
    return Plan(experiments=tuple(chosen(names)), trials=trials, seed=seed, quick=True)


@pytest.fixture
def quick(tmp_path: Path) -> Callable[..., list[Outcome]]:
    """Measure experiments small, into this test's folder."""

    def run(*names: str, executor: Local | None = None) -> list[Outcome]:
        return measure(plan_of(*names), store=Store(tmp_path / "trials"), executor=executor or Local(workers=1))

    return run


@pytest.fixture(scope="session")
def everything(tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, list[Outcome]]:
    """All experiments, small, once."""
    plan = plan_of("all")
    store = Store(tmp_path_factory.mktemp("everything") / "trials")
    return plan, measure(plan, store=store, executor=Local(workers=1))
