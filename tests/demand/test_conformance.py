"""The two constants a family may leave out, `lowest` and `steepest`: kept by those built in, and caught where wrong.

Sensitivity rests on both: records are clipped to [lowest, bound], and one record adds at most slope * steepest to the
curvature of the likelihood. tests/contracts/test_demand.py has the other declarations.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from hushprice.demand import protocol
from hushprice.demand.conformance import violations
from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.demand.protocol import Demand

Z = np.linspace(-2.0, 2.0, 4001)
FAMILIES: list[Demand] = [
    Logistic(slope=0.3),
    Logistic(),
    Logistic(slope=30.0, bound=3.0),
    Gaussian(noise=0.2),
    Gaussian(noise=3.0, bound=2.0),
    Poisson(slope=0.5, bound=2.5),
    Poisson(slope=3.0, bound=40.0),
]
everywhere = pytest.mark.parametrize("demand", FAMILIES, ids=str)


class Altered:
    """A family with some members replaced; `silent` ones it does not have at all, as a user's own may not."""

    def __init__(self, original: Demand, silent: tuple[str, ...] = (), **members: Any) -> None:
        self.original, self.silent = original, silent
        for name, member in members.items():
            setattr(self, name, member)

    def __getattr__(self, name: str) -> Any:
        if name in self.silent:
            raise AttributeError(name)
        return getattr(self.original, name)


@everywhere
def test_built_in_families_declare_the_least_demand_and_the_steepest_slope(demand: Demand) -> None:
    assert demand.lowest == (-demand.bound if isinstance(demand, Gaussian) else 0.0)
    assert demand.steepest == pytest.approx(demand.mean_slope(Z).max(), rel=1e-12)
    assert demand.steepest <= demand.curvature
    drawn = demand.sample(np.full(2000, -1.0), *np.random.default_rng(1).random((2, 2000)))
    assert demand.lowest <= drawn.min()
    assert violations(demand) == []


@everywhere
def test_a_family_that_does_not_say_gets_the_wider_bounds_and_passes(demand: Demand) -> None:
    silent: Any = Altered(demand, silent=("lowest", "steepest"))
    assert violations(silent) == []
    assert protocol.lowest(silent) == -demand.bound
    assert protocol.steepest(silent) == demand.curvature


def test_a_family_that_inherits_the_protocol_gets_the_same_defaults() -> None:
    class Quiet(Demand):
        bound, curvature = 3.0, 7.0

    assert (Quiet().lowest, Quiet().steepest) == (-3.0, 7.0)


GAUSSIAN, LOGISTIC, POISSON = Gaussian(), Logistic(), Poisson(slope=2.0, bound=60.0)
WRONG: dict[str, tuple[Any, str]] = {
    "samples below the lowest": (Altered(GAUSSIAN, lowest=-1.0), "lowest: a sample lies below -1"),
    "a lowest that refusals pass": (Altered(LOGISTIC, lowest=0.5), "lowest: a sample lies below 0.5"),
    "a lowest below minus the bound": (Altered(LOGISTIC, lowest=-1.5), "lowest must lie in [-1, 1), got -1.5"),
    "a lowest at the bound": (Altered(LOGISTIC, lowest=1.0), "lowest must lie in"),
    "a lowest that is no number": (Altered(POISSON, lowest=math.nan), "lowest must lie in"),
    "steepest below the steepest f', logistic": (Altered(LOGISTIC, steepest=0.999), "steepest: f' reaches 1 on"),
    "steepest below the steepest f', poisson": (Altered(POISSON, steepest=2.0), "steepest: f' reaches 109.196 on"),
    "steepest on |z| <= 1 alone": (Altered(POISSON, steepest=2.0 * math.exp(2.0)), "steepest: f' reaches"),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_every_wrong_declaration_is_caught_by_name(mistake: str) -> None:
    demand, message = WRONG[mistake]
    assert any(found.startswith(message) for found in violations(demand)), violations(demand)


@pytest.mark.parametrize("value", [math.nan, math.inf, 0.0, -1.0])
def test_a_steepest_slope_that_is_no_positive_number_is_caught(value: float) -> None:
    assert violations(Altered(LOGISTIC, steepest=value)) == [f"steepest must be a positive number, got {value!r}"]


def test_demand_that_is_clipped_from_below_is_held_against_its_clipped_law() -> None:
    """Gaussian demand without negative sales: sound, once its samples are clipped where its records are."""

    def clipped(z: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return np.maximum(GAUSSIAN.sample(z, first, second), 0.0)

    assert violations(Altered(GAUSSIAN, lowest=0.0, sample=clipped)) == []
    found = violations(Altered(GAUSSIAN, sample=clipped))  # the same samples, but nothing said about it
    assert any(each.startswith("sample: the mean") for each in found), found
