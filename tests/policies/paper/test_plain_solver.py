"""The plain-Python solver where a full Newton step goes wrong: it halves its way and still certifies its answer."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hushprice.demand.families import Logistic, Poisson
from hushprice.policies.paper.private import plain_solver
from hushprice.policies.paper.tolerance import TOLERANCE
from hushprice.privacy.sensitivity import RADIUS


def family_of(slope: float, mean: Any, mean_slope: Any) -> Any:
    return SimpleNamespace(slope=slope, mean=mean, mean_slope=mean_slope)


def test_a_step_that_overshoots_is_halved() -> None:
    """f(z) = arctan(9 z): Newton's method from a flat part runs to the far side and back, for ever."""
    demand = family_of(9.0, lambda z: np.arctan(9.0 * z), lambda z: 9.0 / (1.0 + (9.0 * z) ** 2))
    phi, observed = np.array([[1.0, 0.9, 0.8]]), np.array([0.1, 0.0, -0.1])
    theta = np.array([1.9])
    assert plain_solver.minimize(demand, phi, observed, 1e-3, np.zeros(1), theta=theta) <= TOLERANCE
    gradient = 9.0 * phi @ (np.arctan(9.0 * theta @ phi) - observed) + 1e-3 * theta
    assert abs(gradient[0]) < 1e-6


@pytest.mark.parametrize("start", [[2.0, 0.0], [-1.2, 1.6]])
def test_steep_counts_from_far_away(start: list[float]) -> None:
    generator = np.random.default_rng(5)
    phi = generator.normal(size=(2, 40))
    phi /= np.maximum(1.0, np.linalg.norm(phi, axis=0))
    theta = np.array(start)
    gap = plain_solver.minimize(Poisson(slope=10.0, bound=50.0), phi, np.zeros(40), 1e-2, np.zeros(2), theta=theta)
    assert gap <= TOLERANCE


def test_a_family_whose_slope_is_a_lie_is_not_certified() -> None:
    """f' declared far too large: steps are tiny, the passes run out, and the gap says so."""
    demand = family_of(4.0, lambda z: 4.0 * z, lambda z: np.full(z.shape, 1e6))
    theta = np.zeros(1)
    assert plain_solver.minimize(demand, np.ones((1, 3)), np.ones(3), 1e-3, np.zeros(1), theta=theta) > TOLERANCE


def test_a_direction_that_leads_nowhere_is_given_up() -> None:
    """f decreasing, so F is not convex and no step length helps: refused, not looped over."""
    demand = family_of(1.0, lambda z: np.where(z > 0.0, math.pi, -math.pi), lambda z: np.zeros(z.shape))
    theta = np.array([0.3])
    assert plain_solver.minimize(demand, np.ones((1, 1)), np.zeros(1), 1e-3, np.zeros(1), theta=theta) > TOLERANCE
    assert abs(theta[0]) <= 2.0


def test_a_start_outside_the_ball_is_brought_back() -> None:
    """A released estimate carries output noise, so the next fit may start outside."""
    phi, observed, tilt = np.array([[0.6, -0.2], [0.3, 0.9]]), np.array([1.0, 0.0]), np.array([3.0, -2.0])
    starts = [np.array([30.0, -40.0]), np.array([1.2, -1.6])]  # along one ray, the second on the sphere
    found = []
    for theta in starts:
        assert plain_solver.minimize(Logistic(), phi, observed, 0.5, tilt, theta=theta) <= TOLERANCE
        assert np.linalg.norm(theta) <= RADIUS * (1.0 + 1e-15)
        found.append(theta)
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)


def test_gradients_keep_the_digits_the_accounting_counts_on() -> None:
    """Added in pairs: a hundred thousand terms lose a few units of the last place, whatever library does the sums."""
    demand = family_of(1.0, lambda z: np.full(z.shape, 0.1), lambda z: np.ones(z.shape))
    count = 100_000
    phi = np.random.default_rng(2).uniform(0.1, 1.0, (1, 2 * count))[:, :count]  # a view, as records are
    gradient, _ = plain_solver._derivatives(demand, phi, np.zeros(count), 1.0, np.zeros(1), theta=np.zeros(1))
    exact = math.fsum(0.1 * phi[0])
    assert abs(gradient[0] - exact) <= 40 * 2.0**-53 * exact
