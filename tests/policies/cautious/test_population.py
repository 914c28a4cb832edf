"""Customers like those who came, from what was released about them."""

from __future__ import annotations

import numpy as np
import pytest

from hushprice.policies.cautious.pricing.population import BINS, PEOPLE, Population, described, entries


def test_before_any_release_customers_are_spread_evenly() -> None:
    people = Population(3, noise=10.0).people()
    assert people.shape == (PEOPLE, 3)
    np.testing.assert_allclose(people.mean(axis=0), 0.0, atol=0.1)
    np.testing.assert_allclose(people.std(axis=0), 2.0 / np.sqrt(12.0), atol=0.1)


def test_without_attributes_customers_are_all_alike() -> None:
    empty = Population(0, noise=1.0)
    empty.add(np.empty(0), 10)
    assert empty.people().shape == (PEOPLE, 0)
    assert described(np.empty((4, 0))).shape == (4, 0)


def test_many_customers_are_described_as_they_are() -> None:
    """Shares of bins and correlations come back, of a crowd that is neither even nor independent."""
    rng = np.random.default_rng(0)
    one = rng.standard_normal((200_000, 2)) @ np.array([[1.0, 0.8], [0.0, 0.6]])
    contexts = np.column_stack([np.tanh(one[:, 0] - 0.5), one[:, 1] > 0.7])
    made = Population(2, noise=0.0)
    made.add(described(contexts).sum(axis=0), len(contexts))
    people = made.people()
    np.testing.assert_allclose(people.mean(axis=0), contexts.mean(axis=0), atol=0.12)  # a bin is 0.25 wide
    seen, given = np.corrcoef(people.T)[0, 1], np.corrcoef(contexts.T)[0, 1]
    assert abs(seen - given) < 0.15
    assert made.doubt < 0.01


def test_a_share_has_the_least_noise_that_batches_allow() -> None:
    """Weights by count: noise of a mean is noise / root(sum n^2), never more than of the largest batch alone."""
    made = Population(1, noise=4.0)
    truth = described(np.full((1, 1), 0.9))[0]
    rng = np.random.default_rng(1)
    errors = []
    for _ in range(400):
        made = Population(1, noise=4.0)
        for count in (10, 20, 200):
            made.add(count * truth + 4.0 * rng.standard_normal(entries(1)), count)
        errors.append(made.total / made.weight - truth)
    expected = 4.0 / np.sqrt(10**2 + 20**2 + 200**2)
    # 400 x 8 errors: a standard deviation known to 1.3 %, so 8 % is six of its own deviations
    assert np.std(errors) == pytest.approx(expected, rel=0.08)


def test_noise_makes_the_first_guess_count() -> None:
    quiet, loud = Population(1, noise=0.0), Population(1, noise=1e4)
    for each in (quiet, loud):
        each.add(described(np.full((1000, 1), 0.9)).sum(axis=0), 1000)
    assert quiet.doubt < 0.2 < 0.9 < loud.doubt
    assert quiet.people().mean() > 0.6
    assert abs(loud.people().mean()) < 0.2


def test_a_bin_and_a_pair_are_described_a_row_a_customer() -> None:
    assert entries(3) == 3 * BINS + 3
    assert described(np.zeros((5, 3))).shape == (5, entries(3))
