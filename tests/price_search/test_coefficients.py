"""The five numbers of a customer against phi'theta and phi' inv(Lambda) phi worked out at random prices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushprice.numerics.jit import COMPILED
from hushprice.price_search.coefficients import bonus_curve, demand_line

property_test = settings(deadline=None, derandomize=True, max_examples=60 if COMPILED else 20)
sizes = st.integers(1, 9)
counts = st.integers(1, 20)
seeds = st.integers(0, 2**32 - 1)
UNTOUCHED = -7.0


@property_test
@given(sizes, counts, seeds)
def test_the_line_is_phi_theta_at_every_price(dimension: int, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    theta, (u, v) = rng.normal(size=dimension), rng.normal(size=(2, dimension, count + 2))
    a, b = np.full((2, count + 2), UNTOUCHED)
    demand_line(theta, u, v, count, a, b)
    for p in rng.uniform(0, 1, 3):
        np.testing.assert_allclose(a[:count] + b[:count] * p, theta @ (u + p * v)[:, :count], atol=1e-12)
    assert (a[count:] == UNTOUCHED).all()
    assert (b[count:] == UNTOUCHED).all()


@property_test
@given(sizes, counts, seeds)
def test_the_curve_is_the_quadratic_form_at_every_price(dimension: int, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    u, v = rng.normal(size=(2, dimension, count + 2))
    root = rng.normal(size=(dimension, dimension))
    inverse = root + root.T  # of any signature
    q0, q1, q2 = np.full((3, count + 2), UNTOUCHED)
    bonus_curve(inverse, u, v, count, q0, q1, q2, np.full((2, count + 2), np.nan))
    for p in rng.uniform(0, 1, 3):
        phi = (u + p * v)[:, :count]
        expected = np.einsum("ji,jk,ki->i", phi, inverse, phi)
        np.testing.assert_allclose(q0[:count] + p * (q1[:count] + p * q2[:count]), expected, atol=1e-10)
    for row in (q0, q1, q2):
        assert (row[count:] == UNTOUCHED).all()


@pytest.mark.parametrize("size", [1, 7, 64])
def test_a_customer_does_not_depend_on_the_batch(size: int) -> None:
    rng = np.random.default_rng(4)
    theta, inverse, (u, v) = rng.normal(size=3), rng.normal(size=(3, 3)), rng.normal(size=(2, 3, 64))
    whole, part = np.zeros((5, 64)), np.zeros((5, 64))
    for rows, count in ((whole, 64), (part, size)):
        demand_line(theta, u, v, count, rows[0], rows[1])
        bonus_curve(inverse, u, v, count, rows[2], rows[3], rows[4], np.zeros((2, 64)))
    assert (whole[:, :size] == part[:, :size]).all()
