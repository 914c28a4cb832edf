"""Dispersion: slopes move by the deviation asked for, levels with them, and a certain slope stays."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hushprice.policies.newton.pricing.dispersion import spread_lines
from hushprice.types import FloatArray


def spread(share: float, uniforms: FloatArray, q1: float, q2: float) -> tuple[FloatArray, FloatArray]:
    count = uniforms.size
    a, b = np.zeros(count), np.zeros(count)
    spread_lines(share, count, uniforms, a, b, np.full(count, q1), np.full(count, q2))
    return a, b


def test_slopes_have_the_deviation_asked_for_and_levels_follow() -> None:
    """Over an even grid of uniforms: mean 0, deviation share x sqrt(q2), and levels q1 / (2 q2) of it."""
    uniforms = (np.arange(20_000) + 0.5) / 20_000
    a, b = spread(0.1, uniforms, -0.3, 0.25)
    assert b.mean() == pytest.approx(0.0, abs=1e-12)
    assert b.std() == pytest.approx(0.1 * 0.5, rel=1e-6)
    assert np.abs(b).max() <= 0.1 * 0.5 * math.sqrt(3.0)
    np.testing.assert_allclose(a, -0.6 * b, rtol=1e-12)


def test_the_price_at_which_the_line_is_known_best_stays() -> None:
    """Where variance q0 + q1 p + q2 p^2 is least, p = -q1 / (2 q2), the moved line passes through the old point."""
    a, b = spread(0.5, np.array([0.0, 0.2, 0.9]), -0.6, 0.5)
    np.testing.assert_allclose(a + b * 0.6, 0.0, atol=1e-15)


def test_nothing_moves_without_spread_or_doubt() -> None:
    for share, q2 in ((0.0, 0.5), (0.3, 0.0), (0.3, -1e-18)):
        a, b = spread(share, np.array([0.1, 0.9]), 0.2, q2)
        assert not np.any(a)
        assert not np.any(b)


def test_no_more_customers_than_asked_for_are_moved() -> None:
    a, b, ones = np.zeros(3), np.zeros(3), np.ones(3)
    spread_lines(0.1, 2, ones, a, b, ones, ones)
    assert np.count_nonzero(b) == np.count_nonzero(a) == 2
