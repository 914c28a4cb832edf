"""How far a record moves a sum of r psi, found by brute force; and what an event of such sums costs."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushprice.errors import InvalidInput
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.customers import loss_of_customer
from hushprice.privacy.events import MomentBatches
from hushprice.privacy.loss import loss_of
from hushprice.privacy.sensitivity import of_moments
from hushprice.types import FloatArray

property_test = settings(deadline=None, derandomize=True, max_examples=200)
REPLACED, ZEROED = Adjacency.REPLACE_ONE, Adjacency.ZERO_OUT
shares = st.floats(0.0, 1.0)
EVENT = MomentBatches(
    scores=9,
    descriptions=17,
    largest=0.1,
    own=(0.0, 0.58, 0.81),
    noise=3.0,
    description_noise=20.0,
    earnings_noise=30.0,
)


def inside(random: np.random.Generator, size: int, radius: float) -> FloatArray:
    """A vector of at most that length; half of the time, of just that length."""
    vector = random.normal(size=size)
    return np.asarray(vector * radius * random.choice([1.0, random.uniform()]) / np.linalg.norm(vector))


@property_test
@given(st.integers(0, 2**32 - 1), st.integers(1, 20), shares, shares)
def test_no_two_records_are_further_apart(seed: int, size: int, largest: float, own: float) -> None:
    random = np.random.default_rng(seed)
    most = of_moments(largest, own, REPLACED) * (1.0 + 1e-12)
    shared = inside(random, 2, math.sqrt(1.0 - own * own))
    for _ in range(20):
        first, other = (np.concatenate([shared, inside(random, size, own)]) for _ in range(2))
        for ends in (True, False):
            residuals = random.choice([-1.0, largest], size=2) if ends else random.uniform(-1.0, largest, size=2)
            assert np.linalg.norm(residuals[0] * first - residuals[1] * other) <= most
            assert np.linalg.norm(residuals[0] * first) <= of_moments(largest, own, ZEROED) * (1.0 + 1e-12)


@property_test
@given(shares, shares)
def test_some_two_records_are_as_far_apart(largest: float, own: float) -> None:
    """At the corners, own parts alike or opposite. The bound is no larger than it must be."""
    shared = math.sqrt(1.0 - own * own)
    found = max(
        math.hypot((r - q) * shared, r * own - sign * q * own)
        for r, q, sign in itertools.product((-1.0, 0.0, largest), (-1.0, 0.0, largest), (-1.0, 1.0))
    )
    assert found == pytest.approx(of_moments(largest, own, REPLACED), rel=1e-12)


@pytest.mark.parametrize("adjacency", [None, "replace-one", 1])
def test_neighbours_of_no_known_kind_are_refused(adjacency: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^adjacency must be an Adjacency, got"):
        of_moments(0.1, 0.5, adjacency)


@pytest.mark.parametrize(("adjacency", "described"), [(REPLACED, 2.0), (ZEROED, 1.0)])
def test_the_squares_of_three_sums_add_up(adjacency: Adjacency, described: float) -> None:
    """The score's noise is a multiple of what a record moves, so no choice of weights costs more than another."""
    cost = 1.0 / 9.0 + described / 400.0 + 1.0 / 900.0
    for own in ((0.0,), (0.9,), EVENT.own):
        found = loss_of(dataclasses.replace(EVENT, own=own), 1, adjacency)
        assert found.mu_squared == pytest.approx(cost, rel=1e-9)
        assert found.mu_squared > cost
        assert found.coordinates == 0
    assert loss_of(EVENT, 3, adjacency).mu_squared == pytest.approx(3.0 * cost, rel=1e-9)
    alone = dataclasses.replace(EVENT, descriptions=0)
    assert loss_of(alone, 1, adjacency).mu_squared == pytest.approx(cost - described / 400.0, rel=1e-9)


def test_live_noise_costs_its_cuts_and_counts_its_numbers() -> None:
    ideal, live = (loss_of(dataclasses.replace(EVENT, live=live), 1, REPLACED) for live in (False, True))
    assert ideal.mu < live.mu < ideal.mu * (1.0 + 1e-7)
    assert live.coordinates == EVENT.scores + EVENT.descriptions + 2
    assert loss_of_customer(live, 3).mu == pytest.approx(3.0 * live.mu)


def test_what_is_cut_and_rounded_moves_less_than_is_charged() -> None:
    """Two numbers of the replaced record are cut to 2^-40, and two sums rounded to the grid."""
    event = dataclasses.replace(EVENT, scores=4, own=(0.0,), noise=2.0**-20, live=True)  # a grid far below 2^-40
    charged = loss_of(event, 1, REPLACED).mu * event.noise * 1.1 - 1.1 * (1.0 + 1e-10)
    assert charged > 2.0 * 2.0**-40 * math.sqrt(4)


@pytest.mark.parametrize("noise", [5e-324, 1e-160, 1e160, 1e308])
@pytest.mark.parametrize("name", ["noise", "description_noise", "earnings_noise"])
@pytest.mark.parametrize("live", [False, True])
def test_noise_of_no_sensible_size_costs_a_number_or_infinity(name: str, noise: float, live: bool) -> None:
    found = loss_of(dataclasses.replace(EVENT, live=live, **{name: noise}), 1, REPLACED)
    assert found.mu_squared >= 0.0  # so it is a number
    assert (found.mu_squared == math.inf) == (noise < 1e-150)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *itertools.product(
            ("noise", "description_noise", "earnings_noise"), (0.0, -1.0, math.nan, math.inf, None, "1")
        ),
        *itertools.product(("largest",), (-0.1, 1.1, math.nan, None)),
        *itertools.product(("own",), ((), (-0.1,), (0.5, 1.1), (math.nan,), (None,))),
        *itertools.product(("scores",), (0, -1, 2.5, math.nan)),
        *itertools.product(("descriptions",), (-1, 2.5, math.nan)),
        *itertools.product(("live",), (1, None, "yes")),
    ],
)
def test_a_forged_event_is_refused(name: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=f"^{name} must"):
        dataclasses.replace(EVENT, **{name: value})
