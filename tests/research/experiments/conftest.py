"""What the tests of experiments share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from hushprice.research.experiments.registry import chosen
from hushprice.research.experiments.report import report
from hushprice.research.experiments.run import MeasuredExperiment, ReproductionPlan, measure
from hushprice.research.sweeps.executors import Advance, Ended, LocalExecutor
from hushprice.research.sweeps.store import TrialStore
from hushprice.research.sweeps.trial_range import TrialRange


class Counting(LocalExecutor):
    """Runs pieces here and remembers which; stops after some of them."""

    def __init__(self, stop_after: int | None = None) -> None:
        super().__init__(workers=1)
        self.ran: list[tuple[str, range]] = []
        self._stop_after = stop_after

    def run(self, pieces: Sequence[TrialRange], advance: Advance) -> Ended:
        for piece, block in super().run(pieces, advance):
            if len(self.ran) == self._stop_after:
                raise KeyboardInterrupt
            self.ran.append((piece.cell.key, piece.numbers))
            yield piece, block


@pytest.fixture
def counting() -> type[Counting]:
    return Counting


def plan_of(*names: str, trials: int = 2, seed: int = 3) -> ReproductionPlan:
    return ReproductionPlan(experiments=tuple(chosen(names)), trials=trials, seed=seed, quick=True)


@pytest.fixture
def quick(tmp_path: Path) -> Callable[..., list[MeasuredExperiment]]:
    """Measure experiments small, into this test's folder."""

    def run(*names: str, executor: LocalExecutor | None = None, **told: Any) -> list[MeasuredExperiment]:
        place = executor or LocalExecutor(workers=1)
        return measure(plan_of(*names), store=TrialStore(tmp_path / "trials"), executor=place, **told)

    return run


@pytest.fixture(scope="session")
def everything(tmp_path_factory: pytest.TempPathFactory) -> tuple[ReproductionPlan, list[MeasuredExperiment]]:
    """All experiments, small, once."""
    plan = plan_of("all")
    store = TrialStore(tmp_path_factory.mktemp("everything") / "trials")
    return plan, measure(plan, store=store, executor=LocalExecutor(workers=1))


@pytest.fixture(scope="session")
def whole_report(everything: tuple[ReproductionPlan, list[MeasuredExperiment]]) -> str:
    """report.html of all of it, once: its pictures take seconds."""
    return report(*everything, seconds=1.0)
