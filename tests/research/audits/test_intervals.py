"""Exact intervals against a second library and by adding up what they miss; the allowed advantage by brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import beta, binom

from hushprice.errors import InvalidInput
from hushprice.privacy.budget import EpsilonDelta
from hushprice.research.audits.intervals import clopper_pearson, most_advantage


@pytest.mark.parametrize("runs", [1, 2, 17, 1000, 20_000])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 1 - 1e-6])
def test_the_ends_are_those_of_a_second_library(runs: int, confidence: float) -> None:
    tail = (1 - confidence) / 2
    for successes in {0, 1, runs // 3, runs // 2, runs - 1, runs}:
        low, high = clopper_pearson(successes, runs, confidence)
        assert low == pytest.approx(beta.ppf(tail, successes, runs - successes + 1) if successes else 0.0, abs=1e-12)
        other = beta.isf(tail, successes + 1, runs - successes) if successes < runs else 1.0
        assert high == pytest.approx(other, abs=1e-12)


@pytest.mark.parametrize("probability", [0.001, 0.03, 0.31, 0.5, 0.999])
def test_the_truth_is_missed_no_more_often_than_stated(probability: float) -> None:
    """Added up over every possible count, so without chance; and an interval for 90 % does miss more than 5 %."""
    runs = 60
    weight = binom.pmf(np.arange(runs + 1), runs, probability)

    def missed(confidence: float) -> float:
        ends = [clopper_pearson(count, runs, confidence) for count in range(runs + 1)]
        return sum(w for w, (low, high) in zip(weight, ends, strict=True) if not low <= probability <= high)

    assert missed(0.95) <= 0.05
    if probability in (0.31, 0.5):
        assert missed(0.5) > 0.2  # an interval that is too short would be noticed


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.0, 0.0), (0.1, 0.01), (1.0, 0.0), (1.0, 0.2), (3.0, 1e-6), (900.0, 0)]
)
def test_no_pair_of_rates_inside_the_promise_gains_more_and_one_gains_as_much(epsilon: float, delta: float) -> None:
    right, wrong = np.meshgrid(np.linspace(0, 1, 401), np.linspace(0, 1, 401))
    factor = math.exp(min(epsilon, 700.0))
    inside = (right <= factor * wrong + delta + 1e-12) & (1 - wrong <= factor * (1 - right) + delta + 1e-12)
    gained = float((right - wrong)[inside].max())
    allowed = most_advantage(EpsilonDelta(epsilon, delta))
    assert gained <= allowed + 1e-9
    assert gained >= allowed - 0.01  # the grid's width


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 2, 0.9), r"successes must lie in \[0, 2\], got 3"),
        ((0, 0, 0.9), "runs must be a whole number at or above 1, got 0"),
        ((0, 9, 1.0), "confidence must lie strictly between 0 and 1, got 1.0"),
        ((0, 9, math.nan), "confidence must lie strictly between 0 and 1, got nan"),
    ],
)
def test_nonsense_is_refused(arguments: tuple[int, int, float], message: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{message}$"):
        clopper_pearson(*arguments)
