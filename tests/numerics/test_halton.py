"""Scrambled Halton points are scipy's to the last digit, and fill the cube more evenly than chance does."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import qmc

from hushprice.numerics.halton import scrambled_halton


@pytest.mark.parametrize("dimensions", [1, 2, 9, 32])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_points_are_those_of_a_second_library(dimensions: int, seed: int) -> None:
    for count in (1, 96, 2500):
        second = qmc.Halton(dimensions, scramble=True, seed=seed).random(count)
        assert np.array_equal(scrambled_halton(count, dimensions, seed), second)


def test_no_dimension_is_no_column() -> None:
    assert scrambled_halton(5, 0, seed=1).shape == (5, 0)


def test_every_cell_of_a_power_of_the_base_has_one_point() -> None:
    points = scrambled_halton(81, 2, seed=3)[:, 1]
    assert sorted(np.floor(81 * points).astype(int)) == list(range(81))
