"""What saves PrivateMLE's solver passes over the records: a certificate foreseen, and a sample that points ahead."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.demand.protocol import Demand
from hushprice.numerics.jit import COMPILED
from hushprice.policies.paper.private import likelihood, plain_solver, solver
from hushprice.policies.paper.tolerance import TOLERANCE
from hushprice.privacy.sensitivity import RADIUS
from hushprice.types import FloatArray

FAMILIES: list[Demand] = [Logistic(), Gaussian(noise=0.5), Poisson(slope=2.0)]
RIDGE = 3.0


def records(demand: Demand, count: int, seed: int, d: int = 2) -> tuple[FloatArray, FloatArray]:
    generator = np.random.default_rng(seed)
    phi = generator.uniform(-1, 1, (d, count)) / math.sqrt(d)
    z = generator.normal(size=d) @ phi
    return phi, np.round(demand.mean(z) + generator.uniform(-0.5, 0.5, count))


def derivatives(
    demand: Demand, phi: FloatArray, observed: FloatArray, theta: FloatArray
) -> tuple[FloatArray, FloatArray]:
    return plain_solver._derivatives(demand, phi, observed, RIDGE, np.zeros(theta.size), theta=theta)


def bend(demand: Demand, phi: FloatArray) -> float:
    return 0.0 if demand.name == "gaussian" else demand.slope * float(np.linalg.norm(phi, axis=0).max())


@pytest.mark.parametrize("demand", FAMILIES)
def test_the_gradient_drifts_no_further_than_foreseen(demand: Demand) -> None:
    generator = np.random.default_rng(3)
    for seed in range(60):
        phi, observed = records(demand, 1 + seed % 7, seed)
        theta, step = generator.uniform(-1, 1, 2), generator.normal(size=2) * 10.0 ** generator.uniform(-4, -0.5)
        (g, h), (there, _) = (derivatives(demand, phi, observed, at) for at in (theta, theta + step))
        most = solver.drift(bend(demand, phi), float(np.linalg.norm(step)), float(step @ h @ step))
        assert np.linalg.norm(there - g - h @ step) <= most + 1e-13 * np.linalg.norm(g)


def test_the_drift_is_what_counts_of_one_customer_do() -> None:
    """There the bound is reached, but for its chord, so a smaller one would be wrong."""
    slope = 2.0
    # F = e^(slope theta) / slope at theta = 0, where g = 1, H = slope, and a step of b / slope.
    for b in (0.01, 0.1, 0.5, 1.0):
        true = math.exp(b) - 1.0 - b
        found = solver.drift(slope, b / slope, slope * (b / slope) ** 2)
        assert true <= found <= 1.03 * true
    assert solver.drift(2.0, 0.51, 1.0) == math.inf
    assert solver.drift(2.0, math.nan, 1.0) == math.inf


def foreseen(demand: Demand, seed: int, drift: float = 1.0) -> float:
    """By how much F(target) passes min F + the foreseen gap; `drift` plants a mistake, a share of the true bend."""
    phi, observed = records(demand, 5, seed)
    theta = np.random.default_rng(seed).uniform(-1, 1, 2)
    best = np.zeros(2)
    plain_solver.minimize(demand, phi, observed, RIDGE, np.zeros(2), theta=best)
    theta = best + 0.2 * (theta - best)
    g, h = derivatives(demand, phi, observed, theta)
    target = np.empty(2)
    assert solver.constrained_step(theta, g, h, RADIUS, target, np.empty((5, 2)))
    gap = solver.foreseen_gap(theta, g, h, target, drift * bend(demand, phi), RIDGE, np.empty((5, 2)))
    line = target - best
    nodes, weights = np.polynomial.legendre.leggauss(20)  # F(target) - F(best), without cancellation
    slopes = [line @ derivatives(demand, phi, observed, best + (x + 1) / 2 * line)[0] for x in nodes]
    return float(np.dot(weights, slopes) / 2 - gap)


def test_the_foreseen_gap_bounds_the_true_one() -> None:
    excess = [foreseen(FAMILIES[seed % 3], seed) for seed in range(60)]
    assert max(excess) <= TOLERANCE


def test_a_foreseen_gap_without_drift_is_caught() -> None:
    excess = [foreseen(FAMILIES[seed % 3], seed, drift=0.0) for seed in range(60)]
    assert max(excess) > 1e-6


@pytest.mark.parametrize("every", [2, 3, 9])
def test_a_sample_is_the_first_of_every_so_many_blocks(every: int) -> None:
    demand, theta = Logistic(), np.array([0.4, -0.7])
    phi, observed = records(demand, 5 * likelihood.BLOCK + 7, 8)
    chosen = np.arange(phi.shape[1]) // likelihood.BLOCK % every == 0
    g, h, work = np.empty(2), np.empty((2, 2)), solver.scratch(2)
    likelihood.score(demand.family, demand.slope, phi, observed, phi.shape[1], theta, g, h, work, every)
    expected, expected_2 = derivatives(demand, phi[:, chosen], observed[chosen], theta)
    np.testing.assert_allclose(g, expected - RIDGE * theta, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(h, expected_2 - RIDGE * np.eye(2), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("where", [0, 127, 128, 299])
def test_the_longest_feature_is_found_wherever_it_is(where: int) -> None:
    phi, _ = records(Logistic(), 320, 9)
    phi[:, where], phi[:, 300:] = [3.0, 4.0], 100.0
    assert likelihood.longest(phi, 300, solver.scratch(2)) == 5.0


def many(monkeypatch: Any) -> int:
    """Records that count as many."""
    if COMPILED:
        return 70_000
    monkeypatch.setattr(solver, "_SAMPLE", 4)
    monkeypatch.setattr(solver, "_MANY", 8)
    return 8 * solver.BLOCK + 50


@pytest.mark.parametrize("demand", FAMILIES)
@pytest.mark.parametrize("tilt", [0.0, 3.0, 1e6])
def test_many_records_have_the_same_minimizer(demand: Demand, tilt: float, monkeypatch: Any) -> None:
    phi, observed = records(demand, many(monkeypatch), 4)
    w = tilt * math.sqrt(phi.shape[1]) * np.array([1.0, -2.0])
    ours, theirs = np.array([0.3, 0.1]), np.zeros(2)
    args = demand.family, demand.slope, phi, observed, phi.shape[1], 900.0, w, ours, solver.scratch(2)
    assert solver.minimize(*args) <= TOLERANCE
    assert plain_solver.minimize(demand, phi, observed, 900.0, w, theta=theirs) <= TOLERANCE
    assert np.linalg.norm(ours - theirs) <= 2 * math.sqrt(2 * TOLERANCE / 900.0)


def test_a_sample_points_closer_than_the_newton_point(monkeypatch: Any) -> None:
    demand = Logistic()
    phi, observed = records(demand, many(monkeypatch), 5)
    best, theta, target = np.zeros(2), np.array([0.1, 0.1]), np.empty(2)
    plain_solver.minimize(demand, phi, observed, RIDGE, np.zeros(2), theta=best)
    theta += best
    g, h = derivatives(demand, phi, observed, theta)
    solver.constrained_step(theta, g, h, RADIUS, target, np.empty((5, 2)))
    newton = target.copy()
    args = demand.family, demand.slope, phi, observed, phi.shape[1], theta, g, h, target
    solver._anticipate(*args, solver.scratch(2), np.empty((11, 2)))
    assert np.linalg.norm(target - best) < 0.3 * np.linalg.norm(newton - best)


def test_a_sample_without_curvature_points_nowhere(monkeypatch: Any) -> None:
    demand = Logistic()
    phi, observed = records(demand, many(monkeypatch), 6)
    target = np.array([0.5, 0.5])
    args = demand.family, demand.slope, phi, observed, phi.shape[1], np.zeros(2), np.zeros(2), -1e9 * np.eye(2), target
    solver._anticipate(*args, solver.scratch(2), np.empty((11, 2)))
    assert target.tolist() == [0.5, 0.5]
