"""A record's score and curvature together: brute force over pairs of records finds what is charged, and never more."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushprice.errors import InvalidInput
from hushprice.mechanisms.whole_numbers import UNIT_BITS
from hushprice.privacy import loss
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.events import Batches
from hushprice.privacy.sensitivity import overcounted
from hushprice.types import FloatArray

property_test = settings(deadline=None, derandomize=True, max_examples=200)
seeds = st.integers(0, 2**32 - 1)
noises = st.floats(-4.0, 4.0).map(lambda power: 10.0**power)
RATIOS = [0.01, 0.5, 0.76, 0.765, 0.77, 1.0, 1.2247, 2.0, 100.0]  # of the noises; another pair is worst below 0.7654
REPLACED = Adjacency.REPLACE_ONE


def charged(score_noise: float, curvature_noise: float) -> float:
    """mu^2 of a replaced record, exactly."""
    return 4.0 / score_noise**2 + 2.0 / curvature_noise**2 - overcounted(score_noise, curvature_noise, REPLACED)


def apart(one: FloatArray, other: FloatArray, lengths: tuple[float, ...], noise: tuple[float, float]) -> float:
    """mu^2 of a pair: unit vectors, scores of these signed lengths along them, psi of these squared lengths."""
    first, second, turn, other_turn = lengths
    scores = first * one - second * other
    curvatures = turn * np.outer(one, one) - other_turn * np.outer(other, other)
    return float(scores @ scores) / noise[0] ** 2 + float(np.sum(curvatures**2)) / noise[1] ** 2


def unit(random: np.random.Generator, dimension: int) -> FloatArray:
    vector = random.normal(size=dimension)
    return vector / np.linalg.norm(vector)


@property_test
@given(seeds, st.integers(1, 20), noises, noises)
def test_no_pair_of_records_costs_more(seed: int, dimension: int, score: float, curvature: float) -> None:
    random = np.random.default_rng(seed)
    most = charged(score, curvature) * (1.0 + 1e-12)
    for _ in range(20):
        one = unit(random, dimension)
        near = one + random.choice([0.0, 0.1, 1.0, 10.0]) * random.normal(size=dimension)
        other = float(random.choice([-1.0, 1.0])) * near / np.linalg.norm(near)
        for ends in (True, False):
            lengths = random.choice([-1.0, 1.0], size=2) if ends else random.uniform(-1.0, 1.0, size=2)
            turns = random.choice([0.0, 1.0], size=2) if ends else random.uniform(size=2)
            assert apart(one, other, (*lengths, *turns), (score, curvature)) <= most


@pytest.mark.beyond_coverage
@pytest.mark.parametrize("ratio", RATIOS)
def test_some_pair_costs_it(ratio: float) -> None:
    """Two directions at every angle, scores to both sides, curvatures there or not."""
    noise, found = (3.0, 3.0 * ratio), 0.0
    one = np.array([1.0, 0.0])
    ends = list(itertools.product((-1.0, 1.0), (-1.0, 1.0), (0.0, 0.5, 1.0), (0.0, 0.5, 1.0)))
    for angle in np.linspace(0.0, math.pi, 1001):
        other = np.array([math.cos(angle), math.sin(angle)])
        found = max(found, *(apart(one, other, lengths, noise) for lengths in ends))
    assert found <= charged(*noise) * (1.0 + 1e-12)
    assert found == pytest.approx(charged(*noise), rel=1e-5)


@property_test
@given(noises, noises)
def test_together_is_less_than_both_apart_and_no_less_than_either(score: float, curvature: float) -> None:
    a, b = score**-2, curvature**-2
    assert charged(score, curvature) <= 4.0 * a + 2.0 * b
    for certain in (4.0 * a + b, 2.0 * a + 2.0 * b, 3.0 * a + 1.5 * b):  # parallel, orthogonal, and at 60 degrees
        assert charged(score, curvature) >= certain * (1.0 - 1e-12)


@property_test
@given(noises, noises)
def test_a_zeroed_record_moves_both_by_all_it_has(score: float, curvature: float) -> None:
    assert overcounted(score, curvature, Adjacency.ZERO_OUT) == 0.0
    found = loss.loss_of(Batches(dimension=2, score_noise=score, curvature_noise=curvature, levels=0), 1, REPLACED)
    assert found.mu_squared == pytest.approx(charged(score, curvature), rel=1e-9)


@pytest.mark.parametrize("pair", list(itertools.product([5e-324, 1e-160, 1.0, 1e160, 1.7e308], repeat=2)))
@pytest.mark.parametrize("live", [False, True])
def test_noise_of_no_sensible_size_costs_a_number_or_infinity(pair: tuple[float, float], live: bool) -> None:
    event = Batches(dimension=2, score_noise=pair[0], curvature_noise=pair[1], levels=3, live=live)
    found = loss.loss_of(event, 1, REPLACED)
    assert found.mu_squared >= 0.0  # so it is a number
    assert (found.mu_squared == math.inf) == (min(pair) < 1e-150)


@pytest.mark.parametrize("adjacency", [None, "replace-one", 1])
def test_neighbours_of_no_known_kind_are_refused(adjacency: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^adjacency must be an Adjacency, got"):
        overcounted(1.0, 1.0, adjacency)


def test_what_is_charged_for_cutting_follows_the_places_that_are_kept() -> None:
    assert loss._CUT == 8.0 * 2.0**-UNIT_BITS
