"""The accountant: closed forms, a second library, quadrature, simulation, brackets, and which way everything moves."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import mpmath
import numpy as np
import pytest
from dp_accounting import rdp
from dp_accounting.pld import pld_pmf, privacy_loss_distribution
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import log_ndtr, logsumexp, ndtr

from hushprice.errors import InvalidInput
from hushprice.policies.paper.report.worked import advanced, basic
from hushprice.privacy import accountant, gaussian
from hushprice.privacy.accountant import epsilon_of, log_moment, renyi_epsilon
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.loss import Loss, Radial
from hushprice.types import FloatArray

property_test = settings(deadline=None, derandomize=True)
some = settings(property_test, max_examples=30)
deltas = st.floats(-60.0, -2.0).map(lambda power: 10.0**power)
scales = st.floats(math.log(1e-3), 0.0).map(math.exp)
radials = st.builds(
    lambda count, extra, scale, degree: Radial(count, extra * scale + scale * scale / 2, scale, degree),
    st.integers(1, 30),
    st.floats(0.0, 2.0),
    scales,
    st.sampled_from([1, 2]),
)
losses = st.builds(
    lambda mu, first: Loss(mu_squared=mu * mu, radials=(first,)), st.one_of(st.just(0.0), st.floats(1e-3, 3.0)), radials
)
MIXED = Loss(mu_squared=0.09, radials=(Radial(10, 0.012, 0.05, 2),))


def length_survival(r: FloatArray, degree: int) -> FloatArray:
    """P(R > r), a second time."""
    return np.exp(-0.5 * r * r) if degree == 2 else 2.0 * ndtr(-r)


@property_test
@given(st.floats(1e-4, 30.0), deltas)
def test_gaussian_releases_alone_cost_what_the_closed_form_says(mu: float, delta: float) -> None:
    loss = Loss(mu_squared=mu * mu)
    assert epsilon_of(loss, delta) == gaussian.epsilon_of(delta, loss.mu)


def pessimistic_pld(loss: Loss, width: float) -> Any:
    """The privacy loss distribution by a second library, lengths rounded up to its grid as ours are."""
    (radial,) = loss.radials
    first = math.floor(radial.shift / width)
    last = math.ceil((radial.shift + 8.5 * radial.scale) / width)
    lengths = np.maximum(np.arange(first, last + 1) * width - radial.shift, 0.0) / radial.scale
    survival = length_survival(lengths, radial.degree)
    mass = -np.diff(survival, prepend=1.0)
    pmf = pld_pmf.DensePLDPmf(width, first, mass, float(survival[-1]), True)
    pld = privacy_loss_distribution.PrivacyLossDistribution(pmf).self_compose(radial.count)
    if loss.mu_squared > 0.0:
        pld = pld.compose(
            privacy_loss_distribution.from_gaussian_mechanism(1.0 / loss.mu, value_discretization_interval=width)
        )
    return pld


@pytest.mark.beyond_coverage
@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize(
    ("mu", "count", "extra", "scale", "width"),
    [
        (0.3, 34, 0.01, 0.02, 2e-5),
        (0.15, 34, 0.009, 0.0127, 2e-5),
        (0.5, 5, 0.05, 0.2, 1e-4),
        (0.0, 10, 0.02, 0.05, 2e-5),
    ],
)
def test_with_lengths_as_a_second_library_says(
    mu: float, count: int, extra: float, scale: float, width: float, degree: int
) -> None:
    loss = Loss(mu_squared=mu * mu, radials=(Radial(count, extra + scale * scale / 2, scale, degree),))
    pld = pessimistic_pld(loss, width)
    for delta in (1e-4, 1e-6, 1e-9):
        theirs = pld.get_epsilon_for_delta(delta)
        assert theirs * (1.0 - 1e-4 - count * width) <= epsilon_of(loss, delta) <= theirs * 1.0011


def simulated_delta(loss: Loss, epsilon: float, draws: int = 400_000) -> tuple[float, float]:
    """E (1 - e^(epsilon - X))+ and its standard error."""
    random = np.random.default_rng(11)
    x = random.normal(loss.mu_squared / 2, loss.mu, size=draws)
    for radial in loss.radials:
        for _ in range(radial.count):
            x += radial.shift + radial.scale * np.linalg.norm(random.normal(size=(draws, radial.degree)), axis=1)
    terms = -np.expm1(np.minimum(epsilon - x, 0.0))
    return float(terms.mean()), float(terms.std() / math.sqrt(draws))


@pytest.mark.parametrize("delta", [1e-2, 1e-3])
@pytest.mark.parametrize(
    "loss",
    [
        MIXED,
        Loss(mu_squared=1.0, radials=(Radial(2, 0.2, 0.5, 2), Radial(3, 0.1, 0.3, 1))),
        Loss(radials=(Radial(1, 0.5, 1.0, 1),)),
    ],
)
def test_simulated_losses(loss: Loss, delta: float) -> None:
    """Five standard errors either way: a false alarm once in a million runs, and the seed is fixed.

    The accountant's slack, under 0.2 % of the lengths, is a few per cent of delta.
    """
    found, error = simulated_delta(loss, epsilon_of(loss, delta))
    assert found <= delta + 5.0 * error
    assert found >= 0.97 * delta - 5.0 * error


@pytest.mark.beyond_coverage
def test_simulation_would_catch_lengths_in_one_dimension_for_two_and_a_forgotten_shift() -> None:
    wrong = [
        dataclasses.replace(MIXED, radials=tuple(dataclasses.replace(radial, **change) for radial in MIXED.radials))
        for change in ({"degree": 1}, {"shift": 0.0}, {"count": 9}, {"scale": 0.04})
    ]
    wrong.append(dataclasses.replace(MIXED, mu_squared=0.04))
    for mistaken in wrong:
        found, error = simulated_delta(MIXED, epsilon_of(mistaken, 1e-2))
        assert found > 1e-2 + 10.0 * error


def exact_log_delta(epsilon: float, loss: Loss) -> float:
    """One length: E over it of the Gaussian closed form, by quadrature with 30 digits."""
    (radial,) = loss.radials
    with mpmath.workdps(30):
        mu = mpmath.mpf(loss.mu)

        def made(r: Any) -> Any:
            left = epsilon - radial.shift - radial.scale * r
            delta = mpmath.ncdf(mu / 2 - left / mu) - mpmath.exp(left) * mpmath.ncdf(-mu / 2 - left / mu)
            density = (
                r * mpmath.exp(-r * r / 2)
                if radial.degree == 2
                else mpmath.sqrt(2 / mpmath.pi) * mpmath.exp(-r * r / 2)
            )
            return density * delta

        return float(mpmath.log(mpmath.quad(made, list(range(0, 41, 4)))))


@pytest.mark.beyond_coverage
@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize(("mu", "scale", "delta"), [(0.5, 0.2, 1e-60), (0.1, 0.3, 1e-60), (0.5, 0.2, 1e-12)])
def test_one_length_by_quadrature(mu: float, scale: float, degree: int, delta: float) -> None:
    loss = Loss(mu_squared=mu * mu, radials=(Radial(1, 0.05, scale, degree),))
    epsilon = epsilon_of(loss, delta)
    assert exact_log_delta(epsilon, loss) <= math.log(delta)
    assert exact_log_delta(epsilon * (1.0 - 1.5e-3), loss) >= math.log(delta)


def bracket(loss: Loss, epsilon: float, up: bool) -> float:
    """ln delta with every length rounded up, or down, on a coarse grid; convolved term by term in logarithms."""
    (radial,) = loss.radials
    edges = np.arange(1201) * 0.02
    survival = -0.5 * edges * edges if radial.degree == 2 else math.log(2.0) + log_ndtr(-edges)
    one = survival[:-1] + np.log(-np.expm1(np.diff(survival)))
    law = one
    for _ in range(radial.count - 1):
        rows = [np.full(law.size + one.size - 1, -np.inf) for _ in range(one.size)]
        for i, row in enumerate(rows):
            row[i : i + law.size] = law + one[i]
        law = np.logaddexp.reduce(rows)
    steps = np.arange(law.size) + (radial.count if up else 0)
    y = radial.count * radial.shift + radial.scale * 0.02 * steps
    return float(logsumexp(law + gaussian.log_delta(epsilon - y, loss.mu)))


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("delta", [1e-5, 1e-60])
def test_several_lengths_lie_between_coarser_laws_at_any_delta(degree: int, delta: float) -> None:
    loss = Loss(mu_squared=0.04, radials=(Radial(3, 0.02, 0.2, degree),))
    epsilon = epsilon_of(loss, delta)
    assert bracket(loss, epsilon, up=False) <= math.log(delta) <= bracket(loss, 0.999 * epsilon, up=True)


@some
@given(losses, deltas)
def test_renyi_is_an_upper_bound(loss: Loss, delta: float) -> None:
    assert 0.0 <= epsilon_of(loss, delta) <= renyi_epsilon(loss, delta)[0]


@some
@given(losses, deltas, st.floats(1.1, 100.0))
def test_a_smaller_delta_costs_more(loss: Loss, delta: float, factor: float) -> None:
    assert epsilon_of(loss, delta / factor) >= epsilon_of(loss, delta) * (1.0 - 1e-9)


@some
@given(losses, deltas, st.integers(1, 10))
def test_more_releases_cost_more(loss: Loss, delta: float, more: int) -> None:
    (radial,) = loss.radials
    larger = dataclasses.replace(loss, radials=(dataclasses.replace(radial, count=radial.count + more),))
    assert epsilon_of(larger, delta) >= epsilon_of(loss, delta) * (1.0 - 1e-9)


@some
@given(losses, deltas, st.floats(1.01, 3.0))
def test_less_noise_costs_more(loss: Loss, delta: float, factor: float) -> None:
    (radial,) = loss.radials
    longer = dataclasses.replace(loss, radials=(dataclasses.replace(radial, scale=factor * radial.scale),))
    wider = dataclasses.replace(loss, mu_squared=(loss.mu + 0.01) ** 2 * factor)
    assert epsilon_of(longer, delta) >= epsilon_of(loss, delta) * (1.0 - 1e-9)
    assert epsilon_of(wider, delta) >= epsilon_of(loss, delta) * (1.0 - 1e-9)


@pytest.mark.beyond_coverage
@some
@given(losses, radials, deltas)
def test_another_kind_of_release_costs_more(loss: Loss, another: Radial, delta: float) -> None:
    """Up to a coarser grid for the first: its lengths may be rounded up a little less."""
    both = dataclasses.replace(loss, radials=(*loss.radials, another))
    assert epsilon_of(both, delta) >= epsilon_of(loss, delta) * (1.0 - 2e-3)


@some
@given(losses, st.floats(-60.0, -2.0).map(lambda power: 10.0**power))
def test_renyi_divergences_convert_as_a_second_library_says(loss: Loss, delta: float) -> None:
    epsilon, tilt = renyi_epsilon(loss, delta)
    orders = 1.0 + tilt * np.geomspace(0.5, 2.0, 201)
    theirs, _ = rdp.compute_epsilon(orders, [log_moment(loss, order - 1.0) / (order - 1.0) for order in orders], delta)
    assert epsilon == pytest.approx(theirs, rel=1e-4, abs=1e-12)


@pytest.mark.beyond_coverage
@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("tilt", [1e-4, 0.1, 1.0, 7.0, 60.0])
def test_moments_by_quadrature(tilt: float, degree: int) -> None:
    loss = Loss(mu_squared=0.3, radials=(Radial(4, 0.05, 0.7, degree),))
    with mpmath.workdps(40):
        density = (lambda r: r) if degree == 2 else (lambda r: mpmath.sqrt(2 / mpmath.pi))
        peak = 0.7 * tilt
        length = mpmath.quad(lambda r: density(r) * mpmath.exp(peak * r - r * r / 2), [0, 1, 5, peak + 1, peak + 30])
        normal = mpmath.mpf(tilt) * 0.3 / 2 + mpmath.mpf(tilt) ** 2 * 0.3 / 2
        exact = float(normal + 4 * (tilt * mpmath.mpf(0.05) + mpmath.log(length)))
    assert log_moment(loss, tilt) == pytest.approx(exact, rel=1e-10)


@property_test
@given(
    st.integers(1, 200),
    st.floats(math.log(1e-3), math.log(5.0)).map(math.exp),
    st.floats(-60.0, -4.0).map(lambda power: 10.0**power),
    st.floats(-60.0, -4.0).map(lambda power: 10.0**power),
)
def test_never_above_the_two_textbook_rules(count: int, epsilon: float, delta: float, slack: float) -> None:
    """Pieces that are each exactly (epsilon, delta)-private."""
    each = EpsilonDelta(epsilon, delta)
    loss = Loss(mu_squared=count * gaussian.mu_of(epsilon, delta) ** 2)
    for rule in (basic(each, count), advanced(each, count, slack)):
        assert epsilon_of(loss, rule.delta) <= rule.epsilon * (1.0 + 1e-9)


@some
@given(losses, st.floats(-60.0, -3.0).map(lambda power: 10.0**power), st.integers(1, 10**9))
def test_a_grid_costs_next_to_nothing_and_never_less(loss: Loss, delta: float, coordinates: int) -> None:
    ideal, live = (epsilon_of(dataclasses.replace(loss, coordinates=n), delta) for n in (0, coordinates))
    assert ideal <= live <= ideal * (1.0 + 4e-5) + 1e-6
    more = epsilon_of(dataclasses.replace(loss, coordinates=2 * coordinates), delta)
    assert live <= more


def test_the_proof_of_discrete_noise_reaches_only_so_far() -> None:
    few, many = (epsilon_of(dataclasses.replace(MIXED, coordinates=n), 1e-10) for n in (1, 10**12))
    assert 1e-6 < many - few < 1e-5
    assert epsilon_of(dataclasses.replace(MIXED, coordinates=10**14), 1e-10) == math.inf


def test_a_release_without_noise_costs_everything() -> None:
    assert epsilon_of(Loss(unbounded=True), 0.999) == math.inf
    assert epsilon_of(dataclasses.replace(MIXED, unbounded=True), 0.999) == math.inf


def test_nothing_costs_nothing() -> None:
    assert epsilon_of(Loss(), 1e-250) == 0.0
    assert epsilon_of(MIXED, 0.9) == 0.0  # a delta so large allows all of it


def test_a_large_loss_is_left_to_renyi_where_the_grid_would_cost_more() -> None:
    loss = Loss(radials=(Radial(1000, 1e-6, 1e-6, 2),))
    epsilon, tilt = renyi_epsilon(loss, 1e-60)
    assert epsilon_of(loss, 1e-60) == epsilon
    assert tilt > 0.0


@pytest.mark.parametrize("count", [10**5, 10**9, 10**15])
def test_any_number_of_releases_is_answered_at_once(count: int) -> None:
    """Without a grid of as many points."""
    loss = Loss(mu_squared=1e-3, radials=(Radial(count, 0.0, 1e-3, 2),))
    assert epsilon_of(loss, 1e-10) == renyi_epsilon(loss, 1e-10)[0] > count * 1e-3


@pytest.mark.parametrize("delta", [1e-60, 1e-250])
@pytest.mark.parametrize("degree", [1, 2])
def test_tiny_deltas_at_small_epsilons(delta: float, degree: int) -> None:
    def loss(scale: float) -> Loss:
        return Loss(mu_squared=scale * scale, radials=(Radial(30, scale * scale / 2, scale, degree),))

    scale = math.exp(brentq(lambda s: renyi_epsilon(loss(math.exp(s)), delta)[0] - 0.01, -20.0, -3.0))
    epsilon = epsilon_of(loss(scale), delta)
    assert 0.0097 < epsilon <= 0.01
    tilt = renyi_epsilon(loss(scale), delta)[1]
    assert log_moment(loss(scale), tilt) - tilt * epsilon >= math.log(delta)  # the Chernoff bound proves no more


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, math.nan, math.inf, None, True])
def test_delta_is_refused_by_name(delta: Any) -> None:
    for loss in (MIXED, Loss(), Loss(unbounded=True)):
        with pytest.raises(InvalidInput, match=r"^delta must"):
            epsilon_of(loss, delta)


def test_many_lengths_by_direct_convolution() -> None:
    """The Fourier transform of the tilted law, entry by entry: rounding stays below what is charged for it."""
    radial = Radial(30, 0.0, 0.05, 2)
    law = accountant._tilted_law((radial,), 20.0, 1e-10)
    weights, log_mass = accountant._tilted_length(radial, 0.05 / 256, 20.0, 1e-10)
    direct = np.array([1.0])
    for _ in range(30):
        direct = np.convolve(direct, weights)
    found = np.zeros(direct.size)
    found[np.rint(law.values * 256 / 0.05).astype(int)] = np.exp(law.log_weights)
    assert np.abs(found - direct).max() <= 2.0 * accountant._ROUNDING
    assert law.log_moment == pytest.approx(30 * log_mass)
    assert math.exp(law.log_lost) >= np.abs(found - direct).sum()
