"""Small symmetric matrices against NumPy's LAPACK."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushprice.numerics import linear
from hushprice.numerics.jit import COMPILED

property_test = settings(deadline=None, derandomize=True, max_examples=60 if COMPILED else 20)
sizes = st.integers(1, 9)
seeds = st.integers(0, 2**32 - 1)


def symmetric(dimension: int, seed: int) -> np.ndarray:
    entries = np.random.default_rng(seed).normal(size=(dimension, dimension))
    return entries + entries.T


def definite(dimension: int, seed: int, floor: float = 0.1) -> np.ndarray:
    entries = np.random.default_rng(seed).normal(size=(dimension, dimension))
    return entries @ entries.T + floor * np.eye(dimension)


def factor_of(matrix: np.ndarray) -> np.ndarray | None:
    out = np.zeros_like(matrix)
    return out if linear.cholesky(matrix, len(matrix), out) else None


def decompose(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, vectors = np.empty(len(matrix)), np.empty_like(matrix)
    linear.eigen(matrix.copy(), len(matrix), values, vectors)
    return values, vectors


@given(sizes)
def test_a_packed_matrix_has_one_entry_for_each_of_its_upper_triangle(dimension: int) -> None:
    assert linear.packed_size(dimension) == len(np.triu_indices(dimension)[0])


@property_test
@given(sizes, seeds)
def test_unpacking_gives_back_the_matrix_whose_upper_triangle_was_packed(dimension: int, seed: int) -> None:
    matrix, out = symmetric(dimension, seed), np.full((dimension, dimension), np.nan)
    linear.unpack(matrix[np.triu_indices(dimension)], dimension, out)
    np.testing.assert_array_equal(out, matrix)


@property_test
@given(sizes, seeds)
def test_cholesky_is_numpys_factor(dimension: int, seed: int) -> None:
    matrix = definite(dimension, seed)
    np.testing.assert_allclose(factor_of(matrix), np.linalg.cholesky(matrix), rtol=1e-10, atol=1e-12)


@property_test
@given(sizes, seeds, st.floats(1e-3, 1e3))
def test_cholesky_refuses_exactly_the_matrices_that_are_not_positive_definite(d: int, seed: int, gap: float) -> None:
    matrix = symmetric(d, seed)
    lowest = np.linalg.eigvalsh(matrix)[0]
    assert factor_of(matrix + (gap - lowest) * np.eye(d)) is not None
    assert factor_of(matrix - (gap + lowest) * np.eye(d)) is None


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 0.0, -1.0])
@pytest.mark.parametrize("place", [(0, 0), (1, 1), (2, 2)])
def test_cholesky_refuses_a_diagonal_entry_no_definite_matrix_has(bad: float, place: tuple[int, int]) -> None:
    matrix = np.eye(3)
    matrix[place] = bad
    assert factor_of(matrix) is None


def test_cholesky_refuses_nan_off_the_diagonal() -> None:
    matrix = np.eye(3)
    matrix[2, 0] = matrix[0, 2] = np.nan
    assert factor_of(matrix) is None


@property_test
@given(sizes, seeds, st.floats(-20, 20))
def test_log_determinant_is_numpys_at_every_scale(dimension: int, seed: int, log_scale: float) -> None:
    matrix = 10.0**log_scale * definite(dimension, seed)
    sign, expected = np.linalg.slogdet(matrix)
    assert sign == 1.0
    assert determinants([matrix]) == [(1.0, pytest.approx(expected, rel=1e-11, abs=1e-11), True)]


def determinants(matrices: list[np.ndarray], ridge: float = 0.0) -> list[tuple[float, float, bool]]:
    d = len(matrices[0])
    columns = np.array([matrix[np.triu_indices(d)] for matrix in matrices]).T.copy()
    out = np.full((3, len(matrices)), np.nan)
    linear.log_determinants(columns, ridge, d, len(matrices), out, np.empty_like(columns), np.empty((d, d)))
    return [(sign, log_abs, bool(definite_too)) for sign, log_abs, definite_too in out.T]


@property_test
@given(sizes, st.lists(seeds, min_size=1, max_size=5), st.floats(-3, 3))
def test_signed_log_determinants_of_any_matrices_are_numpys(dimension: int, many: list[int], ridge: float) -> None:
    matrices = [symmetric(dimension, seed) for seed in many]
    for matrix, (sign, log_abs, definite_too) in zip(matrices, determinants(matrices, ridge), strict=True):
        shifted = matrix + ridge * np.eye(dimension)
        expected_sign, expected = np.linalg.slogdet(shifted)
        assert sign == expected_sign
        assert log_abs == pytest.approx(expected, rel=1e-7, abs=1e-7)
        assert definite_too == (np.linalg.eigvalsh(shifted)[0] > 0)


@property_test
@given(sizes, st.lists(seeds, min_size=2, max_size=6))
def test_a_log_determinant_does_not_depend_on_its_neighbours(dimension: int, many: list[int]) -> None:
    matrices = [symmetric(dimension, seed) if seed % 2 else definite(dimension, seed) for seed in many]
    assert determinants(matrices) == [determinants([matrix])[0] for matrix in matrices]


@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.0])
def test_a_singular_or_unfinished_matrix_has_sign_zero_and_is_not_definite(bad: float) -> None:
    assert determinants([np.diag([bad, 1.0, -1.0])]) == [(0.0, -np.inf, False)]


@pytest.mark.parametrize("scale", [1e70, 1e-70])
def test_log_determinants_survive_where_the_determinant_does_not(scale: float) -> None:
    ((sign, log_abs, _),) = determinants([scale * np.eye(9)])
    assert sign == 1.0
    assert log_abs == pytest.approx(9 * np.log(scale), rel=1e-14)


@property_test
@given(sizes, seeds)
def test_solving_with_the_factor_solves_the_system(dimension: int, seed: int) -> None:
    matrix, right = definite(dimension, seed), np.random.default_rng(seed + 1).normal(size=dimension)
    factor, out = factor_of(matrix), np.full(dimension, np.nan)
    assert factor is not None
    linear.solve_factored(factor, right, dimension, out)
    np.testing.assert_allclose(out, np.linalg.solve(matrix, right), rtol=1e-9, atol=1e-10)
    linear.solve_factored(factor, right, dimension, right)  # in place is allowed
    np.testing.assert_array_equal(right, out)


@property_test
@given(sizes, seeds, st.floats(-12, 12))
def test_eigenvalues_are_numpys_at_every_scale(dimension: int, seed: int, log_scale: float) -> None:
    matrix = 10.0**log_scale * symmetric(dimension, seed)
    values, _ = decompose(matrix)
    size = np.linalg.norm(matrix)
    np.testing.assert_allclose(np.sort(values), np.linalg.eigvalsh(matrix), rtol=0, atol=1e-13 * size)


@property_test
@given(sizes, seeds)
def test_eigenvectors_are_orthonormal_and_rebuild_the_matrix(dimension: int, seed: int) -> None:
    matrix = symmetric(dimension, seed)
    values, vectors = decompose(matrix)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(dimension), atol=1e-13)
    np.testing.assert_allclose(vectors @ np.diag(values) @ vectors.T, matrix, atol=1e-12)


@pytest.mark.parametrize(
    "matrix",
    [
        np.zeros((3, 3)),
        np.diag([3.0, -1.0, 2.0]),
        np.array([[0.0, 1.0], [1.0, 0.0]]),  # a zero diagonal
        np.ones((4, 4)),  # three equal eigenvalues
        np.array([[1.0, 1e-9], [1e-9, 1.0]]),  # two that nearly agree
        np.array([[1e12, 1.0], [1.0, 1e-12]]),  # 24 orders apart
    ],
)
def test_eigen_handles_ties_zeros_and_wide_spectra(matrix: np.ndarray) -> None:
    values, vectors = decompose(matrix)
    np.testing.assert_allclose(
        np.sort(values), np.linalg.eigvalsh(matrix), atol=1e-15 * max(1.0, np.linalg.norm(matrix))
    )
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(matrix)), atol=1e-14)


def test_eigen_of_a_nan_matrix_ends_and_says_nan() -> None:
    values, _ = decompose(np.full((3, 3), np.nan))
    assert np.isnan(values).all()


@pytest.mark.skipif(COMPILED, reason="compiled code keeps the number of sweeps it was compiled with")
def test_eigen_ends_after_its_sweeps_with_a_valid_rotation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "_SWEEPS", 1)
    matrix = symmetric(6, 3)
    values, vectors = decompose(matrix)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(6), atol=1e-13)
    np.testing.assert_allclose(np.diag(vectors.T @ matrix @ vectors), values, atol=1e-13)


@pytest.mark.skipif(not COMPILED, reason="there is nothing compiled to compare with")
def test_the_compiled_steps_repeat_the_plain_source_bit_for_bit() -> None:
    matrix, right = definite(5, 8), np.arange(5.0)
    compiled, plain = np.zeros((5, 5)), np.zeros((5, 5))
    assert linear.cholesky(matrix, 5, compiled) == linear.cholesky.py_func(matrix, 5, plain)
    np.testing.assert_array_equal(compiled, plain)
    one, other = np.empty(5), np.empty(5)
    linear.solve_factored(compiled, right, 5, one)
    linear.solve_factored.py_func(plain, right, 5, other)
    np.testing.assert_array_equal(one, other)
    for eigen, values in ((linear.eigen, one), (linear.eigen.py_func, other)):
        eigen(matrix.copy(), 5, values, np.empty((5, 5)))
    np.testing.assert_array_equal(one, other)
