"""The estimate's audit: its density is a density, sound code is within its bounds, and mutants are found out."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from hushprice import open_pricer
from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.demand.protocol import Demand
from hushprice.numerics import tape
from hushprice.numerics.jit import COMPILED
from hushprice.policies.paper import tolerance
from hushprice.policies.paper.private import solver
from hushprice.privacy import sensitivity
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.events import PerturbedEstimate, grid_of
from hushprice.privacy.sensitivity import RADIUS
from hushprice.research.audits import objective_density
from hushprice.research.audits.finding import Measurement
from hushprice.research.audits.objective_density import (
    NeighbouringDatabases,
    ReleaseSample,
    ScriptedTilts,
    audit_estimate,
    geometry,
    log_density,
    multipliers,
    releaser_of,
    sample,
)
from hushprice.research.audits.white_box import stress_pairs, white_box, worst_pair
from hushprice.types import FloatArray

DRAWS = 150 if COMPILED else 6
LOGISTIC = Logistic()


def event(
    noise: float, ridge: float, *, dimension: int = 2, demand: Demand = LOGISTIC, live: bool = False
) -> PerturbedEstimate:
    losses = sensitivity.of_loss(demand)
    grid, output = (grid_of(noise), grid_of(1e-5)) if live else (0.0, 0.0)
    return PerturbedEstimate(
        dimension=dimension,
        noise=noise,
        ridge=ridge,
        gradient=losses.gradient,
        difference=losses.difference,
        curvature=losses.curvature,
        distance=tolerance.distance(ridge=ridge, grid=grid, steps=2000, dimension=dimension, losses=losses),
        output_noise=1e-5,
        grid=grid,
        output_grid=output,
    )


def few(dimension: int, demand: Demand = LOGISTIC) -> tuple[FloatArray, FloatArray]:
    random = np.random.default_rng(6)
    features = random.normal(size=(dimension, 8))
    return features / np.maximum(1.0, np.linalg.norm(features, axis=0)), random.random(8) * demand.bound


def logs(sized: PerturbedEstimate, world: Any, thetas: FloatArray, k: FloatArray) -> FloatArray:
    """ln density with the constants that the audit leaves out: the normal law's, and the sphere's radius."""
    constant = 0.5 * sized.dimension * math.log(2 * math.pi * sized.noise**2)
    shape = log_density(sized, sized.noise, thetas, k, geometry(LOGISTIC, world, thetas))
    return shape - constant + np.where(k > 0.0, math.log(RADIUS), 0.0)


def test_the_density_integrates_to_one_in_one_dimension() -> None:
    sized, world = event(20.0, 2.0, dimension=1), few(1)
    inside = np.linspace(-RADIUS, RADIUS, 20_001)[:, None]
    mass = np.trapezoid(np.exp(logs(sized, world, inside, np.zeros(inside.size))), inside[:, 0])
    outside = 0.0
    k = np.linspace(1e-12, 100.0, 20_001)
    for end in (-RADIUS, RADIUS):
        outside += np.trapezoid(np.exp(logs(sized, world, np.full((k.size, 1), end), k)), k)
    assert outside > 0.2
    assert mass + outside == pytest.approx(1.0, abs=1e-6)


def test_the_density_integrates_to_one_in_two_dimensions() -> None:
    sized, world = event(20.0, 2.0), few(2)
    angles = np.linspace(0.0, 2 * math.pi, 120, endpoint=False)
    nodes, weights = np.polynomial.legendre.leggauss(60)
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    inside = outside = 0.0
    for node, weight in zip(nodes, weights, strict=True):
        radius = RADIUS * 0.5 * (node + 1.0)
        thetas = radius * directions
        inside += 0.5 * RADIUS * weight * radius * np.mean(np.exp(logs(sized, world, thetas, np.zeros(120))))
        k = np.full(120, 50.0 * (node + 1.0))
        outside += 50.0 * weight * RADIUS * np.mean(np.exp(logs(sized, world, RADIUS * directions, k)))
    assert 2 * math.pi * outside > 0.2
    assert 2 * math.pi * (inside + outside) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.skipif(not COMPILED, reason="thousands of fits")
def test_releases_follow_the_density() -> None:
    """1-D: a Kolmogorov test of 1500 seeded releases inside, against the density; the wrong ridge is rejected."""
    sized, world = event(20.0, 2.0, dimension=1), few(1)
    rows = np.random.default_rng(3).normal(size=(1500, 1))
    thetas = sample(releaser_of(sized, LOGISTIC), sized, LOGISTIC, world, rows).thetas[:, 0]
    within = thetas[np.abs(thetas) < RADIUS - 1e-9]
    assert 300 < within.size < 1400
    grid = np.linspace(-RADIUS, RADIUS, 4001)
    for told, fits in ((sized, True), (replace(sized, ridge=40.0), False)):
        density = np.exp(logs(told, world, grid[:, None], np.zeros(grid.size)))
        law = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
        pvalue = stats.kstest(within, lambda x, law=law: np.interp(x, grid, law / law[-1])).pvalue
        assert pvalue > 1e-3 if fits else pvalue < 1e-6


def held(findings: list[Measurement]) -> list[bool]:
    return [finding.holds for finding in findings]


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize(
    ("noise", "ridge", "spheres"), [(10.0, 210.0, (0.0, 0.0)), (250.0, 210.0, (0.05, 0.7)), (600.0, 20.0, (0.9, 1.0))]
)
def test_sound_code_holds_inside_and_on_the_sphere(
    noise: float, ridge: float, spheres: tuple[float, float], adjacency: Adjacency
) -> None:
    sized = event(noise, ridge)
    pairs = stress_pairs(sized, LOGISTIC, adjacency)
    findings = audit_estimate(sized, LOGISTIC, pairs, adjacency, draws=DRAWS)
    assert all(held(findings)), findings
    total = 2 * len(pairs) * DRAWS
    assert f"{total} releases" in findings[0].detail
    on_sphere = int(findings[0].detail.split(",")[1].split()[0]) / total
    assert spheres[0] <= on_sphere <= spheres[1] or not COMPILED


@pytest.mark.parametrize("demand", [Gaussian(noise=0.5), Poisson(slope=1.5)])
@pytest.mark.parametrize("adjacency", Adjacency)
def test_other_families_and_sizes_hold(demand: Demand, adjacency: Adjacency) -> None:
    for dimension in (1, 3):
        sized = event(60.0, 40.0, dimension=dimension, demand=demand, live=True)
        pairs = stress_pairs(sized, demand, adjacency)[:4]
        findings = audit_estimate(sized, demand, pairs, adjacency, draws=DRAWS // 3)
        assert all(held(findings)), findings


def extremal(size: int = 1500) -> NeighbouringDatabases:
    """Two customers on either side of where theta points: their gradients differ by 5.9 of the 7.08 allowed."""
    h = math.radians(63)
    base = np.tile([[1.0], [0.0]], size if COMPILED else size // 10)
    features = np.column_stack([base, [math.cos(h), math.sin(h)]])
    return NeighbouringDatabases(
        features, np.append(np.ones(base.shape[1]), 0.0), np.array([math.cos(h), -math.sin(h)]), 0.0
    )


class Told:
    """A source that asks its own for another scale."""

    def __init__(self, inner: Any, factor: float) -> None:
        self.inner, self.factor = inner, factor
        self.simulated = inner.simulated

    def add(self, values: FloatArray, noise: float, stream: int, period: int) -> FloatArray:
        return self.inner.add(values, self.factor * noise, stream, period)


def test_half_the_noise_is_found_out() -> None:
    sized = event(10.0, 210.0)
    for factor, fine in ((1.0, True), (0.5, False), (0.8, False), (0.0, False)):
        build = lambda source, factor=factor: releaser_of(sized, LOGISTIC)(Told(source, factor))  # noqa: E731
        findings = audit_estimate(sized, LOGISTIC, [extremal()], Adjacency.REPLACE_ONE, draws=DRAWS, build=build)
        assert findings[1].holds is fine or not COMPILED
        assert findings[3].holds is fine  # the output noise shrank with it
    assert findings[1].found == math.inf  # the last had no tilt at all: everything is told


@pytest.mark.skipif(not COMPILED, reason="thousands of fits")
def test_delta_itself_is_measured() -> None:
    """With a third of the noise the measured delta passes the claimed one; with all of it it stays below."""
    sized = event(10.0, 210.0)
    for factor, fine in ((1.0, True), (1 / 3, False)):
        build = lambda source, factor=factor: releaser_of(sized, LOGISTIC)(Told(source, factor))  # noqa: E731
        findings = audit_estimate(sized, LOGISTIC, [extremal(400)], Adjacency.REPLACE_ONE, draws=1500, build=build)
        assert findings[2].holds is fine
        assert findings[0].holds


def test_a_sensitivity_too_small_is_found_out() -> None:
    sized = replace(event(10.0, 210.0), difference=3.5)
    findings = audit_estimate(sized, LOGISTIC, [extremal()], Adjacency.REPLACE_ONE, draws=DRAWS)
    assert not findings[1].holds or not COMPILED
    gone = NeighbouringDatabases(extremal().features, extremal().demands, np.zeros(2), 0.0)
    sized = replace(event(10.0, 210.0), gradient=1.0)
    assert not audit_estimate(sized, LOGISTIC, [gone], Adjacency.ZERO_OUT, draws=DRAWS)[1].holds or not COMPILED


def test_a_ridge_or_a_curvature_accounted_wrongly_is_found_out() -> None:
    """With much noise the determinant makes the loss: an event that says less of it than there is does not hold."""
    sized = event(300.0, 210.0)
    pair = NeighbouringDatabases(np.array([[1.0], [0.0]]), np.array([1.0]), np.zeros(2), 0.0)
    for told, fine in ((sized, True), (replace(sized, curvature=0.4), False)):
        findings = audit_estimate(told, LOGISTIC, [pair], Adjacency.ZERO_OUT, draws=max(DRAWS, 100))
        assert findings[1].holds is fine
    less = releaser_of(replace(sized, ridge=150.0), LOGISTIC)
    findings = audit_estimate(sized, LOGISTIC, [pair], Adjacency.ZERO_OUT, draws=DRAWS, build=less)
    assert not findings[0].holds


@pytest.mark.parametrize("ridge", [210.0, 2.0])
def test_a_solver_that_stops_early_is_found_out(ridge: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inside the ball and, with the small ridge, on the sphere: 1e-6 off the minimizer is far beyond `distance`."""
    sized, real = event(10.0, ridge), solver.minimize
    pair = NeighbouringDatabases(*few(2), np.array([0.0, 1.0]), 1.0)
    assert audit_estimate(sized, LOGISTIC, [pair], Adjacency.REPLACE_ONE, draws=DRAWS)[0].holds

    def early(*given: Any) -> float:
        real(*given)
        angle = 1e-6
        given[7][:] = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]) @ given[7]
        return 0.0

    monkeypatch.setattr(solver, "minimize", early)
    findings = audit_estimate(sized, LOGISTIC, [pair], Adjacency.REPLACE_ONE, draws=DRAWS)
    assert not findings[0].holds


def test_multipliers_are_those_of_the_ball() -> None:
    """Without records the minimizer is -w / ridge, held to the sphere: |w| = (ridge + k) R there."""
    sized = event(100.0, 10.0)
    world = np.zeros((2, 1)), np.zeros(1)
    rows = np.array([[3.0, 4.0], [0.01, 0.0]])
    drawn = sample(releaser_of(sized, LOGISTIC), sized, LOGISTIC, world, rows)
    k = multipliers(sized, drawn, geometry(LOGISTIC, world, drawn.thetas))
    np.testing.assert_allclose(k, [500.0 / RADIUS - 10.0, 0.0], rtol=1e-9)
    np.testing.assert_allclose(drawn.thetas[1], [-0.1, 0.0], atol=1e-7)


@pytest.mark.skipif(not COMPILED, reason="hundreds of fits")
@pytest.mark.parametrize("adjacency", Adjacency)
def test_climbing_finds_a_pair_that_is_told_apart_better(adjacency: Adjacency) -> None:
    sized = event(10.0, 210.0)
    start = stress_pairs(sized, LOGISTIC, adjacency)[0]
    found = worst_pair(sized, LOGISTIC, start, adjacency, tries=25, draws=60)
    if adjacency is Adjacency.ZERO_OUT:
        assert not found.other.any()
    excess = []
    for pair in (start, found):
        findings = audit_estimate(sized, LOGISTIC, [pair], adjacency, draws=DRAWS)
        assert all(held(findings)), findings
        excess.append(findings[1].found)
    assert excess[1] > excess[0]


def test_white_box_reads_a_policy() -> None:
    pricer = open_pricer(policy="paper", horizon=200, contexts=1, epsilon=2.0)
    for live in (True, False):
        findings = white_box(pricer.policy, LOGISTIC, steps=7, draws=max(4, DRAWS // 10), live=live)
        assert all(held(findings)), findings
        assert [finding.name.split(" ")[0] for finding in findings] == ["covariance"] + 4 * ["estimate:"]
        assert findings[0].found == pytest.approx(findings[0].allowed, rel=1e-6)


def test_white_box_has_nothing_to_say_where_nothing_is_claimed() -> None:
    pricer = open_pricer(horizon=50, contexts=1, policy="nonprivate")
    assert white_box(pricer.policy, LOGISTIC) == []


def test_the_script_of_tilts_draws_nothing_else() -> None:
    source = ScriptedTilts(simulated=True, dimension=2)
    source.row = np.array([1.0, -1.0])
    np.testing.assert_array_equal(source.add(np.zeros(2), 3.0, tape.ESTIMATE_NOISE, 1), [3.0, -3.0])
    np.testing.assert_array_equal(source.add(np.zeros(2), 4.0, tape.OUTPUT_NOISE, 1), [0.0, 0.0])
    assert source.asked == {tape.ESTIMATE_NOISE: 3.0, tape.OUTPUT_NOISE: 4.0}
    with pytest.raises(NotImplementedError):
        source.uniform(tape.EXPLORATION, 1)
    assert objective_density.FALSE_ALARM * 60 < 1e-4
    assert ReleaseSample(np.zeros((1, 2)), np.zeros((1, 2)), 1.0, 0.0).output_noise == 0.0
