"""Continual sums: dense factorizations, impulse responses, popcounts, and the best Toeplitz factorization there is."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import toeplitz as toeplitz_matrix
from scipy.signal import lfilter

from hushprice.errors import InvalidInput
from hushprice.privacy import streams
from hushprice.privacy.streams import Toeplitz, Tree
from hushprice.types import FloatArray

property_test = settings(deadline=None, derandomize=True)
sections = st.lists(
    st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0 - 1e-9)).map(lambda pair: (pair[0] * pair[1], pair[1])),
    min_size=1,
    max_size=6,
)


def impulse_response(poles: tuple[float, ...], zeros: tuple[float, ...], steps: int) -> FloatArray:
    """The first coefficients of prod (1 - zero x) / (1 - pole x), by somebody else's filter."""
    signal = np.zeros(steps)
    signal[0] = 1.0
    for pole, zero in zip(poles, zeros, strict=True):
        signal = lfilter([1.0, -zero], [1.0, -pole], signal)
    return signal


def dense(strategy: Toeplitz, steps: int) -> FloatArray:
    """C, entry by entry."""
    return toeplitz_matrix(impulse_response(strategy.poles, strategy.zeros, steps), np.zeros(steps))


def tree_nodes(steps: int) -> tuple[FloatArray, FloatArray]:
    """C and B of the binary tree: node n sums the 2^(trailing zeros of n) records up to n; a prefix is a few nodes."""
    strategy, decoder = np.zeros((steps, steps)), np.zeros((steps, steps))
    for n in range(1, steps + 1):
        strategy[n - 1, n - (n & -n) : n] = 1.0
        left = n
        while left:
            decoder[n - 1, left - 1] = 1.0
            left -= left & -left
    return strategy, decoder


def best_column(steps: int) -> float:
    """The squared length of the best Toeplitz column, prod (2k - 1)/(2k): its C and B are both 1/sqrt(1 - x)."""
    k = np.arange(1.0, steps)
    return 1.0 + float(np.sum(np.cumprod((2.0 * k - 1.0) / (2.0 * k)) ** 2))


def exact_norm(poles: tuple[float, ...], zeros: tuple[float, ...], steps: int) -> mpmath.mpf:
    """The length of an impulse response from partial fractions: sums of geometric series, with 300 digits to lose."""
    with mpmath.workdps(300):
        p, z = [mpmath.mpf(x) for x in poles], [mpmath.mpf(x) for x in zeros]
        weights = []
        for i, pole in enumerate(p):
            weight = mpmath.mpf(1)
            for j, (other, zero) in enumerate(zip(p, z, strict=True)):
                weight *= (pole - zero) if i == j else (pole - zero) / (pole - other)
            weights.append(weight)
        total = mpmath.mpf(1)  # coefficient 0; coefficient n >= 1 is sum_i weight_i pole_i^(n - 1)
        for weight, pole in zip(weights, p, strict=True):
            for weight_too, pole_too in zip(weights, p, strict=True):
                ratio = pole * pole_too
                series = steps - 1 if ratio == 1 else (1 - ratio ** (steps - 1)) / (1 - ratio)
                total += weight * weight_too * series
        return mpmath.sqrt(total)


@pytest.mark.parametrize("steps", [1, 2, 3, 5, 8, 31, 32, 100])
def test_the_tree_is_a_factorization_of_prefix_sums(steps: int) -> None:
    strategy, decoder = tree_nodes(steps)
    tree = Tree(steps.bit_length())
    assert np.array_equal(decoder @ strategy, np.tri(steps))
    assert np.array_equal(strategy, np.tril(strategy))
    assert tree.column_norm(steps) == pytest.approx(np.linalg.norm(strategy, axis=0).max(), rel=1e-15)
    assert tree.row_norm(steps) == pytest.approx(np.linalg.norm(decoder, axis=1).max(), rel=1e-15)


def test_the_trees_longest_prefix_by_counting_ones() -> None:
    most = 0
    for steps in range(1, 3000):
        most = max(most, bin(steps).count("1"))
        assert Tree(12).row_norm(steps) == math.sqrt(most)
        assert Tree(12).row_norm(np.int64(steps)) == math.sqrt(most)  # type: ignore[arg-type]


@pytest.mark.parametrize("horizon", [1, 2, 3, 4, 10, 65, 257])
def test_toeplitz_is_a_factorization_of_prefix_sums(horizon: int) -> None:
    steps, strategy = streams.steps_of(horizon), streams.toeplitz(horizon)
    matrix = dense(strategy, steps)
    decoder = np.tri(steps) @ np.linalg.inv(matrix)
    assert np.array_equal(matrix, np.tril(matrix))  # so inputs may depend on earlier outputs
    assert matrix.min() >= 0.0
    assert np.allclose(decoder @ matrix, np.tri(steps), atol=1e-12)
    columns = np.linalg.norm(matrix, axis=0)
    assert columns.max() <= strategy.column_norm(steps) <= columns.max() * (1.0 + 1.1e-9)
    assert np.argmax(columns) == 0
    assert strategy.row_norm(steps) == pytest.approx(np.linalg.norm(decoder, axis=1).max(), rel=1e-12)


@property_test
@given(sections, st.integers(1, 40))
def test_any_sections_give_the_norms_of_their_matrix(pairs: list[tuple[float, float]], steps: int) -> None:
    strategy = Toeplitz(tuple(pole for _, pole in pairs), tuple(zero for zero, _ in pairs))
    matrix = dense(strategy, steps)
    assert matrix.min() >= 0.0
    assert strategy.column_norm(steps) >= np.linalg.norm(matrix, axis=0).max()
    assert strategy.column_norm(steps) == pytest.approx(np.linalg.norm(matrix, axis=0).max(), rel=2e-9)
    rows = impulse_response((*strategy.zeros, 1.0), (*strategy.poles, 0.0), steps)
    assert strategy.row_norm(steps) == pytest.approx(np.linalg.norm(rows), rel=1e-9)


def test_a_sensitivity_read_off_the_wrong_column_would_be_caught() -> None:
    strategy = streams.toeplitz(1000)
    columns = np.linalg.norm(dense(strategy, 999), axis=0)
    assert columns[500] < 0.99 * strategy.column_norm(999)


@pytest.mark.parametrize("horizon", [2, 3, 100_001])
def test_impulse_responses_of_a_filter(horizon: int) -> None:
    strategy, steps = streams.toeplitz(horizon), horizon - 1
    column = np.linalg.norm(impulse_response(strategy.poles, strategy.zeros, steps))
    row = np.linalg.norm(impulse_response((*strategy.zeros, 1.0), (*strategy.poles, 0.0), steps))
    assert column < strategy.column_norm(steps) < column * (1.0 + 2e-9)
    assert strategy.row_norm(steps) == pytest.approx(row, rel=1e-10)


@pytest.mark.parametrize("horizon", [10, 10**5, 10**7, 10**8, 10**9, 10**10, 10**11, 10**12, 10**13])
def test_the_sensitivity_is_never_below_the_exact_one_however_long_the_stream(horizon: int) -> None:
    strategy, steps = streams.toeplitz(horizon), horizon - 1
    ratio = float(mpmath.mpf(strategy.column_norm(steps)) / exact_norm(strategy.poles, strategy.zeros, steps)) - 1.0
    assert 0.0 <= ratio <= 2e-9 + steps * 6 * 2.0**-53  # (sections + 1) roundings a step are paid for
    if horizon <= 10**9:
        exact = exact_norm((*strategy.zeros, 1.0), (*strategy.poles, 0.0), steps)
        assert strategy.row_norm(steps) == pytest.approx(float(exact), rel=1e-7)


@pytest.mark.parametrize(
    ("steps", "within"), [(100, 1.011), (1000, 1.011), (31_623, 1.011), (10**5, 1.011), (10**6, 1.011), (10**7, 1.025)]
)
def test_close_to_the_best_toeplitz_factorization(steps: int, within: float) -> None:
    """Fichtenberger, Henzinger and Upadhyay 2023: no Toeplitz factorization does better than this sum."""
    strategy = streams.toeplitz(steps + 1)
    noise, best = strategy.column_norm(steps) * strategy.row_norm(steps), best_column(steps)
    assert best <= noise * (1.0 + 1e-9)
    assert noise <= within * best


@pytest.mark.parametrize(("horizon", "times"), [(10**4, 3.3), (10**5, 3.4), (10**6, 3.5)])
def test_far_below_the_tree(horizon: int, times: float) -> None:
    steps, tree, toeplitz = horizon - 1, streams.tree(horizon), streams.toeplitz(horizon)
    ratio = tree.column_norm(steps) * tree.row_norm(steps) / (toeplitz.column_norm(steps) * toeplitz.row_norm(steps))
    assert times < ratio < times + 0.3


@property_test
@given(st.integers(1, 10**9))
def test_a_strategy_for_every_horizon(horizon: int) -> None:
    steps = streams.steps_of(horizon)
    assert steps == max(1, horizon - 1)
    for strategy in (streams.tree(horizon), streams.toeplitz(horizon)):
        assert strategy.column_norm(steps) >= 1.0
        assert strategy.row_norm(steps) >= 1.0


def test_one_record_is_released_with_its_own_noise() -> None:
    for horizon in (1, 2):
        assert streams.steps_of(horizon) == 1
        assert streams.tree(horizon) == Tree(1)
        assert Tree(1).column_norm(1) == Tree(1).row_norm(1) == 1.0
        assert streams.toeplitz(horizon).column_norm(1) == pytest.approx(1.0 + 1e-9, rel=1e-15)
        assert streams.toeplitz(horizon).row_norm(1) == 1.0


@pytest.mark.parametrize(("horizon", "levels"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (2**20, 20), (2**20 + 1, 21)])
def test_levels_are_the_least_that_can_number_all_summed_records(horizon: int, levels: int) -> None:
    assert streams.tree(horizon).levels == levels
    assert 2**levels > horizon - 1
    assert streams.tree(np.int64(horizon)).levels == levels  # type: ignore[arg-type]


@pytest.mark.parametrize("horizon", [0, -1, 2.0, math.nan, True, None])
def test_what_is_no_horizon_is_refused(horizon: Any) -> None:
    for build in (streams.tree, streams.toeplitz, streams.steps_of):
        with pytest.raises(InvalidInput, match=r"^horizon must"):
            build(horizon)


@pytest.mark.parametrize("steps", [0, -1, 2.0, math.nan, True])
def test_what_is_no_number_of_steps_is_refused(steps: Any) -> None:
    for strategy in (Tree(3), streams.toeplitz(8)):
        for norm in (strategy.column_norm, strategy.row_norm):
            with pytest.raises(InvalidInput, match=r"^steps must"):
                norm(steps)


def test_a_tree_holds_as_many_records_as_it_has_nodes() -> None:
    assert Tree(3).column_norm(7) == math.sqrt(3)
    for norm in (Tree(3).column_norm, Tree(3).row_norm):
        with pytest.raises(InvalidInput, match="a tree of 3 levels holds 7 records, got 8"):
            norm(8)


@pytest.mark.parametrize("levels", [0, -1, 1.5, True, math.nan])
def test_levels_are_whole(levels: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^levels must"):
        Tree(levels)


@pytest.mark.parametrize(
    ("poles", "zeros"),
    [((0.5,), (0.6,)), ((1.0,), (0.5,)), ((0.5,), (-0.1,)), ((math.nan,), (0.1,)), ((0.5,), (math.nan,))],
)
def test_sections_that_could_make_a_negative_entry_are_refused(poles: Any, zeros: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^a section needs 0 <= zero <= pole < 1"):
        Toeplitz(poles, zeros)


@pytest.mark.parametrize(("poles", "zeros"), [((), ()), ((0.5,), ()), ((0.5,), (0.1, 0.2))])
def test_sections_come_in_pairs(poles: Any, zeros: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^poles and zeros must be equally many"):
        Toeplitz(poles, zeros)
