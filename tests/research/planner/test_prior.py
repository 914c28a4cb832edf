"""The prior is the one that is stated."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

from hushprice.demand.features import MAPS
from hushprice.errors import InvalidInput
from hushprice.research.planner.prior import markets, parameter_vectors


@pytest.mark.parametrize("map", MAPS)
def test_vectors_are_uniform_in_the_half_ball(map):
    features = MAPS[map](3)
    vectors = parameter_vectors(features, 2000, seed=5)
    d = features.dimension
    lengths = np.linalg.norm(vectors, axis=1)
    assert kstest(lengths**d, "uniform").pvalue > 1e-3  # seeded; a false alarm in a thousand seeds
    assert kstest(lengths ** (d + 2), "uniform").pvalue < 1e-6  # another law would be caught
    price = {"main": 3, "intercept": 4, "interactions": 4}[map]
    assert np.all(vectors[:, price] >= 0.0)
    others = np.delete(vectors, price, axis=1)
    assert np.all(np.abs(others.mean(axis=0)) < 0.1)


def test_a_seed_gives_the_same_markets_and_another_gives_others():
    first, again, other = (np.array([each.theta for each in markets(2, seed=seed)]) for seed in (0, 0, 1))
    assert first.shape == (50, 3)
    assert np.array_equal(first, again)
    assert not np.any(first == other)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"contexts": 0}, "features"),
        ({"contexts": 31}, "features"),
        ({"contexts": 1, "slope": float("nan")}, "slope"),
        ({"contexts": 1, "map": "quadratic"}, "quadratic"),
        ({"contexts": 1, "seed": -1}, "seed"),
    ],
)
def test_bad_input_is_refused_by_name(given, named):
    with pytest.raises(InvalidInput, match=named):
        markets(**given)
