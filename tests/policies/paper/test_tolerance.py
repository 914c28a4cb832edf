"""How far a solver may stop: estimates stopped at the tolerance lie within the distance that is charged for them."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from hushprice.demand.families import Logistic
from hushprice.errors import InvalidInput
from hushprice.policies.paper import tolerance
from hushprice.policies.paper.tolerance import TOLERANCE, distance
from hushprice.privacy.sensitivity import RADIUS, LossBounds, of_loss
from hushprice.types import FloatArray

property_test = settings(deadline=None, derandomize=True)
LOSSES = of_loss(Logistic(slope=4.0))
CASE: dict[str, Any] = {"ridge": 10.0, "grid": 1e-8, "steps": 1000, "dimension": 3, "losses": LOSSES}


class Problem:
    """Logistic loss of slope 4, ridge and tilt, over the ball of radius 2; slow and plain."""

    def __init__(self, seed: int, n: int, d: int, ridge: float, noise: float) -> None:
        random = np.random.default_rng(seed)
        phi = random.normal(size=(n, d))
        self.phi = phi / np.maximum(1.0, np.linalg.norm(phi, axis=1))[:, None]
        self.y = (random.uniform(size=n) < 0.5).astype(float)
        self.ridge, self.tilt = ridge, noise * random.normal(size=d)

    def mean(self, theta: FloatArray) -> FloatArray:
        return expit(4.0 * (self.phi @ theta))

    def gradient(self, theta: FloatArray) -> FloatArray:
        return 4.0 * self.phi.T @ (self.mean(theta) - self.y) + self.ridge * theta + self.tilt

    def hessian(self, theta: FloatArray) -> FloatArray:
        f = self.mean(theta)
        return (self.phi.T * (16.0 * f * (1.0 - f))) @ self.phi + self.ridge * np.eye(theta.size)

    def gap(self, theta: FloatArray) -> float:
        """A bound on F(theta) - min F: inside the ball by strong convexity, on its sphere the Frank-Wolfe gap.

        The latter is R (|slope| - inward part), written so that the difference does not cancel.
        """
        slope = self.gradient(theta)
        radius = float(np.linalg.norm(theta))
        if radius < RADIUS * (1.0 - 1e-12):
            return float(slope @ slope) / (2.0 * self.ridge)
        inward = -float(slope @ theta) / radius
        along = slope + inward * theta / radius
        square = float(along @ along)
        return RADIUS * square / (math.sqrt(inward**2 + square) + inward)

    def solve(self, tolerance: float) -> FloatArray:
        """Newton's method inside; where that leaves the ball, bisection on the multiplier. Stops at the tolerance."""
        theta = self.newton(np.zeros(self.tilt.size), 0.0, tolerance)
        if np.linalg.norm(theta) <= RADIUS:
            return theta
        low, high = 0.0, float(np.linalg.norm(self.tilt)) + 4.0 * len(self.y)
        for _ in range(100):
            middle = (low + high) / 2
            inner = self.newton(theta, middle, 0.0)
            low, high = (middle, high) if np.linalg.norm(inner) > RADIUS else (low, middle)
            theta = inner * RADIUS / float(np.linalg.norm(inner))
            if self.gap(theta) <= tolerance:
                break
        return theta

    def newton(self, theta: FloatArray, multiplier: float, tolerance: float) -> FloatArray:
        """The minimizer of F + multiplier/2 |theta|^2 by damped steps, until no step helps or the gap is small."""
        slope = self.gradient(theta) + multiplier * theta
        while float(slope @ slope) / (2.0 * self.ridge) > tolerance:
            step = np.linalg.solve(self.hessian(theta) + multiplier * np.eye(theta.size), slope)
            for size in 0.5 ** np.arange(30):
                closer = theta - size * step
                after = self.gradient(closer) + multiplier * closer
                if np.linalg.norm(after) < (1.0 - 0.1 * size) * np.linalg.norm(slope):
                    break
            else:
                break
            theta, slope = closer, after
        return theta

    def exact(self, theta: FloatArray) -> Any:
        """The minimizer with 40 digits, by Newton's method on the optimality conditions from a close start."""
        with mpmath.workdps(40):
            d = theta.size
            at = mpmath.matrix(theta.tolist())
            slope = self.gradient(theta)
            outside = float(np.linalg.norm(theta)) > RADIUS * (1.0 - 1e-9)
            multiplier = mpmath.mpf(max(0.0, -float(slope @ theta) / RADIUS**2)) if outside else mpmath.mpf(0)
            rows = [mpmath.matrix(row).T for row in self.phi.tolist()]
            for _ in range(6):
                g = mpmath.matrix(self.tilt.tolist()) + (self.ridge + multiplier) * at
                h = (self.ridge + multiplier) * mpmath.eye(d)
                for row, y in zip(rows, self.y, strict=True):
                    f = 1 / (1 + mpmath.exp(-4 * (row * at)[0]))
                    g += 4 * (f - y) * row.T
                    h += 16 * f * (1 - f) * row.T * row
                if outside:
                    system = mpmath.zeros(d + 1)
                    system[:d, :d] = h
                    system[:d, d], system[d, :d] = at, at.T
                    residual = mpmath.zeros(d + 1, 1)
                    residual[:d, 0] = g
                    residual[d] = ((at.T * at)[0] - RADIUS**2) / 2
                    step = mpmath.lu_solve(system, residual)
                    at, multiplier = at - step[:d, 0], multiplier - step[d]
                else:
                    at = at - mpmath.lu_solve(h, g)
            return at


@pytest.mark.beyond_coverage
@pytest.mark.parametrize(
    ("seed", "n", "d", "ridge", "noise"),
    [
        (1, 40, 1, 1.0, 3.0),
        (2, 60, 2, 10.0, 200.0),
        (3, 50, 5, 100.0, 30.0),
        (4, 50, 3, 1.0, 1000.0),
        (5, 300, 5, 5.0, 20.0),
    ],
)
def test_a_solver_stopped_at_the_tolerance_is_within_the_distance(
    seed: int, n: int, d: int, ridge: float, noise: float
) -> None:
    problem = Problem(seed, n, d, ridge, noise)
    theta = problem.solve(TOLERANCE)
    exact = problem.exact(theta)
    with mpmath.workdps(40):
        away = float(mpmath.norm(mpmath.matrix(theta.tolist()) - exact))
    bound = distance(ridge=ridge, grid=0.0, steps=n, dimension=d, losses=LOSSES)
    assert away <= bound
    assert float(mpmath.norm(exact)) <= RADIUS * (1.0 + 1e-12)


@settings(property_test, max_examples=40)
@given(
    st.integers(0, 10**6),
    st.integers(1, 3000),
    st.integers(1, 5),
    st.floats(0.0, 6.0).map(math.exp),
    st.floats(-3.0, 7.0).map(math.exp),
)
def test_two_stops_are_never_further_apart_than_charged(seed: int, n: int, d: int, ridge: float, noise: float) -> None:
    """What privacy needs: a loosely stopped and a far better solution, inside the ball and on its sphere."""
    problem = Problem(seed, n, d, ridge, noise)
    loose, best = problem.solve(TOLERANCE), problem.solve(0.0)
    bound = distance(ridge=ridge, grid=0.0, steps=n, dimension=d, losses=LOSSES)
    assert np.linalg.norm(loose - best) <= 2.0 * bound


def test_stopping_a_thousand_times_earlier_would_be_caught() -> None:
    """A point whose value is 1e-7 above the least lies further off than the distance."""
    problem = Problem(1, 200, 3, 1.0, 3.0)
    best = problem.solve(0.0)
    curvatures, directions = np.linalg.eigh(problem.hessian(best))
    off = best + math.sqrt(2.0 * 1e-7 / curvatures[0]) * directions[:, 0]
    bound = distance(ridge=1.0, grid=0.0, steps=200, dimension=3, losses=LOSSES)
    assert np.linalg.norm(off - best) > bound


def test_the_distance_by_a_second_transcription() -> None:
    case = CASE | {"steps": 10**6}
    records = 4.0 * 10**6 * 0.9996646 * (36 + 512 + 122) + 10**6 * 2 * 2 * 3 * 4.0
    rounding = (3 * records + 10 * 20) * 2.0**-53
    radius = 2 * (4e-15 + 3 * 2.0**-53)
    expected = math.sqrt(2e-14) + (rounding + radius * (10.0 + 4e6) + 0.5e-8 * math.sqrt(3)) / 10.0 + radius
    assert distance(**case) == pytest.approx(1.001 * expected, rel=1e-6)
    assert tolerance.TOLERANCE == 1e-13


@pytest.mark.parametrize("field", ["grid", "steps", "dimension"])
def test_more_to_round_is_further_off(field: str) -> None:
    found = [distance(**{**CASE, field: CASE[field] * factor}) for factor in (1, 10, 1000)]
    assert found == sorted(found)
    assert len(set(found)) == 3


def test_more_ridge_is_closer_and_larger_losses_are_further() -> None:
    assert distance(**CASE | {"ridge": 100.0}) < distance(**CASE) < distance(**CASE | {"ridge": 1.0})
    larger = LossBounds(gradient=40.0, difference=70.0, curvature=40.0)
    assert distance(**CASE | {"losses": larger}) > distance(**CASE)


@pytest.mark.parametrize("field", ["ridge", "grid", "steps", "dimension"])
@pytest.mark.parametrize("value", [-1, math.nan, math.inf, None, True])
def test_fields_are_refused_by_name(field: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=f"^{field} must"):
        distance(**{**CASE, field: value})


def test_only_the_grid_may_be_zero() -> None:
    assert distance(**CASE | {"grid": 0.0}) < distance(**CASE)
    for field in ("ridge", "steps", "dimension"):
        with pytest.raises(InvalidInput, match=f"^{field} must"):
            distance(**{**CASE, field: 0})
