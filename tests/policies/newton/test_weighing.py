"""What one record adds to its batch: bounded whatever was bought, the same however records are chunked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.demand.family import CUSTOM
from hushprice.demand.protocol import Demand, lowest
from hushprice.numerics.linear import packed_size
from hushprice.policies.newton.private import scores
from hushprice.policies.newton.private.batches import Scorer
from hushprice.types import FloatArray

FAMILIES: list[Demand] = [Logistic(), Logistic(slope=0.5), Gaussian(noise=0.5), Gaussian(noise=2.0), Poisson(slope=3.0)]
Records = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


def records(seed: int, d: int, count: int, demand: Demand) -> Records:
    """A belief, and records in the unit ball, some of them of length 1 and some of length 0."""
    rng = np.random.default_rng(seed)
    phi = rng.normal(size=(d, count))
    phi *= rng.choice([0.0, 1e-12, 0.3, 1.0], count) / np.linalg.norm(phi, axis=0)
    root = rng.normal(size=(d, d)) * rng.choice([0.01, 0.7])
    theta = rng.normal(size=d)
    theta /= max(1.0, float(np.linalg.norm(theta)))
    bought = rng.uniform(lowest(demand), demand.bound, count)
    bought[::2] = rng.choice([lowest(demand), demand.bound], bought[::2].size)
    return theta, root @ root.T, phi, bought


def weighed(demand: Demand, cap: float, given: Records) -> FloatArray:
    theta, inverse, phi, bought = given
    work = np.empty((scores.ROWS, bought.size))
    fixed = demand.family, float(demand.slope), lowest(demand), float(demand.bound), cap
    scores.weigh(*fixed, theta, inverse, phi, bought, bought.size, work)
    return work[2:]


@pytest.mark.parametrize("demand", FAMILIES, ids=repr)
@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10**6), d=st.integers(1, 5), cap=st.floats(0.01, 10.0))
def test_a_score_is_no_longer_than_1_and_a_curvature_no_larger(demand: Demand, seed: int, d: int, cap: float) -> None:
    given_records = records(seed, d, 20, demand)
    norms = np.linalg.norm(given_records[2], axis=0)
    pull, turn = weighed(demand, cap, given_records)
    assert np.all(np.abs(pull) * norms <= 1.0 + 1e-12)
    assert np.all((turn >= 0.0) & (turn * norms * norms <= 1.0 + 1e-12))


@pytest.mark.parametrize("demand", FAMILIES, ids=repr)
def test_the_weight_does_not_read_what_was_bought(demand: Demand) -> None:
    theta, inverse, phi, bought = records(3, 3, 20, demand)
    one, other = (weighed(demand, 0.7, (theta, inverse, phi, some)) for some in (bought, bought[::-1].copy()))
    np.testing.assert_array_equal(one[1], other[1])
    assert np.any(one[0] != other[0])


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10**6), cuts=st.lists(st.integers(1, 49), max_size=5))
def test_any_chunking_gives_the_same_sums_to_the_last_digit(seed: int, cuts: list[int]) -> None:
    demand = Logistic()
    theta, inverse, phi, bought = records(seed, 3, 50, demand)

    def summed(ends: list[int]) -> FloatArray:
        score, curvature, start = np.zeros(3), np.zeros(packed_size(3)), 0
        for end in ends:
            part = np.ascontiguousarray(phi[:, start:end])
            work = np.empty((scores.ROWS, end - start))
            work[2:] = weighed(demand, 0.7, (theta, inverse, part, bought[start:end].copy()))
            scores.add_up(part, end - start, work, score, curvature)
            start = end
        return np.concatenate([score, curvature])

    np.testing.assert_array_equal(summed(sorted({*cuts, 50})), summed([50]))
    np.testing.assert_array_equal(summed(list(range(1, 51))), summed([50]))


class Own:
    """A built-in family, as the engine sees somebody's own."""

    family = CUSTOM

    def __init__(self, demand: Demand, **members: Any) -> None:
        self._demand, self._members = demand, members

    def __getattr__(self, name: str) -> Any:
        return self._members[name] if name in self._members else getattr(self._demand, name)


@pytest.mark.parametrize("demand", FAMILIES, ids=repr)
def test_a_family_of_ones_own_is_weighed_like_the_built_in_one_it_repeats(demand: Demand) -> None:
    theta, inverse, phi, bought = records(5, 3, 20, demand)
    built, own = Scorer(demand=demand, cap=0.7), Scorer(demand=Own(demand), cap=0.7)
    for size in (1, 5, 20):
        for start in range(0, 20, size):
            works, part = np.empty((2, scores.ROWS, size)), slice(start, start + size)
            for scorer, work in zip((built, own), works, strict=True):
                scorer.weigh(np.ascontiguousarray(phi[:, part]), bought[part].astype(float), theta, inverse, work)
            np.testing.assert_allclose(works[0, 2:], works[1, 2:], rtol=1e-9, atol=1e-12)
