"""The belief: a Kalman filter by a second transcription, and a projection by a general optimizer."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import eigh
from scipy.optimize import minimize

from hushprice.numerics.jit import COMPILED
from hushprice.policies.newton.pricing import belief
from hushprice.types import FloatArray

property_test = settings(deadline=None, derandomize=True, max_examples=100 if COMPILED else 30)
seeds = st.integers(0, 10**6)
CAP, SHARE, SAMPLING = 0.7, 0.5, 0.5


def packed(matrix: FloatArray) -> FloatArray:
    return matrix[np.triu_indices(matrix.shape[0])].copy()


def definite(rng: np.random.Generator, d: int, low: float = 0.1, high: float = 50.0) -> FloatArray:
    vectors = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return (vectors * np.exp(rng.uniform(np.log(low), np.log(high), d))) @ vectors.T


def updated(
    score: FloatArray,
    curvature: FloatArray,
    theta: FloatArray,
    precision: FloatArray,
    error: float = 0.3,
    noise: float = 4.0,
) -> tuple[bool, FloatArray, FloatArray, FloatArray]:
    theta, precision = theta.copy(), precision.copy()
    inverse, work = np.linalg.inv(precision), np.full((4 * theta.size + 3, theta.size), np.nan)
    done = belief.update(score, packed(curvature), CAP, error, noise, SAMPLING, SHARE, theta, precision, inverse, work)
    return done, theta, precision, inverse


@property_test
@given(seeds, st.integers(1, 6), st.sampled_from([0.0, 0.3, 5.0]))
def test_an_update_is_a_kalman_step(seed: int, d: int, error: float) -> None:
    """With A = V diag(a) V', reduced, observation g = A (theta - theta*) + noise of covariance V diag(n) V'."""
    rng = np.random.default_rng(seed)
    precision, curvature = definite(rng, d, 2.0, 20.0), definite(rng, d) - 2.0 * np.eye(d)
    theta, score = rng.normal(size=d) * 0.1 / math.sqrt(d), rng.normal(size=d) * 0.1
    done, found, after, inverse = updated(score, curvature, theta, precision, error)
    assert done
    values, vectors = np.linalg.eigh(curvature)
    raw = np.maximum(CAP * values, 0.0)
    a = np.sqrt(np.maximum(raw**2 - SHARE**2 * d * error**2, 0.0))
    spread = 4.0 + error**2 * np.trace(np.linalg.inv(precision)) + SAMPLING * a
    observed = (vectors * a) @ vectors.T  # H of the observation
    noise = (vectors * spread) @ vectors.T
    covariance = np.linalg.inv(precision)
    gain = covariance @ observed.T @ np.linalg.inv(observed @ covariance @ observed.T + noise)
    expected = theta - gain @ score
    np.testing.assert_allclose(inverse, covariance - gain @ observed @ covariance, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(after @ inverse, np.eye(d), atol=1e-8)
    np.testing.assert_allclose(after, precision + observed @ np.linalg.inv(noise) @ observed, rtol=1e-8, atol=1e-9)
    if np.linalg.norm(expected) < 1.0 - 1e-9:
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    assert np.linalg.norm(found) <= 1.0 + 1e-9


def test_one_direction_in_closed_form() -> None:
    """a = 0.7 x 10 = 7, noise = 4 + 0.5 x 7, precision 2 + 49 / 7.5, theta = 0.2 - (7 / 7.5) 1.5 / precision."""
    done, theta, precision, inverse = updated(
        np.array([1.5]), np.array([[10.0]]), np.array([0.2]), np.array([[2.0]]), 0.0
    )
    assert done
    assert precision[0, 0] == pytest.approx(2.0 + 49.0 / 7.5)
    assert inverse[0, 0] == pytest.approx(1.0 / precision[0, 0])
    assert theta[0] == pytest.approx(0.2 - 7.0 / 7.5 * 1.5 / precision[0, 0])


def test_a_direction_nobody_has_shown_neither_moves_nor_gains() -> None:
    """Its released curvature is noise: below what noise brings, or negative."""
    for shown in (0.1, 0.0, -3.0):
        score, curvature = np.array([0.5, 40.0]), np.diag([30.0, shown])
        _, theta, precision, _ = updated(score, curvature, np.array([0.1, 0.2]), 2.0 * np.eye(2), error=0.2)
        assert theta[1] == pytest.approx(0.2, abs=1e-15)
        assert precision[1, 1] == pytest.approx(2.0, abs=1e-15)
        assert theta[0] != 0.1
        assert precision[0, 0] > 20.0


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("where", ["score", "curvature"])
def test_what_is_not_finite_changes_nothing(bad: float, where: str) -> None:
    score, curvature = np.array([0.5, 0.4]), np.diag([30.0, 20.0])
    if where == "score":
        score[1] = bad
    else:
        curvature[0, 0] = bad
    start, before = np.array([0.1, 0.2]), np.array([[3.0, 1.0], [1.0, 2.0]])
    with np.errstate(invalid="ignore"):  # un-compiled, NumPy warns
        done, theta, precision, inverse = updated(score, curvature, start, before)
    assert not done
    np.testing.assert_array_equal(theta, start)
    np.testing.assert_array_equal(precision, before)
    np.testing.assert_array_equal(inverse, np.linalg.inv(before))


def test_what_leaves_the_floats_on_the_way_changes_nothing() -> None:
    start, before = np.array([0.1, 0.2]), 2.0 * np.eye(2)
    with np.errstate(over="ignore", invalid="ignore"):
        done, theta, precision, _ = updated(np.array([0.5, 0.4]), np.diag([1e300, 1.0]), start, before)
    assert not done
    np.testing.assert_array_equal(theta, start)
    np.testing.assert_array_equal(precision, before)


@property_test
@given(seeds, st.integers(1, 6), st.floats(0.0, 3.0))
def test_a_batch_multiplies_a_precision_when_a_generalized_eigenvalue_says_so(seed: int, d: int, factor: float) -> None:
    rng = np.random.default_rng(seed)
    precision, gained = definite(rng, d), definite(rng, d, 1e-3, 100.0)
    largest = float(eigh(gained, precision, eigvals_only=True)[-1])
    if abs(largest - factor) > 1e-6 * largest:
        assert belief.multiplies(precision, gained, factor, np.empty((2 * d, d))) == (largest > factor)


@property_test
@given(seeds, st.integers(1, 6), st.floats(0.0, 2.0))
def test_the_gain_is_what_an_update_adds_less_what_is_spared(seed: int, d: int, spare: float) -> None:
    rng = np.random.default_rng(seed)
    curvature, error = definite(rng, d), 0.4
    out, work = np.full((d, d), np.nan), np.empty((2 * d + 1, d))
    belief.gain(packed(curvature), CAP, error, 4.0, SAMPLING, spare, SHARE, np.eye(d), out, work)
    values, vectors = np.linalg.eigh(curvature)
    a = np.maximum(CAP * values - spare * error * math.sqrt(d), 0.0)
    a = np.sqrt(np.maximum(a**2 - SHARE**2 * d * error**2, 0.0))
    np.testing.assert_allclose(out, (vectors * (a**2 / (4.0 + SAMPLING * a))) @ vectors.T, rtol=1e-8, atol=1e-9)


def held(theta: FloatArray, precision: FloatArray) -> FloatArray:
    out = theta.copy()
    belief.hold_to_ball(out, precision, np.full((2 * theta.size + 2, theta.size), np.nan))
    return out


@property_test
@given(seeds, st.integers(1, 6), st.floats(1.001, 30.0))
def test_the_nearest_point_of_the_ball_is_the_optimality_conditions(seed: int, d: int, length: float) -> None:
    """On the sphere, and the gradient of the distance there points along the radius, inwards."""
    rng = np.random.default_rng(seed)
    precision, theta = definite(rng, d), rng.normal(size=d)
    theta *= length / np.linalg.norm(theta)
    point = held(theta, precision)
    assert np.linalg.norm(point) == pytest.approx(1.0, abs=1e-9)
    gradient = precision @ (point - theta)
    multiplier = -gradient @ point
    assert multiplier >= 0.0
    np.testing.assert_allclose(gradient, -multiplier * point, atol=1e-6 * np.linalg.norm(precision, 2) * length)


@pytest.mark.parametrize("seed", range(4))
def test_the_nearest_point_of_the_ball_is_a_general_optimizers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    precision, theta = definite(rng, 3), rng.normal(size=3)
    theta *= 2.0 / np.linalg.norm(theta)
    found = minimize(
        lambda point: 0.5 * (point - theta) @ precision @ (point - theta),
        theta / 4.0,
        jac=lambda point: precision @ (point - theta),
        constraints={"type": "ineq", "fun": lambda point: 1.0 - point @ point, "jac": lambda point: -2.0 * point},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    np.testing.assert_allclose(held(theta, precision), found.x, atol=1e-5)


@property_test
@given(seeds, st.integers(1, 6), st.floats(0.0, 1.0))
def test_a_point_of_the_ball_stays(seed: int, d: int, length: float) -> None:
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=d)
    theta *= 0.999999 * length / np.linalg.norm(theta)
    np.testing.assert_array_equal(held(theta, definite(rng, d)), theta)


def test_what_is_known_least_moves_most() -> None:
    point = held(np.array([0.9, 0.9]), np.diag([100.0, 1.0]))
    assert 0.9 - point[0] < 0.05 < 0.3 < 0.9 - point[1]


def test_variances_and_lengths() -> None:
    rng = np.random.default_rng(0)
    inverse, direction = definite(rng, 4), rng.normal(size=4)
    assert belief.variance_along(inverse, direction) == pytest.approx(direction @ inverse @ direction)
    assert belief.squared_length(direction) == pytest.approx(direction @ direction)


@pytest.mark.parametrize(
    ("value", "expected"), [(5.0, 4.0), (3.0, 0.0), (2.0, 0.0), (0.0, 0.0), (-4.0, 0.0), (math.nan, 0.0)]
)
def test_an_eigenvalue_is_reduced_by_what_noise_brings(value: float, expected: float) -> None:
    assert belief.reduced(value, 3.0, 4, 0.5) == expected  # 0.5^2 x 4 x 3^2 = 9
