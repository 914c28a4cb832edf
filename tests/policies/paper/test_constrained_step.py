"""The Newton step on the ball: the exact minimizer of the quadratic model, found in a few tries."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushprice.numerics.jit import COMPILED
from hushprice.policies.paper.private import solver
from hushprice.privacy.sensitivity import RADIUS

property_test = settings(max_examples=200 if COMPILED else 25)


def model(theta: np.ndarray, g: np.ndarray, h: np.ndarray, at: np.ndarray) -> float:
    s = at - theta
    return float(g @ s + 0.5 * s @ h @ s)


def check_step(seed: int, size: float, least: float) -> None:
    """(H + shift) t = H theta - g for one shift >= 0, which is 0 inside the ball: these conditions are sufficient."""
    generator = np.random.default_rng(seed)
    d = 1 + seed % 4
    root = generator.normal(size=(d, d))
    h = root @ root.T + 10.0**least * np.eye(d)
    g = 10.0**size * generator.normal(size=d)
    theta = generator.uniform(-1, 1, d)
    t = np.empty(d)
    assert solver.constrained_step(theta, g, h, RADIUS, t, np.empty((2 * d + 1, d)))
    assert np.linalg.norm(t) <= RADIUS * (1 + 1e-15)
    right = h @ theta - g
    shift = max(0.0, t @ (right - h @ t) / (t @ t)) if t.any() else 0.0
    scale = np.linalg.norm(right) + np.linalg.norm(h)
    np.testing.assert_allclose(h @ t + shift * t, right, atol=1e-7 * scale)
    assert shift * (RADIUS - np.linalg.norm(t)) <= 1e-7 * scale
    for rival in generator.normal(size=(5, d)):
        rival *= RADIUS / max(RADIUS, np.linalg.norm(rival))
        assert model(theta, g, h, t) <= model(theta, g, h, rival) + 1e-9 * (scale + abs(model(theta, g, h, t)))


@property_test
@given(st.integers(0, 9999), st.floats(-3, 6), st.floats(-6, 3))
def test_the_constrained_step_minimizes_the_model_on_the_ball(seed: int, size: float, least: float) -> None:
    check_step(seed, size, least)


@pytest.mark.skipif(COMPILED, reason="limits are compiled in")
def test_the_multiplier_is_found_in_a_few_steps(monkeypatch: Any) -> None:
    monkeypatch.setattr(solver, "_SHIFTS", 15)
    for seed in range(60):
        check_step(seed, -3 + seed % 10, -6 + seed % 7)


def test_the_constrained_step_stays_put_where_there_is_nothing_to_gain() -> None:
    theta, t = np.array([0.0, 0.0]), np.full(2, 9.0)
    assert solver.constrained_step(theta, np.zeros(2), np.eye(2), RADIUS, t, np.empty((5, 2)))
    np.testing.assert_array_equal(t, 0.0)


@pytest.mark.parametrize("bad", [math.nan, -1.0, 0.0])
def test_the_constrained_step_refuses_a_hessian_that_is_not_positive(bad: float) -> None:
    h = np.diag([1.0, bad])
    assert not solver.constrained_step(np.zeros(2), np.ones(2), h, RADIUS, np.empty(2), np.empty((5, 2)))
