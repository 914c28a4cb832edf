"""How far a person's rows move a sum over a log, found by brute force; and what an event of such a sum costs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushprice.errors import InvalidInput
from hushprice.privacy import accountant, gaussian
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.events import LogSums, grid_of
from hushprice.privacy.loss import loss_of
from hushprice.privacy.sensitivity import of_log_sums

REPLACED, ZEROED = Adjacency.REPLACE_ONE, Adjacency.ZERO_OUT


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 12))
def test_no_two_persons_are_further_apart(seed: int, rows: int, entries: int) -> None:
    random = np.random.default_rng(seed)
    people = []
    for _ in range(30):
        vectors = np.abs(random.normal(size=(int(random.integers(0, rows + 1)), entries)))
        vectors *= random.random(vectors.shape) < random.choice([0.2, 1.0])  # many have but one entry
        lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300)
        people.append((vectors / lengths).sum(axis=0))
    made = np.array(people)
    assert np.linalg.norm(made, axis=1).max() <= of_log_sums(rows, ZEROED) * (1.0 + 1e-12)
    assert np.linalg.norm(made[:, None] - made[None], axis=2).max() <= of_log_sums(rows, REPLACED) * (1.0 + 1e-12)


def test_some_two_persons_are_as_far_apart() -> None:
    assert np.linalg.norm(3.0 * np.array([1.0, 0.0]) - 3.0 * np.array([0.0, 1.0])) == pytest.approx(
        of_log_sums(3, REPLACED)
    )


@pytest.mark.parametrize(("adjacency", "moved"), [(REPLACED, 2.0 * math.sqrt(2.0)), (ZEROED, 2.0)])
@pytest.mark.parametrize("live", [False, True])
def test_a_sum_costs_what_a_gaussian_of_its_sensitivity_does(adjacency: Adjacency, moved: float, live: bool) -> None:
    loss = loss_of(LogSums(rows=2, entries=9, noise=10.0, live=live), 3, adjacency)
    assert loss.mu == pytest.approx(math.sqrt(3.0) * moved / 10.0, rel=1e-8)
    assert loss.mu > math.sqrt(3.0) * moved / 10.0  # rounding errs upwards
    assert loss.coordinates == (27 if live else 0)
    ideal = gaussian.epsilon_of(1e-6, math.sqrt(3.0) * moved / 10.0)
    assert accountant.epsilon_of(loss, 1e-6) == pytest.approx(ideal, rel=1e-4)
    assert accountant.epsilon_of(loss, 1e-6) >= ideal


def test_rounding_is_charged() -> None:
    ideal, live = (loss_of(LogSums(rows=2, entries=9, noise=10.0, live=live), 1, REPLACED) for live in (False, True))
    least = (2.0 * grid_of(10.0) + 4.0 * 2.0**-40) * 3.0  # two grid steps, and two cuts of two rows
    assert (live.mu - ideal.mu) * 10.0 >= least


@pytest.mark.parametrize("adjacency", [None, "replace-one", 1])
def test_neighbours_of_no_known_kind_are_refused(adjacency: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^adjacency must be an Adjacency, got"):
        of_log_sums(2, adjacency)
