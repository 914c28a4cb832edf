"""The doubling test and the inverse the price needs, against NumPy's LAPACK, for matrices of every signature."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushprice.numerics.jit import COMPILED
from hushprice.policies.paper.pricing.refresh import AS_IS, FLOOR, LOG_DOUBLING, confidence, wants_estimate

property_test = settings(deadline=None, derandomize=True, max_examples=80 if COMPILED else 25)
sizes = st.integers(1, 8)
seeds = st.integers(0, 2**32 - 1)
RIDGE = 0.5


def with_spectrum(values: np.ndarray, seed: int) -> np.ndarray:
    """A symmetric matrix with these eigenvalues in a random orthonormal basis."""
    basis, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values), len(values))))
    matrix = basis * values @ basis.T
    return (matrix + matrix.T) / 2


def spectrum(dimension: int, seed: int, signs: tuple[int, ...]) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.choice(signs, dimension) * 10 ** rng.uniform(-2, 3, dimension)


def released(regularized: np.ndarray) -> np.ndarray:
    """What a releaser would have to publish for Sigma + ridge I to be this matrix."""
    d = len(regularized)
    return (regularized - RIDGE * np.eye(d))[np.triu_indices(d)]


def inverse(regularized: np.ndarray, repair: int) -> np.ndarray:
    d = len(regularized)
    out = np.full((d, d), np.nan)
    confidence(released(regularized), d, RIDGE, repair, out, np.full((2 * d + 1, d), np.nan))
    return out


def test_the_doubling_border_is_strict() -> None:
    current = math.log(7.0)
    border = current + LOG_DOUBLING
    assert not wants_estimate(1.0, border, current)
    assert wants_estimate(1.0, math.nextafter(border, math.inf), current)
    assert not wants_estimate(1.0, math.nextafter(border, -math.inf), current)


@pytest.mark.parametrize("current", [-1e3, 0.0, 1e3])
def test_a_determinant_that_float64_cannot_hold_is_compared_by_its_logarithm(current: float) -> None:
    assert wants_estimate(1.0, current + 0.7, current)
    assert not wants_estimate(1.0, current + 0.69, current)


@pytest.mark.parametrize("sign", [-1.0, 0.0, math.nan])
def test_a_determinant_that_is_not_positive_has_not_doubled(sign: float) -> None:
    assert not wants_estimate(sign, 1e9, 0.0)


def test_a_determinant_that_is_not_a_number_has_not_doubled() -> None:
    assert not wants_estimate(1.0, math.nan, 0.0)


@property_test
@given(sizes, seeds, st.sampled_from([FLOOR, AS_IS]))
def test_a_definite_matrix_is_inverted_as_it_is(dimension: int, seed: int, repair: int) -> None:
    matrix = with_spectrum(
        spectrum(dimension, seed, (1,)), seed
    )  # some eigenvalues lie below the ridge, and stay there
    np.testing.assert_allclose(inverse(matrix, repair) @ matrix, np.eye(dimension), atol=1e-8)


@property_test
@given(sizes, seeds)
def test_an_indefinite_matrix_is_inverted_as_it_is(dimension: int, seed: int) -> None:
    matrix = with_spectrum(spectrum(dimension, seed, (-1, 1)), seed)
    np.testing.assert_allclose(inverse(matrix, AS_IS) @ matrix, np.eye(dimension), atol=1e-8)


@property_test
@given(sizes, seeds)
def test_the_floor_raises_eigenvalues_and_keeps_directions(dimension: int, seed: int) -> None:
    values = spectrum(dimension, seed, (-1, 1))
    values[0] = -abs(values[0])
    matrix = with_spectrum(values, seed)
    repaired = np.linalg.inv(inverse(matrix, FLOOR))
    expected = with_spectrum(np.maximum(values, RIDGE), seed)
    np.testing.assert_allclose(repaired, expected, rtol=1e-7, atol=1e-7 * np.abs(expected).max())
    assert np.linalg.eigvalsh(repaired)[0] == pytest.approx(RIDGE)


def test_the_floor_repairs_a_singular_matrix() -> None:
    np.testing.assert_allclose(inverse(np.diag([0.0, 4.0]), FLOOR), np.diag([1 / RIDGE, 0.25]))


def test_the_inverse_is_exactly_symmetric() -> None:
    out = inverse(with_spectrum(np.array([3.0, -1.0, 0.2, 7.0]), 1), AS_IS)
    assert (out == out.T).all()
