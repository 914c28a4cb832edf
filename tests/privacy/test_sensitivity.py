"""Sensitivities: random, extremal and optimized neighbours never pass a bound, and come close to it."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from hushprice.demand import family, protocol
from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput
from hushprice.privacy import sensitivity
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.sensitivity import RADIUS, LossBounds
from hushprice.types import FloatArray

property_test = settings(deadline=None, derandomize=True)
SLOPES = [0.1, 0.5, 1.0, 4.0, 20.0]
# Nothing said about the least demand or the steepest mean, as the smallest family of one's own would have it.
CUSTOM: Any = SimpleNamespace(
    family=family.CUSTOM,
    slope=2.0,
    bound=1.5,
    curvature=3.0,
    mean=lambda z: np.tanh(np.asarray(z)) + 0.2 * np.asarray(z),
    mean_slope=lambda z: 1.0 / np.cosh(np.asarray(z)) ** 2 + 0.2,
)
DEMANDS = [
    *(Logistic(slope=slope) for slope in SLOPES),
    Logistic(slope=4.0, bound=3.0),
    Gaussian(),
    Gaussian(noise=0.3, bound=0.5),
    Poisson(),
    Poisson(slope=0.2, bound=3.0),
    Poisson(slope=1.0, bound=2.0),  # means above every demand
    CUSTOM,
]
seeds = st.integers(0, 2**32 - 1)


def least(demand: Any) -> float:
    return float(getattr(demand, "lowest", -demand.bound))


def in_ball(random: np.random.Generator, dimension: int, radius: float) -> FloatArray:
    """Anywhere in the ball, often on its sphere or along one axis: where the extremes are."""
    kind = random.integers(3)
    if kind == 0:
        return radius * float(random.choice([-1.0, 1.0])) * np.eye(dimension)[random.integers(dimension)]
    direction = random.normal(size=dimension)
    return radius * (1.0 if kind == 1 else random.uniform()) * direction / np.linalg.norm(direction)


def gradient(demand: Any, theta: FloatArray, phi: FloatArray, y: float) -> FloatArray:
    return demand.slope * (float(demand.mean(np.array([phi @ theta]))[0]) - y) * phi


def upper(matrix: FloatArray) -> FloatArray:
    return matrix[np.triu_indices(len(matrix))]


@property_test
@given(seeds, st.integers(1, 20))
@example(0, 2)
def test_no_neighbours_covariances_are_further_apart(seed: int, dimension: int) -> None:
    random = np.random.default_rng(seed)
    x, y = in_ball(random, dimension, 1.0), in_ball(random, dimension, 1.0)
    bounds = {adjacency: sensitivity.of_covariance(adjacency) * (1.0 + 1e-12) for adjacency in Adjacency}
    for one, other in ((x, y), (y, x)):
        change = np.outer(one, one) - np.outer(other, other)
        assert np.linalg.norm(change) <= bounds[Adjacency.REPLACE_ONE]
        assert np.linalg.norm(upper(change)) <= bounds[Adjacency.REPLACE_ONE]
        assert np.linalg.norm(np.outer(one, one)) <= bounds[Adjacency.ZERO_OUT]
        assert np.linalg.norm(upper(np.outer(one, one))) <= bounds[Adjacency.ZERO_OUT]


def test_the_covariance_bounds_are_attained() -> None:
    """So the paper's 1 for a replaced record would be caught."""
    first, second = np.diag([1.0, 0.0]), np.diag([0.0, 1.0])
    for shape in (np.ravel, upper):
        replaced, zeroed = np.linalg.norm(shape(first - second)), np.linalg.norm(shape(first))
        assert sensitivity.of_covariance(Adjacency.REPLACE_ONE) == replaced == math.sqrt(2.0)
        assert sensitivity.of_covariance(Adjacency.ZERO_OUT) == zeroed == 1.0
        assert replaced > 1.0


@pytest.mark.parametrize("adjacency", [None, "zero-out", 1])
def test_neighbours_of_no_known_kind_are_refused(adjacency: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^adjacency must be an Adjacency, got"):
        sensitivity.of_covariance(adjacency)


@pytest.mark.beyond_coverage
@pytest.mark.parametrize("demand", DEMANDS)
@settings(property_test, max_examples=60)
@given(seed=seeds, dimension=st.integers(1, 20))
def test_no_record_passes_the_bounds_of_its_loss(demand: Any, seed: int, dimension: int) -> None:
    bounds, random = sensitivity.of_loss(demand), np.random.default_rng(seed)
    theta = in_ball(random, dimension, RADIUS)
    gradients = []
    for _ in range(2):
        phi = in_ball(random, dimension, 1.0)
        if random.integers(2):  # the worst is to face theta
            phi = float(random.choice([-1.0, 1.0])) * theta / max(1.0, float(np.linalg.norm(theta)))
        y = float(random.choice([least(demand), demand.bound, random.uniform(least(demand), demand.bound)]))
        gradients.append(gradient(demand, theta, phi, y))
        hessian = demand.slope * float(demand.mean_slope(np.array([phi @ theta]))[0]) * (phi @ phi)
        assert hessian <= bounds.curvature * (1.0 + 1e-12)
        assert np.linalg.norm(gradients[-1]) <= bounds.gradient * (1.0 + 1e-12)
    assert np.linalg.norm(gradients[0] - gradients[1]) <= bounds.difference * (1.0 + 1e-12)


def furthest(demand: Any, starts: int, pair: bool) -> float:
    """The largest gradient, or difference of two, that an optimizer finds on the ball in three dimensions."""
    ends = (least(demand), demand.bound)
    random, found = np.random.default_rng(5), 0.0

    def clipped(vector: FloatArray, radius: float) -> FloatArray:
        return vector * min(1.0, radius / max(1e-300, float(np.linalg.norm(vector))))

    def value(point: FloatArray, first: float, second: float) -> float:
        theta = clipped(point[:3], RADIUS)
        change = gradient(demand, theta, clipped(point[3:6], 1.0), first)
        if pair:
            change = change - gradient(demand, theta, clipped(point[6:], 1.0), second)
        return -float(np.linalg.norm(change))

    for start in range(starts):
        outcomes = (ends[start % 2], ends[start // 2 % 2])
        best = minimize(value, random.normal(size=9) * 2.0, args=outcomes, options={"maxiter": 60})
        found = max(found, -float(best.fun))
    return found


@pytest.mark.beyond_coverage
@pytest.mark.parametrize("demand", [Logistic(slope=4.0), Logistic(slope=1.0), Gaussian(), Poisson(), CUSTOM])
def test_an_optimizer_gets_close_to_the_bounds_and_not_past_them(demand: Any) -> None:
    bounds = sensitivity.of_loss(demand)
    for pair, bound in ((False, bounds.gradient), (True, bounds.difference)):
        found = furthest(demand, starts=12, pair=pair)
        assert found <= bound * (1.0 + 1e-9)
        if not pair or demand == Logistic(slope=4.0):
            assert found >= 0.98 * bound


def test_a_difference_bound_of_one_gradient_would_be_caught() -> None:
    bounds = sensitivity.of_loss(Logistic(slope=4.0))
    assert furthest(Logistic(slope=4.0), starts=8, pair=True) > 1.5 * bounds.gradient


@pytest.mark.parametrize(("slope", "within"), [(0.1, 0.95), (0.5, 0.89), (1.0, 0.91), (4.0, 0.98), (20.0, 0.98)])
def test_the_logistic_difference_against_a_dense_search(slope: float, within: float) -> None:
    """Angles h, k of the two features with theta, the length rho of theta, and both outcomes of each record.

    Two features at these angles are at an angle from |h - k| to h + k (or 2 pi less it); the norm is largest at an end.
    Where slopes are small the bound is that of a pair one of which faces away from theta, 10 % above the truth.
    """
    angles = np.linspace(0.0, math.pi, 181)
    h, k, rho = angles[:, None, None], angles[None, :, None], np.linspace(0.0, RADIUS, 21)
    worst = 0.0
    for y, y_too in ((0.0, 0.0), (0.0, 1.0), (1.0, 1.0)):
        first, second = (1.0 / (1.0 + np.exp(-slope * rho * np.cos(a))) - b for a, b in ((h, y), (k, y_too)))
        for cosine in (np.cos(h + k), np.cos(h - k)):
            squares = first**2 + second**2 - 2.0 * first * second * cosine
            worst = max(worst, slope * math.sqrt(float(squares.max())))
    bound = sensitivity.logistic_difference(slope)
    assert within * bound <= worst <= bound < 2.0 * slope


def test_replaced_records_on_the_ball_are_closer_than_anywhere() -> None:
    """sup 2 slope f(2 cos h) sin h is 7.07 at slope 4, against 8 without the ball."""
    h = np.linspace(0.0, math.pi, 10_001)
    symmetric = float(np.max(2.0 * 4.0 / (1.0 + np.exp(-8.0 * np.cos(h))) * np.sin(h)))
    assert symmetric == pytest.approx(7.07, abs=0.005)
    assert sensitivity.of_loss(Logistic(slope=4.0)).difference == pytest.approx(symmetric, rel=2e-3)


@pytest.mark.parametrize("demand", DEMANDS)
def test_bounds_by_a_second_transcription(demand: Any) -> None:
    bounds = sensitivity.of_loss(demand)
    z = np.linspace(-RADIUS, RADIUS, 4001)
    residual = max(float(np.max(demand.mean(z))) - least(demand), demand.bound - float(np.min(demand.mean(z))))
    assert bounds.gradient == pytest.approx(demand.slope * residual, rel=1e-12)
    steepest = getattr(demand, "steepest", demand.curvature)
    assert bounds.curvature == pytest.approx(demand.slope * steepest, rel=1e-12)
    assert float(np.max(demand.mean_slope(z))) <= steepest * (1.0 + 1e-12)
    assert bounds.gradient <= bounds.difference <= 2.0 * bounds.gradient


def test_only_sales_of_one_or_none_have_the_smaller_difference() -> None:
    wider = sensitivity.of_loss(Logistic(slope=4.0, bound=3.0))
    assert wider.difference == 2.0 * wider.gradient
    assert sensitivity.of_loss(Logistic(slope=4.0)).difference < 0.9 * 2.0 * sensitivity.of_loss(Logistic()).gradient


def test_a_family_that_does_not_say_gets_the_widest_range() -> None:
    assert protocol.lowest(CUSTOM) == -1.5
    assert protocol.steepest(CUSTOM) == 3.0

    class Inheriting(Demand):
        bound = 2.5
        curvature = 7.0

    assert protocol.lowest(Inheriting()) == -2.5  # type: ignore[abstract]
    assert protocol.steepest(Inheriting()) == 7.0  # type: ignore[abstract]


@pytest.mark.parametrize("field", ["gradient", "difference", "curvature"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, None])
def test_bounds_are_refused_by_name(field: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=f"^{field} must"):
        LossBounds(**{"gradient": 1.0, "difference": 2.0, "curvature": 0.25, field: value})
