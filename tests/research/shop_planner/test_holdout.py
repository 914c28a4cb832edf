"""How many visitors a holdout needs: against the test it stands for, by the normal law and by drawing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from hushprice.errors import InvalidInput
from hushprice.research.shop_planner.holdout import visitors_to_show


@pytest.mark.parametrize(
    ("difference", "conversion", "holdout"), [(0.02, 0.02, 0.1), (0.1, 0.5, 0.3), (0.5, 0.9, 0.01)]
)
def test_so_many_visitors_have_the_power_that_is_said(difference: float, conversion: float, holdout: float) -> None:
    count = visitors_to_show(difference, conversion=conversion, holdout=holdout)
    groups = 1.0 / (count * holdout) + 1.0 / (count * (1.0 - holdout))
    deviation = math.sqrt(conversion * (1.0 - conversion) * groups)
    assert norm.sf(norm.ppf(0.975) - difference * conversion / deviation) == pytest.approx(0.8, abs=1e-3)


def test_drawn_purchases_show_the_difference_in_four_of_five_trials() -> None:
    # At margin 7 in both groups. Deviation of the share found: 0.009; of 2,000 trials, so a false alarm is below 1e-6.
    conversion, holdout, difference, margin = 0.3, 0.2, 0.1, 7.0
    count = visitors_to_show(difference, conversion=conversion, holdout=holdout)
    rng = np.random.default_rng(3)
    kept, others = round(count * holdout), round(count * (1.0 - holdout))
    stayed = margin * rng.binomial(kept, conversion, 2000) / kept
    earned = margin * rng.binomial(others, conversion * (1.0 + difference), 2000) / others
    variance = sum(mean * (margin - mean) / size for mean, size in ((stayed, kept), (earned, others)))
    seen = np.abs(earned - stayed) > norm.ppf(0.975) * np.sqrt(variance)
    assert 0.75 < seen.mean() < 0.85


def test_three_units_show_as_much_as_three_visitors() -> None:
    several, one = (visitors_to_show(0.02, conversion=0.3, holdout=0.1, units=units) for units in (3, 1))
    assert several == pytest.approx(one / 3, abs=1.0)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ((0.0, 0.02, 0.1), "show_difference must be a positive number, got 0.0"),
        ((math.nan, 0.02, 0.1), "show_difference"),
        ((0.02, 0.02, 0.0), "holdout must lie strictly between 0 and 1, got 0.0"),
        ((0.02, 1.0, 0.1), "conversion"),
    ],
)
def test_what_can_never_be_shown_is_refused(given: tuple[float, float, float], named: str) -> None:
    with pytest.raises(InvalidInput, match=named):
        visitors_to_show(given[0], conversion=given[1], holdout=given[2])
