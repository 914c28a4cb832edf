"""Sensitivity as the code has it: neighbours go through the real code without noise, and what comes out is compared.

The formulas have tests of their own (tests/accounting); here records are clipped, cut, rounded, filtered and summed.
"""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.demand.protocol import Demand
from hushprice.numerics.jit import COMPILED
from hushprice.policies.paper import tolerance
from hushprice.policies.paper.private.solver import minimize, score, scratch
from hushprice.privacy import sensitivity
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.events import LAYOUTS, CovarianceStream, grid_of
from hushprice.privacy.loss import loss_of
from hushprice.privacy.sensitivity import RADIUS
from hushprice.privacy.streams import toeplitz, tree
from hushprice.records import Records
from hushprice.research.audits.linear_gaussian import NeighbouringStreams, mu_of_pair, noise_map, releaser_of
from hushprice.types import FloatArray

STEPS = 7
KINDS = list(itertools.product((tree, toeplitz), LAYOUTS, (False, True)))
HUGE = 1e308 if COMPILED else 1e150  # un-compiled, NumPy warns where a square overflows
NUMBER = st.floats(-1.0, 1.0) | st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1.0, -1.0, 5e-324, 1e-160, HUGE, -HUGE])
FEATURES = st.tuples(NUMBER, NUMBER)
ANGLE = st.floats(0.0, 2 * math.pi)
FAMILIES: list[Demand] = [Logistic(), Logistic(slope=1.0), Gaussian(noise=0.5), Poisson(slope=1.5)]
EXAMPLES = 60 if COMPILED else 10


@functools.cache
def stream(kind: int) -> tuple[CovarianceStream, Any, FloatArray]:
    make, layout, live = KINDS[kind]
    grid = grid_of(0.1) if live else 0.0
    event = CovarianceStream(strategy=make(STEPS + 1), steps=STEPS, dimension=2, noise=0.1, layout=layout, grid=grid)
    build = releaser_of(event)
    return event, build, noise_map(build, event)


@settings(max_examples=2 * EXAMPLES)
@given(st.integers(0, len(KINDS) - 1), FEATURES, FEATURES, FEATURES, st.integers(0, STEPS - 1))
@example(0, (1.0, 0.0), (0.0, 1.0), (0.3, 0.4), 0)
@example(7, (HUGE, 1.0), (-0.7, 0.7), (1.0, 1e-9), 0)
def test_a_record_moves_the_whole_stream_by_what_was_claimed(
    kind: int, phi: tuple[float, float], other: tuple[float, float], rest: tuple[float, float], position: int
) -> None:
    """Both encoders, both layouts, both arrangements, both adjacencies; norms from subnormal to overflowing."""
    event, build, matrix = stream(kind)
    features = np.tile(np.array(rest), (STEPS, 1))
    features[position] = phi
    for adjacency, replaced in ((Adjacency.REPLACE_ONE, np.array(other)), (Adjacency.ZERO_OUT, np.zeros(2))):
        claimed = loss_of(event, 1, adjacency).mu * (1.0 + 1e-9)
        there = NeighbouringStreams(features, position, replaced)
        assert mu_of_pair(build, there, matrix) <= claimed
        assert mu_of_pair(build, NeighbouringStreams(there.second, position, features[position]), matrix) <= claimed


def scores(demand: Demand, phi: Any, bought: float, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Gradient and Hessian of one record's loss, as the solver computes them, the record held as records are."""
    records = Records(2, demand.bound, sensitivity.lowest(demand))
    records.append(np.array(phi), bought)
    gradient, hessian = np.empty(2), np.empty((2, 2))
    score(demand.family, demand.slope, records.phi, records.demand, 1, theta, gradient, hessian, scratch(2))
    return gradient, hessian


@pytest.mark.parametrize("demand", FAMILIES, ids=lambda demand: f"{demand.name}-{demand.slope}")
@settings(max_examples=EXAMPLES)
@given(FEATURES, FEATURES, st.floats(-50, 50), st.floats(-50, 50), ANGLE, st.floats(0.0, RADIUS))
@example((0.45, 0.89), (0.45, -0.89), 0.0, 0.0, 0.0, RADIUS)
@example((1.0, 0.0), (-1.0, 0.0), -50.0, 50.0, 0.0, RADIUS)
def test_gradients_and_hessians_stay_within_their_bounds(
    demand: Demand, phi: Any, other: Any, bought: float, other_bought: float, angle: float, length: float
) -> None:
    bounds = sensitivity.of_loss(demand)
    theta = length * np.array([math.cos(angle), math.sin(angle)])
    (first, bend), (second, _) = scores(demand, phi, bought, theta), scores(demand, other, other_bought, theta)
    tiny = 1.0 + 1e-12
    assert np.linalg.norm(first - second) <= bounds.difference * tiny
    assert np.linalg.norm(first) <= bounds.gradient * tiny  # zeroed out
    assert np.linalg.eigvalsh(bend)[-1] <= bounds.curvature * tiny
    assert np.linalg.eigvalsh(bend)[0] >= -1e-9 * bounds.curvature


@pytest.mark.beyond_coverage
@pytest.mark.parametrize("demand", FAMILIES, ids=lambda demand: f"{demand.name}-{demand.slope}")
def test_the_bounds_are_not_far_from_what_the_code_reaches(demand: Demand) -> None:
    """A search over pairs comes within a tenth of both: the property above would notice a bound much too small."""
    bounds = sensitivity.of_loss(demand)
    theta, most, widest = np.array([RADIUS, 0.0]), 0.0, 0.0
    low, high = sensitivity.lowest(demand), demand.bound
    around = np.linspace(0.0, math.pi, 61)
    for h, bought in itertools.product(around, (low, high)):
        one, _ = scores(demand, (math.cos(h), math.sin(h)), bought, theta)
        most = max(most, float(np.linalg.norm(one)))
        for other_bought, side in itertools.product((low, high), (1.0, -1.0)):
            other, _ = scores(demand, (side * math.cos(h), -math.sin(h)), other_bought, theta)
            widest = max(widest, float(np.linalg.norm(one - other)))
    assert 0.99 * bounds.gradient < most <= bounds.gradient * (1.0 + 1e-12)
    if demand.name == "logistic":
        assert 0.91 * bounds.difference < widest <= bounds.difference


@given(FEATURES, st.floats(allow_nan=False, allow_infinity=False), st.floats(0.1, 5.0))
def test_every_record_is_held_to_its_bounds(phi: Any, bought: float, bound: float) -> None:
    for lowest in (None, 0.0):
        records = Records(2, bound, lowest)
        held = records.append(np.array(phi), bought)
        assert float(held @ held) <= 1.0 + 4e-16 * 2
        assert (0.0 if lowest == 0.0 else -bound) <= records.demand[0] <= bound
        if np.linalg.norm(np.array(phi) / max(1.0, *np.abs(phi))) * max(1.0, *np.abs(phi)) <= 1.0 - 1e-12:
            np.testing.assert_array_equal(held, phi)


def crowd(count: int, random: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Customers who are all the same: allowed, and as badly conditioned as data can be."""
    angle, size = random.uniform(0.0, 2 * math.pi), random.uniform(0.3, 1.0)
    phi = size * np.array([[math.cos(angle)], [math.sin(angle)]])
    return np.tile(phi, count), np.full(count, random.uniform(0.05, 0.95))


@pytest.mark.skipif(not COMPILED, reason="a million records")
def test_sums_round_by_no_more_than_the_distance_allows() -> None:
    """The gradient of a million equal records against a million times one, in exact arithmetic."""
    count, demand, random = 10**6, Logistic(), np.random.default_rng(0)
    bounds = sensitivity.of_loss(demand)
    # What tolerance.distance allows the sums, before it divides by the ridge.
    additions = 32 + tolerance.CHUNK // tolerance.LANES + count // tolerance.CHUNK
    allowed = 2.0**-53 * count * (bounds.gradient * additions + 4.0 * RADIUS * bounds.curvature)
    gradient, hessian, work = np.empty(2), np.empty((2, 2)), scratch(2)
    for _ in range(6):
        phi, bought = crowd(count, random)
        theta = random.uniform(-1.0, 1.0, 2)
        score(demand.family, demand.slope, phi, bought, 1, theta, gradient, hessian, work)
        one = [Fraction(float(value)) for value in gradient]
        score(demand.family, demand.slope, phi, bought, count, theta, gradient, hessian, work)
        for total, each in zip(gradient, one, strict=True):
            assert abs(float(Fraction(float(total)) - count * each)) <= allowed


@pytest.mark.skipif(not COMPILED, reason="thousands of records, many times")
def test_a_fit_is_never_refused() -> None:
    """A refusal depends on records and on the tilt, and no accountant covers it: equal customers, on the sphere too."""
    demand, random, spheres = Logistic(), np.random.default_rng(1), 0
    for (ridge, noise), _ in itertools.product(((200.0, 250.0), (10.0, 50.0), (1.0, 20.0)), range(40)):
        phi, bought = crowd(10_000, random)
        theta, tilt = np.zeros(2), noise * random.normal(size=2)
        gap = minimize(demand.family, demand.slope, phi, bought, 10_000, ridge, tilt, theta, scratch(2))
        assert gap <= tolerance.TOLERANCE
        spheres += int(np.linalg.norm(theta) > RADIUS - 1e-9)
    assert spheres > 40
