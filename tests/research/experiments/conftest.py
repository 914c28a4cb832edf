"""What the tests of checks and of experiments share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hushprice.research.experiments.registry import chosen
from hushprice.research.experiments.run import Outcome, ReproductionPlan, measure
from hushprice.research.sweeps.executors import Advance, Ended, LocalExecutor
from hushprice.research.sweeps.store import TrialStore
from hushprice.research.sweeps.trial_range import TrialRange
from hushprice.research.theory import (
    consumer_surplus,
    covariance_error,
    determinant,
    estimate_count,
    estimate_error,
    estimate_error_explored,
    estimate_error_small_units,
    information_value,
    period_cost,
    regret_bounds,
    runs,
)
from hushprice.research.theory.finding import CheckSize, TheoryFinding
from hushprice.research.theory.registry import load
from hushprice.types import FloatArray

QUICK = CheckSize(quick=True, seed=0, workers=1)
HEAVY: list[tuple[Any, str]] = [
    (consumer_surplus, "cell"),
    (covariance_error, "largest_errors"),
    (determinant, "ratios"),
    (estimate_count, "counts"),
    (estimate_error, "errors"),
    (estimate_error_explored, "errors"),
    (estimate_error_small_units, "errors"),
    (information_value, "best_revenue"),
    (regret_bounds, "simulate"),
    (runs, "simulate"),
]


def remember(function: Callable[..., Any]) -> Callable[..., Any]:
    """Call a function once for each way to call it: what it measures does not depend on what is being judged."""
    known: dict[str, Any] = {}

    def call(*arguments: Any, **named: Any) -> Any:
        key = repr((arguments, named))
        if key not in known:
            known[key] = function(*arguments, **named)
        return known[key]

    return call


def steady(dimension: int, horizon: int, *, repeats: int, seed: int) -> FloatArray:
    """Times of a machine on which nobody else works: 10 d^1.5 nanoseconds, give or take a percent."""
    return 10.0 * dimension**1.5 * np.linspace(0.99, 1.01, repeats)


REMEMBERED = [(module, name, remember(getattr(module, name))) for module, name in HEAVY]


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], TheoryFinding]:
    """Run a quick check by name."""
    for module, name, function in REMEMBERED:
        monkeypatch.setattr(module, name, function)
    monkeypatch.setattr(period_cost, "nanoseconds", steady)
    consumer_surplus.surplus_runs.cache_clear()
    return lambda name: load(name)(QUICK)


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
def quick(tmp_path: Path) -> Callable[..., list[Outcome]]:
    """Measure experiments small, into this test's folder."""

    def run(*names: str, executor: LocalExecutor | None = None, **told: Any) -> list[Outcome]:
        place = executor or LocalExecutor(workers=1)
        return measure(plan_of(*names), store=TrialStore(tmp_path / "trials"), executor=place, **told)

    return run


@pytest.fixture(scope="session")
def everything(tmp_path_factory: pytest.TempPathFactory) -> tuple[ReproductionPlan, list[Outcome]]:
    """All experiments, small, once."""
    plan = plan_of("all")
    store = TrialStore(tmp_path_factory.mktemp("everything") / "trials")
    return plan, measure(plan, store=store, executor=LocalExecutor(workers=1))
