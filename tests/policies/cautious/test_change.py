"""Changes of demand: what they cost before they are noticed, and when they are."""

from __future__ import annotations

import numpy as np
import pytest
from tests.policies.cautious.shops_at_hand import MODEL, PEOPLE, chance, released, rule

from hushprice.policies.cautious.pricing import change
from hushprice.policies.cautious.pricing.belief import Belief
from hushprice.policies.cautious.pricing.change import (
    Change,
    believed_gain,
    certain_since,
    changed_thetas,
    changes_of,
    gain_under,
    gains_changed,
    surprising,
    worst_unnoticed,
)

THETA = np.array([0.2, 0.3, -0.2, -0.1, 0.02, -0.02])
SURE = Belief(THETA, 1e-6 * np.eye(6))


def mean_response(theta: np.ndarray) -> float:
    return float((MODEL.response + np.column_stack([np.ones(60), PEOPLE]) @ theta[3:]).mean())


def test_a_change_makes_customers_far_more_or_far_less_sensitive_and_leaves_todays_demand() -> None:
    steeper, flatter, *halfway = changed_thetas(MODEL, PEOPLE, THETA)
    assert mean_response(steeper) == pytest.approx(change._TIMES * MODEL.response)  # which is above what is believed
    assert mean_response(flatter) == pytest.approx(mean_response(THETA) / change._TIMES)
    for small, large in zip(halfway, (steeper, flatter), strict=True):
        most = MODEL.response if large is steeper else mean_response(THETA)
        assert mean_response(small) == pytest.approx((most * mean_response(large)) ** 0.5)
    for theta in (steeper, flatter, *halfway):
        assert [chance(theta, x, 0.0) for x in PEOPLE[:5]] == [chance(THETA, x, 0.0) for x in PEOPLE[:5]]


def test_a_gain_is_what_prices_earn_over_staying() -> None:
    middle = np.linspace(-0.4, 0.4, 60)
    earned = sum(
        0.5 * (5.0 + z + coin * 0.3) * chance(THETA, x, z + coin * 0.3)
        for x, z in zip(PEOPLE, middle, strict=True)
        for coin in (-1.0, 1.0)
    )
    staying = sum(5.0 * chance(THETA, x, 0.0) for x in PEOPLE)
    assert gain_under(MODEL, PEOPLE, THETA, (middle + 0.3, middle - 0.3)) == pytest.approx(earned / staying - 1.0)


def test_releases_speak_for_the_change_that_happened_and_against_the_others() -> None:
    given = rule(20_000, move=1.0, spread=0.2, choice=0)
    thetas = steeper, flatter, *_ = changed_thetas(MODEL, PEOPLE, THETA)
    for truth, signs in ((THETA, (-1, -1, -1, -1)), (steeper, (1, -1, 1, -1)), (flatter, (-1, 1, -1, 1))):
        found = changes_of(MODEL, PEOPLE, released(given, THETA, truth, noise=5.0), SURE)
        assert tuple(np.sign(each.evidence) for each in found) == signs
    gains = gains_changed(MODEL, PEOPLE, SURE, given)
    assert gains == [believed_gain(MODEL, PEOPLE, theta, given, THETA) for theta in thetas]
    assert gains == [each.gain for each in found]


def test_a_change_that_lies_between_the_large_ones_and_none_is_noticed() -> None:
    """Nobody pays today's price and no coin is tossed: what is sold there is as far from the large change as from none.

    A quarter less than believed is bought, as in "jump to elastic" of benchmarks/shops, which nothing showed for good.
    """
    given = rule(9000, move=1.0, choice=3)
    unsure = Belief(THETA, np.diag([0.05, 0.02, 0.02, 0.01, 0.005, 0.005]) ** 2)
    steeper, _, halfway, _ = changed_thetas(MODEL, PEOPLE, THETA)
    found = [
        changes_of(MODEL, PEOPLE, released(given, THETA, truth, noise=2.0), unsure)
        for truth in (THETA, halfway, 0.5 * (THETA + halfway))
    ]
    assert [certain_since([each]) for each in found] == [None, (0, 2), None]
    assert found[1][0].evidence < change._CERTAIN < found[1][2].evidence
    assert certain_since([changes_of(MODEL, PEOPLE, released(given, THETA, steeper, noise=2.0), unsure)]) == (0, 0)


def test_a_release_surprises_only_where_demand_is_not_what_was_believed() -> None:
    given = rule(20_000, choice=0)
    gone = THETA - np.array([1.6, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert not surprising(MODEL, PEOPLE, released(given, THETA, THETA, noise=5.0), SURE)
    assert surprising(MODEL, PEOPLE, released(given, THETA, gone, noise=5.0), SURE)
    unsure = Belief(THETA, np.eye(6))
    assert not surprising(MODEL, PEOPLE, released(given, THETA, gone, noise=5.0), unsure)


def both(evidence: float, gain: float) -> list[Change]:
    return [Change(evidence, gain), *[Change(-100.0, 0.0)] * 3]


def test_a_change_is_certain_from_the_batch_at_which_releases_speak_most_for_it() -> None:
    assert certain_since([]) is None
    enough = change._CERTAIN
    assert certain_since([both(0.4 * enough, 0.0), both(0.5 * enough, 0.0)]) is None
    assert certain_since([both(-0.6 * enough, 0.0), both(0.6 * enough, 0.0), both(0.5 * enough, 0.0)]) == (1, 0)
    assert certain_since([both(0.1 * enough, 0.0), both(0.6 * enough, 0.0), both(0.5 * enough, 0.0)]) == (0, 0)


def test_what_was_lost_counts_as_long_as_no_release_excludes_the_change() -> None:
    changes = [both(-5.0, -0.5), both(-0.5, -0.2), both(0.2, -0.1)]
    gained = np.array([0.0, 10.0, 30.0, 60.0])
    # From the last batch on: 30 - 100 * 0.1; from the second on: 10 - 200 * 0.2 - 10; from the first on it is excluded.
    assert worst_unnoticed(changes, [50, 200, 100], gained, 0) == pytest.approx(10.0 - 40.0 - 10.0)
    assert worst_unnoticed(changes, [50, 200, 100], gained, 1) == 60.0
