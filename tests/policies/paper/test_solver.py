"""PrivateMLE's solver: the right minimizer, a certificate that never lies, and a refusal where there is none.

Oracles: scipy's SLSQP on the same objective, the plain-Python solver, and the first-order conditions of the ball.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, special

from hushprice.demand import family
from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.demand.protocol import Demand
from hushprice.numerics.jit import COMPILED
from hushprice.policies.paper.private import likelihood, plain_solver, solver
from hushprice.policies.paper.tolerance import CHUNK, TOLERANCE
from hushprice.privacy.sensitivity import RADIUS

property_test = settings(deadline=None, derandomize=True, max_examples=200 if COMPILED else 25)
no_numbers = pytest.mark.filterwarnings("ignore:invalid value")  # NumPy's remark on NaN in un-compiled arithmetic
FAMILIES: list[Demand] = [Logistic(), Gaussian(noise=0.5), Poisson(slope=2.0)]


class Problem(NamedTuple):
    """F(theta) = sum_t slope (m(z_t) - y_t z_t) + ridge/2 ||theta||^2 + tilt'theta, written with scipy alone."""

    demand: Demand
    phi: np.ndarray  # (d, records)
    observed: np.ndarray
    ridge: float
    tilt: np.ndarray

    def value(self, theta: np.ndarray) -> float:
        z, slope = theta @ self.phi, self.demand.slope
        partition = {
            "logistic": lambda: -special.log_expit(-slope * z) / slope,
            "gaussian": lambda: 0.5 * z * z,
            "poisson": lambda: np.exp(np.minimum(slope * z, 99.0)) / slope,  # SLSQP strays far from the ball
        }[self.demand.name]()
        loss = slope * np.sum(partition - self.observed * z)
        return float(loss + 0.5 * self.ridge * theta @ theta + self.tilt @ theta)

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        z, slope = theta @ self.phi, self.demand.slope
        mean = {
            "logistic": lambda: special.expit(slope * z),
            "gaussian": lambda: z,
            "poisson": lambda: np.exp(np.minimum(slope * z, 99.0)),
        }[self.demand.name]()
        return slope * self.phi @ (mean - self.observed) + self.ridge * theta + self.tilt

    def solve(self, start: np.ndarray | None = None) -> tuple[np.ndarray, float]:
        d, count = self.phi.shape
        theta = np.zeros(d) if start is None else start.copy()
        gap = solver.minimize(
            self.demand.family,
            self.demand.slope,
            self.phi,
            self.observed,
            count,
            self.ridge,
            self.tilt,
            theta,
            solver.scratch(d),
        )
        return theta, gap


def problem(
    demand: Demand, *, seed: int = 1, count: int = 150, d: int = 3, ridge: float = 5.0, tilt: float = 0.0
) -> Problem:
    generator = np.random.default_rng(seed)
    phi = generator.uniform(-1, 1, (d, count)) / math.sqrt(d)
    theta = generator.normal(size=d)
    z = phi.T @ (theta / np.linalg.norm(theta))
    observed = demand.sample(z, generator.random(count), generator.random(count))
    return Problem(demand, phi, observed, ridge, tilt * generator.normal(size=d))


def by_slsqp(case: Problem) -> np.ndarray:
    """SLSQP's answer, pulled back into the ball: it breaks its constraint by a rounding error or more."""
    found = optimize.minimize(
        case.value,
        np.zeros(len(case.phi)),
        jac=case.gradient,
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda t: RADIUS**2 - t @ t, "jac": lambda t: -2 * t},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return found.x * min(1.0, RADIUS / np.linalg.norm(found.x))


@pytest.mark.parametrize("demand", FAMILIES)
@pytest.mark.parametrize("tilt", [0.0, 30.0, 3000.0])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_minimizer_is_scipys(demand: Demand, tilt: float, d: int) -> None:
    case = problem(demand, d=d, tilt=tilt)
    theta, gap = case.solve()
    assert gap <= TOLERANCE
    assert np.linalg.norm(theta) <= RADIUS * (1 + 1e-15)
    rival = by_slsqp(case)
    scale = 1.0 + abs(case.value(theta))
    assert case.value(theta) <= case.value(rival) + gap + 1e-13 * scale
    np.testing.assert_allclose(theta, rival, atol=3e-5)
    if tilt == 3000.0:
        assert np.linalg.norm(theta) == pytest.approx(RADIUS, rel=1e-12)  # these solutions lie on the sphere


@pytest.mark.parametrize("demand", FAMILIES)
@pytest.mark.parametrize("tilt", [0.0, 100.0, 1e4, 1e7])
def test_first_order_conditions(demand: Demand, tilt: float) -> None:
    """g + k theta = 0 with k >= 0, and k = 0 inside the ball."""
    for seed in range(3):
        case = problem(demand, seed=seed, tilt=tilt)
        theta, _ = case.solve()
        g = case.gradient(theta)
        k = max(0.0, -(g @ theta) / (theta @ theta))
        assert np.linalg.norm(g + k * theta) <= 1e-4 + 1e-12 * np.linalg.norm(case.tilt)
        assert k * (RADIUS - np.linalg.norm(theta)) <= 1e-4 + 1e-12 * np.linalg.norm(case.tilt)


@pytest.mark.parametrize("demand", FAMILIES)
@pytest.mark.parametrize("tilt", [0.0, 30.0, 3000.0])
def test_the_plain_solver_gives_the_same(demand: Demand, tilt: float) -> None:
    case = problem(demand, tilt=tilt)
    theta, _ = case.solve()
    plain = np.zeros(3)
    gap = plain_solver.minimize(demand, case.phi, case.observed, case.ridge, case.tilt, theta=plain)
    assert gap <= TOLERANCE
    np.testing.assert_allclose(plain, theta, atol=2 * math.sqrt(2 * TOLERANCE / case.ridge))


def test_no_records_leave_ridge_and_tilt() -> None:
    for tilt, expected in [([3.0, -4.0], [-0.6, 0.8]), ([30.0, -40.0], [-1.2, 1.6]), ([0.0, 0.0], [0.0, 0.0])]:
        case = Problem(Logistic(), np.zeros((2, 0)), np.zeros(0), 5.0, np.array(tilt))
        theta, gap = case.solve()
        np.testing.assert_allclose(theta, expected, atol=1e-12)
        assert gap <= TOLERANCE


@pytest.mark.parametrize("count", [0, 1, 127, 128, 129, 300])
@pytest.mark.parametrize("demand", FAMILIES)
def test_score_is_the_gradient_and_the_hessian(demand: Demand, count: int) -> None:
    case = problem(demand, count=max(count, 1))
    d, theta = 3, np.array([0.3, -0.8, 0.5])
    gradient, hessian = np.empty(d), np.empty((d, d))
    solver.score(
        demand.family,
        demand.slope,
        case.phi,
        case.observed,
        count,
        theta,
        gradient,
        hessian,
        solver.scratch(d),
    )
    phi, z = case.phi[:, :count], theta @ case.phi[:, :count]
    mean = np.array([family.derivatives(demand.family, demand.slope, t)[:2] for t in z]).reshape(-1, 2).T
    np.testing.assert_allclose(gradient, demand.slope * phi @ (mean[0] - case.observed[:count]), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(hessian, demand.slope * (phi * mean[1]) @ phi.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(hessian, hessian.T)


def test_sums_are_added_in_a_fixed_order_whatever_the_vector_units() -> None:
    """Bit for bit the same as lanes written out: record i goes to sum i mod 16 and nothing is reassociated."""
    generator = np.random.default_rng(3)
    left, right = generator.normal(size=(2, likelihood.BLOCK))
    sums = generator.normal(size=likelihood.LANES)
    expected = sums.copy()
    for i in range(likelihood.BLOCK):
        expected[i % likelihood.LANES] += left[i] * right[i]
    found = np.concatenate([sums, np.zeros(likelihood.LANES)])
    likelihood._accumulate(right, left, np.zeros(likelihood.BLOCK), np.zeros(likelihood.BLOCK), found)
    np.testing.assert_array_equal(found[: likelihood.LANES], expected)
    total = 0.0
    for lane in expected:
        total += lane
    assert likelihood._total(found, 0) == total


def scored(phi: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Gradient and upper triangle of the Hessian at a fixed point, in one array."""
    d = len(phi)
    gradient, hessian = np.full(d, math.nan), np.full((d, d), math.nan)
    theta = np.linspace(-0.5, 0.8, d)
    solver.score(Logistic().family, 4.0, phi, observed, observed.size, theta, gradient, hessian, solver.scratch(d))
    return np.concatenate([gradient, hessian[np.triu_indices(d)]])


@pytest.mark.parametrize("count", [CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 300])
def test_many_records_are_summed_chunk_by_chunk(count: int) -> None:
    """policies/paper/tolerance.py counts the roundings of exactly this order, so no sum may run longer than a chunk."""
    generator = np.random.default_rng(count)
    phi, observed = generator.uniform(-0.7, 0.7, (2, count)), generator.integers(0, 2, count).astype(float)
    expected = np.zeros(5)
    for start in range(0, count, CHUNK):
        expected += scored(phi[:, start : start + CHUNK].copy(), observed[start : start + CHUNK])
    np.testing.assert_array_equal(scored(phi, observed), expected)


@pytest.mark.parametrize("demand", FAMILIES)
@pytest.mark.parametrize("count", [37, 137])
def test_digits_do_not_depend_on_the_room_behind_the_records(demand: Demand, count: int) -> None:
    case = problem(demand, count=count)
    behind = np.full((3, 1000), math.nan)
    behind[:, :count] = case.phi
    demands = np.full(1000, math.nan)
    demands[:count] = case.observed
    theta = np.zeros(3)
    work = solver.scratch(3)
    work[:] = math.nan  # nor on what the scratch held before
    solver.minimize(demand.family, demand.slope, behind, demands, count, case.ridge, case.tilt, theta, work)
    np.testing.assert_array_equal(theta, case.solve()[0])


def test_scratch_starts_on_a_cache_line() -> None:
    for d in (1, 2, 3, 20):
        assert solver.scratch(d).ctypes.data % 64 == 0


@pytest.mark.parametrize("demand", FAMILIES)
@pytest.mark.parametrize("tilt", [0.0, 3000.0])
def test_a_warm_start_changes_the_answer_by_no_more_than_the_tolerance(demand: Demand, tilt: float) -> None:
    case = problem(demand, tilt=tilt)
    cold, _ = case.solve()
    generator = np.random.default_rng(8)
    for _ in range(5):
        start = generator.normal(size=3)
        start *= RADIUS * generator.random() / np.linalg.norm(start)
        warm, gap = case.solve(start)
        assert gap <= TOLERANCE
        assert np.linalg.norm(warm - cold) <= 2 * math.sqrt(2 * TOLERANCE / case.ridge)


@pytest.mark.parametrize("demand", FAMILIES)
@pytest.mark.parametrize("tilt", [0.0, 3000.0])
def test_a_start_outside_the_ball_is_brought_back(demand: Demand, tilt: float) -> None:
    """A released estimate carries output noise, so the next fit may start outside; far outside, for steep counts."""
    case = problem(demand, tilt=tilt)
    theta, gap = case.solve(np.array([30.0, -40.0, 120.0]))
    assert gap <= TOLERANCE
    assert np.linalg.norm(theta) <= RADIUS * (1 + 1e-15)
    assert np.linalg.norm(theta - case.solve()[0]) <= 2 * math.sqrt(2 * TOLERANCE / case.ridge)


@pytest.mark.parametrize("length", [0.0, 1e-9, 1.0, 2.0 - 1e-15, 2.0])
def test_a_start_in_the_ball_stays_where_it_is(length: float) -> None:
    theta = np.array([0.0, -length])
    solver.into_ball(theta)
    np.testing.assert_array_equal(theta, [0.0, -length])


@pytest.mark.parametrize("length", [2.0 + 1e-15, 2.1, 1e9])
def test_a_start_outside_keeps_its_direction(length: float) -> None:
    theta = length * np.array([0.6, -0.8])
    solver.into_ball(theta)
    np.testing.assert_allclose(theta, [1.2, -1.6], rtol=1e-15)


@pytest.mark.parametrize(("slope", "bound"), [(8.0, 50.0), (10.0, 1000.0)])
def test_steep_counts_converge_from_far_away(slope: float, bound: float) -> None:
    """Here full Newton steps overshoot, so the damped ones must carry the way, several in a row."""
    generator = np.random.default_rng(5)
    phi = generator.normal(size=(2, 60))
    phi /= np.maximum(1.0, np.linalg.norm(phi, axis=0))
    case = Problem(Poisson(slope=slope, bound=bound), phi, np.zeros(60), 1e-3, np.zeros(2))
    for start in ([2.0, 0.0], [-1.2, 1.6], [0.0, -2.0]):
        theta, gap = case.solve(np.array(start))
        assert gap <= TOLERANCE
        assert np.linalg.norm(case.gradient(theta)) < 1e-5


@pytest.mark.parametrize("length", [1.0, 30.0])
def test_where_full_steps_go_back_and_forth_damped_ones_arrive(length: float) -> None:
    """As many sales as refusals at every price: from the flat ends Newton's method jumps between -2 and 2 for ever."""
    phi, observed = np.full((1, 20), length), np.arange(20) % 2.0
    case = Problem(Logistic(), phi, observed, 1e-6, np.zeros(1))
    for start in (2.0, -2.0, 1.7):
        theta, gap = case.solve(np.array([start]))
        assert gap <= TOLERANCE
        assert abs(theta[0]) < 1e-6


@pytest.mark.parametrize("length", [5.0, 60.0])
def test_longer_features_than_records_may_have_converge_too(length: float) -> None:
    """Input perturbation fits features that no ball holds."""
    case = problem(Logistic(), count=80)
    stretched = case._replace(phi=length * case.phi)
    theta, gap = stretched.solve()
    assert gap <= TOLERANCE
    g = stretched.gradient(theta)
    k = max(0.0, -(g @ theta) / (theta @ theta))
    assert np.linalg.norm(g + k * theta) < 1e-4


@pytest.mark.parametrize("tilt", [1e6, 1e9])
@pytest.mark.parametrize("ridge", [1e-3, 10.0, 1e5])
def test_strong_privacy_is_not_refused_over_a_rounding_error(tilt: float, ridge: float) -> None:
    """A multiplier of 1e6 times the last bit of ||theta||^2 is past the tolerance: that bit must not count as slack."""
    for seed in range(4):
        _, gap = problem(Logistic(), seed=seed, count=20, ridge=ridge, tilt=tilt).solve()
        assert gap <= TOLERANCE


points = st.lists(st.floats(-1.0, 1.0), min_size=2, max_size=2).map(np.array)


@st.composite
def problems(draw: st.DrawFn) -> tuple[Problem, np.ndarray]:
    demand = draw(st.sampled_from(FAMILIES))
    ridge, tilt = 10.0 ** draw(st.floats(-2, 3)), 10.0 ** draw(st.floats(-2, 4))
    case = problem(demand, seed=draw(st.integers(0, 999)), count=draw(st.integers(1, 12)), d=2, ridge=ridge, tilt=tilt)
    direction, length = draw(points), draw(st.sampled_from([0.0, 0.5, 1.9, 2.0]))
    norm = np.linalg.norm(direction)
    return case, direction * (length / norm if norm > 1e-3 else 0.0)


def shortfall(case: Problem, theta: np.ndarray, gap: float) -> float:
    """By how much F(theta) - min F passes the certified gap; min F is bounded from above by any feasible point."""
    best = min(case.value(case.solve()[0]), case.value(by_slsqp(case)))
    return case.value(theta) - best - gap - 1e-11 * (1.0 + abs(case.value(theta)) + abs(best))


@property_test
@given(problems())
def test_the_certified_gap_bounds_the_true_one(drawn: tuple[Problem, np.ndarray]) -> None:
    case, theta = drawn
    gap = solver.certified_gap(theta, case.gradient(theta), case.ridge, RADIUS)
    assert shortfall(case, theta, gap) <= 0.0


@property_test
@given(problems())
def test_the_gap_bounds_the_distance_to_the_minimizer(drawn: tuple[Problem, np.ndarray]) -> None:
    case, theta = drawn
    gap = solver.certified_gap(theta, case.gradient(theta), case.ridge, RADIUS)
    exact, left = case.solve()
    slip = math.sqrt(2 * left / case.ridge)
    assert np.linalg.norm(theta - exact) <= math.sqrt(2 * gap / case.ridge) + slip + 1e-9


def ten_times_too_small(theta: np.ndarray, g: np.ndarray, ridge: float, radius: float) -> float:
    """Planted: ten times the ridge."""
    return solver.certified_gap(theta, g, 10 * ridge, radius)


def without_slack(theta: np.ndarray, g: np.ndarray, ridge: float, radius: float) -> float:
    """Planted: the multiplier is used inside the ball for free."""
    k = max(0.0, -(g @ theta) / max(theta @ theta, 1e-9))
    return float(np.sum((g + k * theta) ** 2) / (2 * (ridge + k)))


def negative_multiplier(theta: np.ndarray, g: np.ndarray, ridge: float, radius: float) -> float:
    """Planted: k may fall below zero."""
    k = max(-0.9 * ridge, -(g @ theta) / max(theta @ theta, 1e-9))
    return float(np.sum((g + k * theta) ** 2) / (2 * (ridge + k)) + 0.5 * k * (radius**2 - theta @ theta))


@pytest.mark.parametrize("planted", [ten_times_too_small, without_slack, negative_multiplier])
def test_a_certificate_that_lies_is_caught(planted: Any) -> None:
    generator = np.random.default_rng(6)
    caught = 0
    for seed in range(40):
        case = problem(FAMILIES[seed % 3], seed=seed, count=5, d=2, ridge=3.0, tilt=10.0)
        theta = generator.uniform(-1.4, 1.4, 2)
        caught += shortfall(case, theta, planted(theta, case.gradient(theta), case.ridge, RADIUS)) > 0.0
    assert caught > 0


@no_numbers
def test_the_certificate_says_nothing_off_the_ball_or_off_the_numbers() -> None:
    """Off the ball even a zero gradient proves nothing: the constrained minimizer is elsewhere."""
    still = np.zeros(2)
    assert solver.certified_gap(np.array([2.0, 0.1]), still, 1.0, RADIUS) == math.inf
    assert solver.certified_gap(np.array([2.0, 0.0]), still, 1.0, RADIUS) == 0.0
    assert solver.certified_gap(np.array([math.nan, 0.0]), still, 1.0, RADIUS) == math.inf
    assert solver.certified_gap(still, np.array([math.nan, 0.0]), 1.0, RADIUS) == math.inf
    assert solver.certified_gap(still, np.array([math.inf, 0.0]), 1.0, RADIUS) == math.inf


@no_numbers
@pytest.mark.parametrize("place", ["phi", "demand", "tilt"])
def test_nan_ends_in_an_infinite_gap(place: str) -> None:
    case = problem(Logistic(), count=10)
    broken = {"phi": case.phi.copy(), "demand": case.observed.copy(), "tilt": case.tilt.copy()}
    broken[place].flat[0] = math.nan
    for demand in FAMILIES:
        _, gap = Problem(demand, broken["phi"], broken["demand"], 1.0, broken["tilt"]).solve()
        assert gap == math.inf


@pytest.mark.skipif(COMPILED, reason="limits are compiled in")
def test_a_starved_solver_says_so(monkeypatch: Any) -> None:
    case = problem(Logistic(), tilt=30.0)
    monkeypatch.setattr(solver, "MAX_PASSES", 1)
    assert case.solve()[1] > TOLERANCE
    monkeypatch.undo()
    assert case.solve()[1] <= TOLERANCE


@pytest.mark.skipif(COMPILED, reason="limits are compiled in")
def test_a_starved_step_still_ends_in_the_ball(monkeypatch: Any) -> None:
    """Its target is then not the model's minimizer, only a feasible point; the certificate judges it like any other."""
    monkeypatch.setattr(solver, "_SHIFTS", 1)
    t = np.empty(2)
    assert solver.constrained_step(np.zeros(2), np.array([1e6, 1.0]), np.diag([1.0, 1e-3]), RADIUS, t, np.empty((5, 2)))
    assert np.linalg.norm(t) == pytest.approx(RADIUS)
    case = problem(Logistic(), tilt=3000.0)
    assert shortfall(case, *case.solve()) <= 0.0
