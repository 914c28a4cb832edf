"""Every check by name, loaded when asked for."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence

from hushprice.errors import InvalidInput
from hushprice.research.theory.finding import CheckSize, TheoryFinding

# Name on the command line -> file; in the order of the paper.
CHECKS: dict[str, str] = {
    "classical-privacy": "classical_privacy",
    "covariance-error": "covariance_error",
    "determinant": "determinant",
    "estimate-error": "estimate_error",
    "estimate-error-explored": "estimate_error_explored",
    "estimate-error-small-units": "estimate_error_small_units",
    "estimate-count": "estimate_count",
    "period-cost": "period_cost",
    "adversarial-regret": "adversarial_regret",
    "spread-contexts": "spread_contexts",
    "stochastic-regret": "stochastic_regret",
    "growth-in-horizon": "growth_in_horizon",
    "growth-in-dimension": "growth_in_dimension",
    "growth-in-privacy": "growth_in_privacy",
    "information-value": "information_value",
    "input-noise-mean": "input_noise_mean",
    "input-noise-regret": "input_noise_regret",
    "consumer-surplus": "consumer_surplus",
    "surplus-reason": "surplus_reason",
}


def chosen(names: Sequence[str]) -> list[str]:
    """The names to run, in the paper's order; none given means all. An unknown one is refused."""
    for name in names:
        if name not in CHECKS:
            raise InvalidInput(f"check must be one of {', '.join(CHECKS)}, got {name!r}")
    return [name for name in CHECKS if not names or name in names]


def load(name: str) -> Callable[[CheckSize], TheoryFinding]:
    """The check of that name."""
    module = importlib.import_module(f"hushprice.research.theory.{CHECKS[name]}")
    check: Callable[[CheckSize], TheoryFinding] = module.check
    return check


def run(names: Sequence[str], size: CheckSize) -> Iterator[TheoryFinding]:
    """One finding a name, as they come."""
    for name in chosen(names):
        yield load(name)(size)
