"""The paper's composition rules: a second transcription, and that its per-call share does fit into the target."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hushprice.errors import InvalidInput
from hushprice.policies.paper.published_noise import per_estimate
from hushprice.policies.paper.report.worked import advanced, basic
from hushprice.privacy.budget import EpsilonDelta

property_test = settings(deadline=None, derandomize=True)
counts = st.integers(1, 1000)
epsilons = st.floats(1e-4, 5.0)
deltas = st.floats(-60.0, -1.0).map(lambda power: 10.0**power)


@property_test
@given(epsilons, deltas, counts)
def test_basic_by_a_second_transcription(epsilon: float, delta: float, count: int) -> None:
    """fact:composition, 1: epsilons and deltas add."""
    total = EpsilonDelta(0.0, 0.0)
    if count * delta <= 1.0:
        for _ in range(count):
            total = total + EpsilonDelta(epsilon, delta)
        found = basic(EpsilonDelta(epsilon, delta), count)
        assert (found.epsilon, found.delta) == pytest.approx((total.epsilon, total.delta), rel=1e-12)
    else:
        assert basic(EpsilonDelta(epsilon, delta), count).delta == 1.0


@property_test
@given(epsilons, deltas, counts, deltas)
def test_advanced_by_a_second_transcription(epsilon: float, delta: float, count: int, slack: float) -> None:
    """fact:composition, 2: (sqrt(2 k ln(1/d')) e + k e (e^e - 1), k d + d')."""
    found = advanced(EpsilonDelta(epsilon, delta), count, slack)
    expected = np.sqrt(2 * count * np.log(1 / slack)) * epsilon + count * epsilon * (np.exp(epsilon) - 1)
    assert found.epsilon == pytest.approx(expected, rel=1e-9)
    assert found.delta == pytest.approx(min(1.0, count * delta + slack), rel=1e-12)


@property_test
@given(st.floats(1e-3, 1.0, exclude_max=True), st.floats(-60.0, -1.0).map(lambda power: 10.0**power), counts)
@example(0.999, 0.1, 1)
def test_the_papers_share_of_a_call_fits_into_the_target(epsilon: float, delta: float, calls: int) -> None:
    """cor:advanced-composition: k calls of e' = e / (2 sqrt(2 k ln(1/d'))), d' = d / 2k, and slack d / 2."""
    each = per_estimate(EpsilonDelta(epsilon, delta), calls, halved=True)
    assert each.epsilon < 1.0
    total = advanced(each, calls, delta / 2)
    assert total.epsilon <= epsilon
    assert total.delta <= delta * (1.0 + 1e-12)


def test_a_share_without_the_printed_factor_does_not_fit() -> None:
    """One call; with many, ln(1/d') against ln(2/d) happens to leave room for it."""
    for delta in (0.1, 1e-10):
        each = per_estimate(EpsilonDelta(0.9, delta), 1, halved=False)
        assert advanced(each, 1, delta / 2).epsilon > 0.9


def test_neither_rule_is_always_the_better() -> None:
    each = EpsilonDelta(0.01, 1e-12)
    assert advanced(each, 10_000, 1e-9).epsilon < basic(each, 10_000).epsilon
    assert advanced(each, 17, 1e-10).epsilon > basic(each, 17).epsilon


@pytest.mark.parametrize("count", [0, -1, 1.0, True, math.nan, None])
def test_a_count_is_a_whole_number(count: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^count must be a whole number"):
        basic(EpsilonDelta(1.0, 0.1), count)
    with pytest.raises(InvalidInput, match=r"^count must be a whole number"):
        advanced(EpsilonDelta(1.0, 0.1), count, 0.1)


@pytest.mark.parametrize("slack", [0.0, 1.0, math.nan, -0.1, None])
def test_slack_is_a_probability(slack: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^slack must"):
        advanced(EpsilonDelta(1.0, 0.1), 2, slack)
