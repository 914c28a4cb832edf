"""Sums in 64 bits are those of Python's integers, to the last digit."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hushprice.mechanisms.exact_sums import MOST_TERMS, _longer, in_unit_balls, products
from hushprice.mechanisms.whole_numbers import UNIT_BITS, in_unit_ball

ENTRIES = st.one_of(
    st.floats(-1e9, 1e9), st.sampled_from([0.0, 1.0, -1.0, 0.6, -0.8, 1.0 - 2.0**-53, 1.0 + 2.0**-52, 2.0**-41, 0.5])
)


@given(st.lists(st.lists(ENTRIES, min_size=3, max_size=3), min_size=0, max_size=6), st.booleans())
def test_many_vectors_are_held_to_the_unit_ball_as_each_is_alone(columns: list[list[float]], scaled: bool) -> None:
    vectors = np.clip(np.array(columns, dtype=float).reshape(-1, 3).T, -1e9, 1e9)
    if scaled:
        vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=0), 1e-300)
    whole = in_unit_balls(vectors)
    assert whole.dtype == np.int64
    assert whole.T.tolist() == [in_unit_ball(column) for column in vectors.T]
    exact = [
        sum(int(a) * int(b) for a, b in zip(whole[i], whole[j], strict=True)) for i in range(3) for j in range(i, 3)
    ]
    assert products(whole) == exact


def test_the_length_of_a_vector_is_decided_exactly() -> None:
    """One unit of 2^-40 more or less than 1, in the last of several entries."""
    one = 1 << UNIT_BITS
    columns = [[one, 0, 0], [one, 1, 0], [one, 0, -1], [one - 1, 1, 1], [-one, 0, 0], [0, one + 1, 0]]
    root = math.isqrt(one * one // 2)
    columns += [[root, root, 0], [root, root + 1, 0], [root + 1, -root - 1, 0], [root, -root, 1 << 19]]
    expected = [sum(value * value for value in column) > one * one for column in columns]
    assert len(set(expected)) == 2
    assert _longer(np.array(columns).T).tolist() == expected


def test_as_many_products_as_are_added_at_once_fit_64_bits() -> None:
    one = 1 << UNIT_BITS
    for vector in ([one, 0], [-one, 0], [one - 1, 1 << 20], [-(one >> 1), one >> 1], [-1, 1]):
        whole = np.repeat(np.array(vector).reshape(-1, 1), MOST_TERMS, axis=1)
        assert products(whole) == [MOST_TERMS * vector[i] * vector[j] for i in range(2) for j in range(i, 2)]
