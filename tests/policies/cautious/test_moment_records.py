"""What a record of policy cautious adds is within the bounds that are charged: attacks get as far, and no further."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.policies.cautious.moment_runs import CLAIMED, belief, learner, wild

from hushprice.policies.cautious.noise import calibrate
from hushprice.policies.cautious.pricing import instruments
from hushprice.policies.cautious.pricing.instruments import SHARES
from hushprice.policies.cautious.pricing.population import BINS, described
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.sensitivity import of_covariance, of_sides
from hushprice.types import FloatArray

property_test = settings(deadline=None, derandomize=True, max_examples=60)
seeds, sizes = st.integers(0, 2**32 - 1), st.integers(0, 32)
CHOICES = range(len(SHARES))
REPLACED = Adjacency.REPLACE_ONE
ULPS = 1.0 + 1e-12


def lengths(rows: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt((rows * rows).sum(axis=1)))


def climbed(value: Callable[[FloatArray], FloatArray], start: FloatArray, steps: int = 80) -> float:
    """The largest value that many walkers in [-1, 1] find, each going where it rises."""
    random = np.random.default_rng(5)
    at, best = start, value(start)
    for step in range(steps):
        moved = random.normal(size=at.shape) * (random.random(at.shape) < 0.4) * 0.5 * 0.95**step
        tried = np.clip(at + moved, -1.0, 1.0)
        reached = value(tried)
        better = reached > best
        at[better], best[better] = tried[better], reached[better]
    return float(best.max())


def starts(contexts: int, others: int) -> FloatArray:
    """Walkers anywhere, at corners, and with second customers like the first or opposite to it."""
    random = np.random.default_rng(4)
    at = random.uniform(-1.0, 1.0, size=(120, 2 * contexts + others))
    at[::2] = np.sign(at[::2])
    at[40:80, contexts : 2 * contexts] = at[40:80, :contexts]
    at[80:, contexts : 2 * contexts] = -at[80:, :contexts]
    return at


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("contexts", [0, 1, 2, 5, 32])
def test_no_attack_costs_more_of_a_score_than_is_charged(contexts: int, choice: int) -> None:
    """Over residuals, contexts and the coin, in units of the noise. What is charged is passed nowhere, and reached."""
    k = contexts
    for least, most in ((0.0, 0.0), (0.01, 0.1), (0.3, 1.0)):
        noise = calibrate(CLAIMED, contexts=k, least=least, most=most, adjacency=REPLACED)
        scales = noise.of_score(k, choice) / math.sqrt(2.0)
        used = scales > 0.0

        def apart(
            at: FloatArray, ends: tuple[float, float] = (least - 1.0, most), scales: FloatArray = scales
        ) -> FloatArray:
            coins = np.where(at[:, -1] > 0.0, 1.0, -1.0)
            rows = [
                np.interp(at[:, 2 * k + world], [-1.0, 1.0], ends)[:, None]
                * instruments.instruments(at[:, world * k : (world + 1) * k], coins, choice)
                for world in (0, 1)
            ]
            moved = rows[0] - rows[1]
            assert not np.any(moved[:, ~used])  # numbers that are left out know no record  # noqa: B023
            return np.asarray((np.abs(moved[:, used]) / scales[used]).sum(axis=1))  # noqa: B023

        found = climbed(apart, starts(k, 3))
        assert found <= noise.score * ULPS
        assert k == 0 or found >= 0.98 * noise.score


@property_test
@given(seeds, sizes, st.sampled_from(CHOICES))
def test_instruments_are_on_the_coins_side_and_keep_to_their_sizes(seed: int, contexts: int, choice: int) -> None:
    random = np.random.default_rng(seed)
    x = random.choice([1e-200, 0.1, 1.0]) * random.uniform(-1.0, 1.0, size=(30, contexts))
    coins = random.choice([-1.0, 1.0], size=30)
    assert np.all(np.abs(instruments.held(x)).sum(axis=1) <= ULPS)
    psi = instruments.instruments(x, coins, choice)
    assert psi.shape == (30, instruments.entries(contexts))
    sides = psi.reshape(30, 2, contexts + 1)
    mine = np.zeros(30, dtype=int) if choice == instruments.WATCHING else (coins < 0.0).astype(int)
    assert not np.any(sides[np.arange(30), 1 - mine])
    rows = sides[np.arange(30), mine]
    assert np.array_equal(rows[:, 0], np.ones(30))
    assert np.all(np.abs(rows[:, 1:]).sum(axis=1) <= ULPS)
    assert not np.any(np.delete(psi, instruments.used_entries(contexts, choice), axis=1))


@pytest.mark.parametrize("contexts", [1, 2, 3, 8, 32])
def test_no_attack_moves_descriptions_by_more_than_is_charged(contexts: int) -> None:
    """Two customers of the same length at a right angle, in other bins everywhere, reach it where entries pair up."""
    k = contexts
    found = climbed(lambda at: lengths(described(at[:, :k]) - described(at[:, k:])), starts(k, 0))
    assert found <= of_covariance(REPLACED) * ULPS
    turned = np.where(np.arange(k) % 2 == 0, 0.7, -0.7)
    apart = float(lengths(described(np.ones((1, k))) - described(turned[None, :]))[0])
    assert apart <= of_covariance(REPLACED) * ULPS
    assert k % 2 == 1 or apart == pytest.approx(of_covariance(REPLACED), rel=1e-12)


@property_test
@given(seeds, st.integers(1, 32))
def test_a_description_counts_each_entry_once_and_has_length_one_at_most(seed: int, contexts: int) -> None:
    random = np.random.default_rng(seed)
    x = random.choice([1e-200, 0.3, 1.0]) * random.choice([-1.0, 1.0, 0.5], size=(20, contexts))
    rows = described(x)
    assert np.all(lengths(rows) <= of_covariance(Adjacency.ZERO_OUT) * ULPS)
    bins = rows[:, : contexts * BINS].reshape(20, contexts, BINS) * math.sqrt(2.0 * contexts)
    assert np.allclose(np.sort(bins, axis=2), np.eye(BINS)[-1])


@property_test
@given(seeds, sizes, st.sampled_from(CHOICES), st.sampled_from([-12.0, -3.9, 3.0]))
def test_whatever_records_hold_they_add_no_more_than_is_charged(
    seed: int, contexts: int, choice: int, level: float
) -> None:
    random = np.random.default_rng(seed)
    made, count = learner(contexts, choice=choice, level=level), 24
    x, z, coins, y, holdout = wild(random, count, contexts)
    coins[1::2], holdout[1::2] = coins[::2], holdout[::2]  # pairs of neighbours: coin and holdout read no record
    scores, descriptions, earnings = made._contributions(x, z, coins, y, belief(random, contexts), holdout=holdout)
    noise = made._rules.noise
    common, personal = (1.0 / scale for scale in noise.scales(choice))
    weights = np.where(instruments.is_common(contexts), common, personal)
    for adjacency, rows in ((REPLACED, lambda part: part[::2] - part[1::2]), (Adjacency.ZERO_OUT, lambda part: part)):
        charged = of_sides(noise.least, noise.most, (common, personal), adjacency)
        assert np.all(np.abs(rows(scores) * weights).sum(axis=1) <= charged * ULPS)
        assert np.all(lengths(rows(descriptions)) <= of_covariance(adjacency) * ULPS)
        assert np.all(lengths(rows(earnings)) <= 1.0)
    assert np.array_equal(earnings[:, 0][~holdout], np.zeros((~holdout).sum()))  # in one of the two alone
    assert np.array_equal(earnings[:, 1][holdout], np.zeros(holdout.sum()))
    assert earnings.min() >= 0.0


def test_a_belief_beyond_all_floats_makes_no_score_beyond_its_bounds() -> None:
    made = learner(2, choice=2)
    theta = np.array([1e308, -1e308, 1e308, 1e308, 1e308, 1e308])
    x = np.array(list(itertools.product((-1.0, 1.0), repeat=2)))
    with np.errstate(all="ignore"):
        scores, _, _ = made._contributions(x, x[:, 0], np.ones(4), np.zeros(4), theta, holdout=np.zeros(4, dtype=bool))
    assert np.all(np.abs(scores).sum(axis=1) <= 2.0)  # NaN is not


@property_test
@given(seeds, sizes, st.integers(1, 40))
def test_what_a_record_adds_does_not_depend_on_who_comes_with_it(seed: int, contexts: int, count: int) -> None:
    """Bit for bit: else a record that cannot be read in one world would move what others add."""
    random = np.random.default_rng(seed)
    made, given_records, theta = learner(contexts), wild(random, count, contexts), belief(random, contexts)
    together = made._contributions(*given_records[:4], theta, holdout=given_records[4])
    some = np.union1d(np.flatnonzero(random.random(count) < 0.5), [0])
    apart = made._contributions(*(each[some] for each in given_records[:4]), theta, holdout=given_records[4][some])
    for whole, part in zip(together, apart, strict=True):
        assert whole[some].tobytes() == part.tobytes()
