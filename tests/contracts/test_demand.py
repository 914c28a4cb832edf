"""Every built-in family keeps what it declares, and every way to declare wrongly is caught by name."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import special

from hushprice.demand import family
from hushprice.demand.conformance import violations
from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.demand.protocol import Demand
from hushprice.numerics.jit import COMPILED

SOUND: list[Demand] = [
    Logistic(slope=0.001),
    Logistic(slope=0.25),
    Logistic(),
    Logistic(slope=40.0, bound=3.0),
    Logistic(slope=300.0),
    Gaussian(noise=0.01),
    Gaussian(),
    Gaussian(noise=3.0, bound=0.5),
    Gaussian(noise=50.0, bound=1e6),
    Poisson(slope=0.001),
    Poisson(slope=0.5, bound=2.5),
    Poisson(),
    Poisson(slope=3.0, bound=100.0),
    *([Poisson(slope=10.0, bound=1e5)] if COMPILED else []),  # 22026 units: a long walk without compilation
]


class Altered:
    """A family with some members replaced, as a user's own with mistakes in it would be."""

    def __init__(self, original: Demand, **members: Any) -> None:
        self.original = original
        for name, member in members.items():
            setattr(self, name, member)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)


class Binomial:
    """A family of one's own: up to `trials` units, each bought with the logistic probability."""

    name, family, trials = "binomial", family.CUSTOM, 3
    slope, scale, bound = 1.0, 1.0, 3.0
    subgaussian = math.sqrt(3) / 2  # a sum of three independent variables of 1/2 each
    curvature = paper_curvature = (1 + math.e**2) ** 2 / math.e**2 / 3
    largest_revenue = 3.0

    def mean(self, z: np.ndarray) -> np.ndarray:
        return self.trials * special.expit(z)

    def mean_slope(self, z: np.ndarray) -> np.ndarray:
        return self.trials * special.expit(z) * special.expit(-z)

    def log_partition(self, z: np.ndarray) -> np.ndarray:
        return self.trials * np.logaddexp(0.0, z)

    def log_base(self, y: np.ndarray) -> np.ndarray:
        possible = (y >= 0) & (y <= self.trials) & (y == np.floor(y))
        return np.where(possible, np.log(special.binom(self.trials, np.where(possible, y, 0.0))), -np.inf)

    def log_likelihood(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return self.slope * (y * z - self.log_partition(z)) + self.log_base(y)

    def sample(self, z: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        steps = special.bdtr(np.arange(self.trials), self.trials, special.expit(z)[:, np.newaxis])
        return np.sum(first[:, np.newaxis] > steps, axis=1).astype(float)


def shifted(original: Demand, change: float) -> Altered:
    """h is off by a constant, in the likelihood too: probabilities no longer add up to one."""
    return Altered(
        original,
        log_base=lambda y: original.log_base(y) + change,
        log_likelihood=lambda y, z: original.log_likelihood(y, z) + change,
    )


def falling() -> Altered:
    """A consistent family in every other respect: f(z) = -z."""
    members = {
        "log_partition": lambda z: -0.5 * z**2,
        "mean": lambda z: -z,
        "mean_slope": lambda z: np.full(z.shape, -1.0),
    }
    return Altered(Gaussian(), **members)


GAUSSIAN, LOGISTIC, POISSON = Gaussian(), Logistic(), Poisson(slope=2.0, bound=60.0)
WRONG: dict[str, tuple[Any, str]] = {
    "K below the steepest f'": (Altered(POISSON, curvature=50.0), "curvature: f' reaches"),
    "K below the flattest f'": (Altered(LOGISTIC, curvature=700.0), "curvature: f' falls"),
    "the paper's K at slope 4": (Altered(LOGISTIC, curvature=LOGISTIC.paper_curvature), "curvature: f' falls"),
    "K below 1": (Altered(GAUSSIAN, curvature=0.99), "curvature must"),
    "G below the slope": (Altered(LOGISTIC, scale=3.9), "scale: the slope"),
    "1/G above the slope": (Altered(Logistic(slope=0.25), scale=3.9), "scale: the slope"),
    "G below 1": (Altered(GAUSSIAN, scale=0.5), "scale must"),
    "s too small, logistic": (Altered(LOGISTIC, subgaussian=0.49), "subgaussian: E exp"),
    "s too small, gaussian": (Altered(GAUSSIAN, subgaussian=0.98), "subgaussian: E exp"),
    "s too small, poisson": (Altered(POISSON, subgaussian=2.0), "subgaussian: E exp"),
    "s far too small": (Altered(GAUSSIAN, subgaussian=1e-3), "subgaussian: E exp"),
    "f is not m'": (Altered(LOGISTIC, mean=lambda z: 1.001 * LOGISTIC.mean(z)), "mean: not m'"),
    "m is not normalized": (Altered(POISSON, log_partition=lambda z: np.exp(2.0 * z)), "mean: not m'"),
    "f' is wrong": (Altered(LOGISTIC, mean_slope=lambda z: 1.001 * LOGISTIC.mean_slope(z)), "mean_slope: not f'"),
    "f falls": (falling(), "mean: f does not increase"),
    "f is nowhere": (Altered(GAUSSIAN, mean=lambda z: np.where(z > 1.9, np.nan, z)), "mean: not m'"),
    "revenue can be larger": (Altered(POISSON, largest_revenue=7.3), "largest_revenue: p f"),
    "the h the paper prints": (shifted(LOGISTIC, 1.0), "log_likelihood: the probabilities add up to 2.718"),
    "h slightly off": (shifted(GAUSSIAN, 0.01), "log_likelihood: the probabilities"),
    "likelihood of another h": (
        Altered(GAUSSIAN, log_likelihood=lambda y, z: GAUSSIAN.log_likelihood(y, z) + 1e-3),
        "log_likelihood: not slope",
    ),
    "likelihood of another z": (
        Altered(LOGISTIC, log_likelihood=lambda y, z: LOGISTIC.log_likelihood(y, 0.98 * z)),
        "log_likelihood: its mean",
    ),
    "samples of another mean": (
        Altered(GAUSSIAN, sample=lambda z, first, second: GAUSSIAN.sample(z + 0.06, first, second)),
        "sample: the mean",
    ),
    "samples of another slope": (
        Altered(LOGISTIC, sample=lambda z, first, second: Logistic(slope=3.5).sample(z, first, second)),
        "sample: the mean",
    ),
    "samples of another noise": (
        Altered(GAUSSIAN, sample=lambda z, first, second: z + 1.1 * (GAUSSIAN.sample(z, first, second) - z)),
        "sample: the variance",
    ),
    "samples that are not clipped": (
        Altered(Gaussian(bound=2.0), sample=lambda z, first, second: GAUSSIAN.sample(z, first, second)),
        "bound: a sample",
    ),
    "samples that are not numbers": (
        Altered(LOGISTIC, sample=lambda z, first, second: np.full(z.shape, np.nan)),
        "bound: a sample",
    ),
    "B_Y below a sale": (Altered(LOGISTIC, bound=0.9), "bound: a sample"),
}


@pytest.mark.parametrize("demand", SOUND, ids=str)
def test_every_built_in_family_keeps_what_it_declares(demand: Demand) -> None:
    assert violations(demand) == []


def test_a_sound_family_of_ones_own_passes() -> None:
    assert violations(Binomial()) == []


@pytest.mark.parametrize("mistake", WRONG)
def test_every_wrong_declaration_is_caught_by_name(mistake: str) -> None:
    demand, message = WRONG[mistake]
    assert any(found.startswith(message) for found in violations(demand)), violations(demand)


@pytest.mark.parametrize("name", ["slope", "bound", "subgaussian", "curvature", "scale", "largest_revenue"])
@pytest.mark.parametrize("value", [math.nan, math.inf, 0.0, -1.0])
def test_a_constant_that_is_no_positive_number_is_caught_by_name(name: str, value: float) -> None:
    found = violations(Altered(LOGISTIC, **{name: value}))
    assert any(each.startswith(f"{name} must be a positive number") for each in found)


def test_the_answer_is_the_same_every_time() -> None:
    demand, _ = WRONG["samples of another mean"]
    assert violations(demand) == violations(demand) != []
