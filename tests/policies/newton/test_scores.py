"""What one record adds: never longer than 1, whatever was bought, and at the truth zero on average."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.demand.protocol import Demand, lowest
from hushprice.numerics.jit import COMPILED
from hushprice.policies.newton.private import scores
from hushprice.policies.newton.rules import CAP, largest_turn
from hushprice.types import FloatArray

property_test = settings(deadline=None, derandomize=True, max_examples=300 if COMPILED else 60)
FAMILIES: list[Demand] = [
    Logistic(),
    Logistic(slope=30.0),
    Logistic(slope=0.1),
    Gaussian(noise=0.5),
    Gaussian(noise=0.1, bound=0.2),  # f lies outside of what demand is clipped to
    Poisson(slope=3.0),
    Poisson(slope=10.0, bound=2.0),
]
ROUNDING = 1.0 + 1e-12


class Record(NamedTuple):
    demand: Demand
    theta: FloatArray
    inverse: FloatArray
    phi: FloatArray
    cap: float

    def add(self, *bought: float) -> tuple[FloatArray, FloatArray]:
        """The sums of one record of these features for every demand."""
        return added(self.demand, self.cap, self.theta, self.inverse, [self.phi] * len(bought), bought)


def added(
    demand: Demand, cap: float, theta: FloatArray, inverse: FloatArray, phis: Any, bought: Any
) -> tuple[FloatArray, FloatArray]:
    phi, count, d = np.array(phis, dtype=float).T.copy(), len(bought), theta.size
    score, packed = np.zeros(d), np.zeros(d * (d + 1) // 2)
    work = np.full((scores.ROWS, count), np.nan)
    scores.weigh(
        demand.family,
        float(demand.slope),
        float(lowest(demand)),
        float(demand.bound),
        float(cap),
        theta,
        inverse,
        phi,
        np.array(bought, dtype=float),
        count,
        work,
    )
    scores.add_up(phi, count, work, score, packed)
    curvature = np.zeros((d, d))
    curvature[np.triu_indices(d)] = packed
    return score, curvature + np.triu(curvature, 1).T


@st.composite
def records(draw: Any) -> Record:
    """Any belief: theta in the ball, inverses up to twice the first one, features from none to the longest."""
    demand = draw(st.sampled_from(FAMILIES))
    d = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    theta = rng.normal(size=d)
    theta *= draw(st.sampled_from([0.0, 0.3, 1.0])) / np.linalg.norm(theta)
    factor = rng.normal(size=(d, d))
    inverse = factor @ factor.T
    inverse *= draw(st.sampled_from([0.0, 1e-6, 0.5, 1.0])) / np.linalg.norm(inverse, 2)
    phi = rng.normal(size=d)
    phi *= draw(st.sampled_from([0.0, 1e-200, 1e-10, 1.1e-9, 1e-3, 0.5, 1.0, 1.0 + 1e-12])) / np.linalg.norm(phi)
    cap = largest_turn(demand) * draw(st.sampled_from([1e-3, CAP, 10.0]))
    return Record(demand, theta, inverse, phi, cap)


@property_test
@given(records(), st.floats(0.0, 1.0))
def test_no_demand_makes_a_score_longer_than_one(record: Record, share: float) -> None:
    low, high = lowest(record.demand), record.demand.bound
    for y in (low, high, low + share * (high - low), -1e300, 1e300):  # the last two are clipped
        score, _ = record.add(y)
        assert np.linalg.norm(score) <= ROUNDING


@property_test
@given(records())
def test_a_curvature_has_one_eigenvalue_between_zero_and_one(record: Record) -> None:
    _, curvature = record.add(0.0)
    assert np.linalg.norm(curvature) <= ROUNDING
    np.testing.assert_allclose(np.linalg.norm(curvature), np.trace(curvature), rtol=1e-9, atol=1e-300)
    assert np.all(np.diag(curvature) >= 0.0)


@property_test
@given(records(), st.floats(0.0, 1.0))
def test_the_weight_does_not_read_what_was_bought(record: Record, share: float) -> None:
    """Curvatures are the same to the last digit, and scores lie on one line with one slope in y."""
    low, high = lowest(record.demand), record.demand.bound
    middle = low + share * (high - low)
    assume(low < middle < high)
    (at_low, first), (between, second), (at_high, third) = (record.add(y) for y in (low, middle, high))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first, third)
    np.testing.assert_allclose(between, at_low + (middle - low) / (high - low) * (at_high - at_low), atol=1e-12)


def test_some_score_and_some_curvature_reach_one() -> None:
    """A bound that nothing reaches would be noise for nothing."""
    record = Record(Logistic(), np.zeros(2), np.zeros((2, 2)), np.array([0.2, 0.0]), CAP * largest_turn(Logistic()))
    assert np.linalg.norm(record.add(0.0)[0]) == pytest.approx(1.0)
    np.testing.assert_allclose(record.add(0.0)[0] - record.add(1.0)[0], [2.0, 0.0])
    assert np.linalg.norm(record._replace(phi=np.array([0.6, 0.8])).add(0.0)[1]) == pytest.approx(1.0)


def test_features_that_say_nothing_add_nothing() -> None:
    for phi in (np.zeros(3), np.full(3, 1e-11)):
        record = Record(Logistic(), np.zeros(3), np.eye(3), phi, 0.7)
        score, curvature = record.add(1.0)
        assert not np.any(score)
        assert not np.any(curvature)


def slow(record: Record, phis: FloatArray, bought: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The same sums, one record at a time, from the formulas."""
    demand, d = record.demand, record.theta.size
    score, curvature = np.zeros(d), np.zeros((d, d))
    nodes, weights = np.polynomial.hermite_e.hermegauss(3)
    weights = weights / weights.sum()
    for phi, y in zip(phis, bought, strict=True):
        z = phi @ record.theta + nodes * math.sqrt(phi @ record.inverse @ phi)
        f, steep = weights @ demand.mean(z), weights @ demand.mean_slope(z)
        w = 1.0 / (np.linalg.norm(phi) * max(f - lowest(demand), demand.bound - f))
        w = min(w, record.cap / (steep * (phi @ phi)))
        score += w * (f - y) * phi
        curvature += w * steep / record.cap * np.outer(phi, phi)
    return score, curvature


@pytest.mark.parametrize("demand", FAMILIES, ids=str)
def test_sums_are_those_of_a_slow_twin(demand: Demand) -> None:
    rng = np.random.default_rng(3)
    factor = rng.normal(size=(3, 3))
    record = Record(
        demand, np.array([0.3, -0.5, 0.6]), 0.1 * factor @ factor.T, np.zeros(3), CAP * largest_turn(demand)
    )
    phis = rng.uniform(-0.5, 0.5, (40, 3))
    bought = rng.uniform(lowest(demand), demand.bound, 40)
    found = added(demand, record.cap, record.theta, record.inverse, phis, bought)
    for one, other in zip(found, slow(record, phis, bought), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "demand", [Logistic(), Gaussian(noise=0.5, bound=50.0), Poisson(slope=1.0, bound=400.0)], ids=str
)
def test_at_the_truth_scores_have_mean_zero(demand: Demand) -> None:
    """A certain belief in theta*: a score is linear in y, and at y = f, what demand is on average, it is 0."""
    rng = np.random.default_rng(1)
    theta, certain = np.array([0.4, -0.3, 0.6]), np.zeros((3, 3))
    for phi in rng.uniform(-0.55, 0.55, (20, 3)):
        f = float(demand.mean(np.array([phi @ theta]))[0])
        score, _ = added(demand, CAP * largest_turn(demand), theta, certain, [phi], [f])
        np.testing.assert_allclose(score, 0.0, atol=1e-12)
        if demand.family == Logistic().family:  # and by its law: buys with probability f
            both = [added(demand, 0.7, theta, certain, [phi], [y])[0] for y in (0.0, 1.0)]
            np.testing.assert_allclose((1.0 - f) * both[0] + f * both[1], 0.0, atol=1e-12)


def test_the_average_is_exact_for_polynomials_to_degree_five(monkeypatch: pytest.MonkeyPatch) -> None:
    """Moments of N(z, s^2): 1, z, z^2 + s^2, ...; degree six is the first that three points miss."""
    averaged = getattr(scores.averaged, "py_func", scores.averaged)
    nodes, weights = np.polynomial.hermite_e.hermegauss(20)
    for degree in range(7):
        power = lambda family, slope, z, degree=degree: (z**degree, degree * z ** max(degree - 1, 0), 0.0)  # noqa: E731
        monkeypatch.setattr(scores, "derivatives", power)
        for z, s in ((0.3, 0.7), (-1.0, 0.2), (0.5, 0.0)):
            f, steep = averaged(0, 1.0, z, s)
            at = z + s * nodes
            exact = weights @ at**degree / weights.sum()
            exact_steep = weights @ (degree * at ** max(degree - 1, 0)) / weights.sum()
            if degree <= 5 or s == 0.0:
                assert f == pytest.approx(exact, rel=1e-12, abs=1e-14)
            else:
                assert abs(f - exact) > 1e-6
            assert steep == pytest.approx(exact_steep, rel=1e-12, abs=1e-14)


def test_sums_do_not_depend_on_how_many_records_come_at_a_time() -> None:
    demand, theta, inverse = Logistic(), np.array([0.1, 0.5]), 0.2 * np.eye(2)
    phis, bought = np.random.default_rng(2).uniform(-0.6, 0.6, (30, 2)), np.tile([0.0, 1.0], 15)
    whole = added(demand, 0.7, theta, inverse, phis, bought)
    score, packed = np.zeros(2), np.zeros(3)
    for cut in (slice(0, 11), slice(11, 12), slice(12, 30)):
        phi, work = phis[cut].T.copy(), np.empty((scores.ROWS, 30))
        count = phi.shape[1]
        scores.weigh(demand.family, 4.0, 0.0, 1.0, 0.7, theta, inverse, phi, bought[cut].copy(), count, work)
        scores.add_up(phi, count, work, score, packed)
    np.testing.assert_array_equal(score, whole[0])  # to the last digit
    np.testing.assert_array_equal(packed, whole[1][np.triu_indices(2)])
