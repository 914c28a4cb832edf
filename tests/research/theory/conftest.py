"""What the tests of checks share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hushprice.research.theory import (
    classical_privacy,
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
    (consumer_surplus, "surplus_run"),
    (classical_privacy, "hearing_badly"),
    (classical_privacy, "simulate"),
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
