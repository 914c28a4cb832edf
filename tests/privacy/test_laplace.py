"""How far a record moves a side's sums, found by brute force; and what an event with Laplace noise costs."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from hushprice.errors import InvalidInput
from hushprice.privacy import accountant, gaussian
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.customers import guarantee_of, in_histories, loss_of_customer
from hushprice.privacy.events import LaplaceBatches, grid_of
from hushprice.privacy.loss import Loss, Radial, compose, loss_of, mu_of_pure
from hushprice.privacy.sensitivity import of_sides
from hushprice.types import FloatArray

property_test = settings(deadline=None, derandomize=True, max_examples=50)
REPLACED, ZEROED = Adjacency.REPLACE_ONE, Adjacency.ZERO_OUT
shares, weights = st.floats(0.0, 1.0), st.floats(0.0, 4.0)
ULPS = 1.0 + 1e-12
EVENT = LaplaceBatches(
    contexts=3,
    least=0.02,
    most=0.3,
    scales=((2.0, math.inf), (4.0, 4.0), (8.0, 2.0)),
    descriptions=27,
    description_noise=50.0,
    earnings_scale=30.0,
)


def inside(random: np.random.Generator, size: int) -> FloatArray:
    """A vector whose sizes add up to 1 at most; half of the time to just that."""
    vector = random.normal(size=size) * (random.random(size) < 0.5) + 1e-9
    return np.asarray(vector * random.choice([1.0, random.uniform()]) / np.abs(vector).sum())


@property_test
@given(st.integers(0, 2**32 - 1), st.integers(1, 20), shares, shares, weights, weights)
def test_no_two_records_are_further_apart(
    seed: int, size: int, one: float, two: float, common: float, personal: float
) -> None:
    least, most = sorted((one, two))
    random, scaled = np.random.default_rng(seed), (common, personal)
    for _ in range(12):
        rows = []
        for _world in range(2):
            h, y = (random.choice([least, most]), random.choice([0.0, 1.0]))
            if random.random() < 0.3:
                h, y = random.uniform(least, most), random.uniform()
            residual = 0.0 if random.random() < 0.1 else h - y  # a record that cannot be read adds nothing
            rows.append(residual * np.concatenate([[common], personal * inside(random, size)]))
        assert np.abs(rows[0] - rows[1]).sum() <= of_sides(least, most, scaled, REPLACED) * ULPS
        assert np.abs(rows[0]).sum() <= of_sides(least, most, scaled, ZEROED) * ULPS


@property_test
@given(shares, shares, weights, weights)
def test_some_two_records_are_as_far_apart(one: float, two: float, common: float, personal: float) -> None:
    """At the corners, attributes alike or opposite. The bound is no larger than it must be."""
    least, most = sorted((one, two))
    ends = (least - 1.0, most)
    found = max(
        abs(r - q) * common + abs(r - sign * q) * personal for r, q, sign in itertools.product(ends, ends, (-1.0, 1.0))
    )
    assert found == pytest.approx(of_sides(least, most, (common, personal), REPLACED), rel=1e-12)
    alone = max(abs(r) * (common + personal) for r in ends)
    assert alone == pytest.approx(of_sides(least, most, (common, personal), ZEROED), rel=1e-12)


@pytest.mark.parametrize("adjacency", [None, "replace-one", 1])
def test_neighbours_of_no_known_kind_are_refused(adjacency: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^adjacency must be an Adjacency, got"):
        of_sides(0.1, 0.5, (1.0, 1.0), adjacency)


@pytest.mark.parametrize(
    ("adjacency", "scored", "described"),
    [
        (REPLACED, max(1.28 / 2.0, 1.28 / 2.0, max(1.28 * (1 / 8 + 1 / 2), 2 * 0.98 / 2)), 2.0),
        (ZEROED, 0.98 * (1 / 8 + 1 / 2), 1.0),
    ],
)
def test_what_the_event_costs_in_closed_form(adjacency: Adjacency, scored: float, described: float) -> None:
    """By hand: the dearest choice and one of two earnings at delta 0, descriptions by mu, and epsilons add up."""
    found = loss_of(EVENT, 1, adjacency)
    assert found.pure == pytest.approx(scored + 1.0 / 30.0, rel=1e-9)
    assert found.pure > scored + 1.0 / 30.0
    assert found.mu_squared == pytest.approx(described / 2500.0, rel=1e-9)
    assert (found.coordinates, found.radials, found.unbounded) == (0, (), False)
    for delta in (1e-10, 1e-4):
        whole = scored + 1.0 / 30.0 + gaussian.epsilon_of(delta, math.sqrt(described) / 50.0)
        assert accountant.epsilon_of(found, delta) == pytest.approx(whole, rel=1e-8)
    thrice = loss_of(EVENT, 3, adjacency)
    assert (thrice.pure, thrice.mu_squared) == pytest.approx((3.0 * found.pure, 3.0 * found.mu_squared))
    alone = loss_of(dataclasses.replace(EVENT, descriptions=0), 1, adjacency)
    assert accountant.epsilon_of(alone, 1e-12) == alone.pure == found.pure


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("adjacency", [REPLACED, ZEROED])
def test_a_holdout_with_a_scale_of_its_own_pays_that_or_what_others_pay(adjacency: Adjacency, live: bool) -> None:
    """By brute force over what a record may be: in the holdout one number moves by 1, elsewhere a side and another."""
    event = dataclasses.replace(EVENT, live=live)
    others = loss_of(event, 1, adjacency).pure
    for scale in (0.1, 1.0 / others, 100.0):
        found = loss_of(dataclasses.replace(event, holdout_scale=scale), 1, adjacency)
        assert found.pure == pytest.approx(max(others, 1.0 / scale), rel=1e-8)
        assert found.pure >= max(others, 1.0 / scale)
        assert found.mu_squared == loss_of(event, 1, adjacency).mu_squared
    assert (EVENT.earned_scales, dataclasses.replace(EVENT, holdout_scale=2.0).earned_scales) == (
        (30.0, 30.0),
        (2.0, 30.0),
    )


def test_two_laplace_numbers_are_told_apart_as_their_epsilon_says() -> None:
    """Second way: the loss of a number is the change over its scale, by its density, and some outcome reaches it."""
    event = dataclasses.replace(EVENT, scales=((2.0, math.inf),), descriptions=0)
    at = np.linspace(-50.0, 50.0, 20_001)
    for moved in (1.28, -1.28):
        ratio = np.abs(at - moved) / 2.0 - np.abs(at) / 2.0
        assert np.abs(ratio).max() + 1.0 / 30.0 == pytest.approx(loss_of(event, 1, REPLACED).pure, rel=1e-9)


def test_live_noise_costs_its_cuts_and_counts_its_gaussian_numbers() -> None:
    ideal, live = (loss_of(dataclasses.replace(EVENT, live=live), 1, REPLACED) for live in (False, True))
    assert ideal.pure < live.pure < ideal.pure * (1.0 + 1e-8)
    assert ideal.mu_squared < live.mu_squared < ideal.mu_squared * (1.0 + 1e-6)
    assert live.coordinates == EVENT.descriptions  # Laplace noise on a grid is exact: no delta is spent on it


def test_what_is_cut_and_rounded_moves_less_than_is_charged() -> None:
    """Two numbers of the replaced record are cut to 2^-40, and two sums rounded to the grid, in each moved entry."""
    for scale in (2.0**-20, 3.0, 2.0**20):
        event = dataclasses.replace(EVENT, scales=((scale, scale),), descriptions=0, live=True)
        ideal = dataclasses.replace(event, live=False)
        charged = loss_of(event, 1, REPLACED).pure - loss_of(ideal, 1, REPLACED).pure
        needed = (1 + EVENT.contexts) * (2.0 * 2.0**-40 + grid_of(scale)) / scale
        assert charged > needed + (2.0 * 2.0**-40 + grid_of(30.0)) / 30.0


@pytest.mark.parametrize("epsilon", [1e-3, 0.3, 1.0, 4.0, 30.0])
def test_a_promise_at_delta_0_is_a_gaussian_one_and_no_smaller_mu_will_do(epsilon: float) -> None:
    """Against the trade-off curves themselves: max(0, 1 - e^eps a, e^-eps (1 - a)) and Phi(Phi^-1(1 - a) - mu)."""
    mu = mu_of_pure(epsilon)
    cut = np.linspace(-10.0, 10.0, 4001)
    alarms = ndtr(-cut)
    bounded = np.maximum.reduce([1.0 - np.exp(epsilon) * alarms, np.exp(-epsilon) * (1.0 - alarms), 0.0 * alarms])
    assert np.all(bounded >= ndtr(cut - mu) - 1e-12)
    assert np.any(bounded < ndtr(cut - 0.999 * mu))
    assert 2.0 * ndtr(-mu / 2.0) == pytest.approx(2.0 / (1.0 + math.exp(epsilon)), rel=1e-9)


def test_the_mu_of_a_large_epsilon_is_never_understated() -> None:
    found = [mu_of_pure(epsilon) for epsilon in (0.0, 10.0, 700.0, 1e4, 1e8, math.inf)]
    assert found == sorted(found)
    assert found[0] == 0.0
    assert found[3] == pytest.approx(2.0 * math.sqrt(2e4), rel=0.01)  # Phi(-mu/2) is about e^(-mu^2/8)
    assert found[-1] == math.inf
    assert Loss(pure=math.inf).mu == math.inf
    assert Loss(pure=1.0, mu_squared=0.04).mu == pytest.approx(math.hypot(mu_of_pure(1.0), 0.2))


def test_epsilons_at_delta_0_add_up_over_records_histories_and_products() -> None:
    one = Loss(pure=0.4, mu_squared=0.01)
    three = loss_of_customer(one, 3)
    assert (three.pure, three.mu_squared) == pytest.approx((1.2, 0.09))
    assert in_histories(one, 2).pure == pytest.approx(0.8)
    assert compose([one, Loss(pure=0.1), Loss()]).pure == pytest.approx(0.5)
    found = guarantee_of([(one, 3), (one, 2)], 1e-6)
    assert found.epsilon == pytest.approx(2.0 + gaussian.epsilon_of(1e-6, math.sqrt(0.09 + 0.04)))
    assert found.mu == pytest.approx(math.hypot(mu_of_pure(2.0), math.sqrt(0.13)))


@pytest.mark.parametrize("other", [{}, {"mu_squared": 0.5}])
def test_beside_estimates_and_in_a_filter_a_bounded_loss_shifts_all(other: dict[str, float]) -> None:
    """Everything is P + the rest, so epsilon is P more, by the exact law and by Renyi divergences."""
    radials = (Radial(3, 0.1, 0.2, 2),)
    plain, shifted = (Loss(radials=radials, pure=pure, **other) for pure in (0.0, 0.7))
    for delta in (1e-9, 1e-3):
        before = accountant.epsilon_of(plain, delta)
        assert accountant.epsilon_of(shifted, delta) == pytest.approx(before + 0.7, rel=1e-4)
        assert accountant.renyi_epsilon(shifted, delta)[0] >= accountant.renyi_epsilon(plain, delta)[0] + 0.7 - 1e-6
    assert accountant.log_moment(shifted, 3.0) == pytest.approx(accountant.log_moment(plain, 3.0) + 2.1)


def test_a_filter_charges_a_bounded_loss() -> None:
    assert accountant.fits(Loss(pure=0.3), 1.0, 1e-6)
    assert not accountant.fits(Loss(pure=1.0 + 1e-9), 1.0, 1e-6)
    assert not accountant.fits(Loss(pure=math.inf), 1.0, 1e-6)
    mu = gaussian.mu_of(0.5, 1e-6)
    assert not accountant.fits(Loss(pure=0.6, mu_squared=mu * mu), 1.0, 1e-6)


@pytest.mark.parametrize("noise", [5e-324, 1e-160, 1e160, 1e308])
@pytest.mark.parametrize("name", ["common", "personal", "description_noise", "earnings_scale", "holdout_scale"])
@pytest.mark.parametrize("live", [False, True])
def test_noise_of_no_sensible_size_costs_a_number_or_infinity(name: str, noise: float, live: bool) -> None:
    scales = {"common": ((noise, 1.0),), "personal": ((1.0, noise),)}
    changes = {"scales": scales[name]} if name in scales else {name: noise}
    found = loss_of(dataclasses.replace(EVENT, live=live, **changes), 1, REPLACED)
    assert found.pure >= 0.0  # so they are numbers
    assert found.mu_squared >= 0.0
    assert (max(found.pure, found.mu_squared) > 1e100) == (noise < 1e-150)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *itertools.product(("description_noise", "earnings_scale"), (0.0, -1.0, math.nan, math.inf, None, "1")),
        *itertools.product(("holdout_scale",), (0.0, -1.0, math.nan, math.inf, "1")),
        *itertools.product(("least", "most"), (-0.1, 1.1, math.nan, None)),
        ("most", 0.01),  # below `least`
        *itertools.product(("contexts", "descriptions"), (-1, 2.5, math.nan)),
        *itertools.product(("live",), (1, None, "yes")),
    ],
)
def test_a_forged_event_is_refused(name: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=f"^{name} must|^most must"):
        dataclasses.replace(EVENT, **{name: value})


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, -math.inf])
def test_a_forged_scale_is_refused(value: float) -> None:
    with pytest.raises(InvalidInput, match=r"^personal must"):
        dataclasses.replace(EVENT, scales=((1.0, value),))
    for bad in (value, math.inf):  # who leaves out the common entries publishes nothing
        with pytest.raises(InvalidInput, match=r"^common must"):
            dataclasses.replace(EVENT, scales=((2.0, 1.0), (bad, 1.0)))
    with pytest.raises(InvalidInput, match=r"^scales must name the choices there are, got none$"):
        dataclasses.replace(EVENT, scales=())
