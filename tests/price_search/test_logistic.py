"""The closed form of the best logistic price, against a fine grid."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hushprice.price_search.logistic import best_price_of_one, best_relative_price

LIMITS = {"lowest": -1.0, "highest": 0.8}


@given(
    level=st.floats(-8.0, 8.0), response=st.floats(-3.0, 30.0), margin=st.floats(1.0, 20.0), salt=st.floats(-1.0, 0.8)
)
def test_no_price_within_the_limits_earns_more(level: float, response: float, margin: float, salt: float) -> None:
    def earned(z: np.ndarray) -> np.ndarray:
        return (margin + z) / (1.0 + np.exp(-(level - response * z)))

    best = best_relative_price(np.array([level]), np.array([response]), margin=margin, **LIMITS)
    assert -1.0 <= best[0] <= 0.8
    tried = np.append(np.linspace(-1.0, 0.8, 2001), salt)
    assert earned(best)[0] >= earned(tried).max() * (1.0 - 1e-9)
    of_one = best_price_of_one(level, response, margin=margin, **LIMITS)
    assert math.isclose(of_one, best[0], rel_tol=0.0, abs_tol=1e-11)  # on plain numbers the same


def test_where_price_does_not_matter_the_highest_is_best() -> None:
    assert best_relative_price(np.zeros(1), np.zeros(1), margin=2.0, **LIMITS).tolist() == [0.8]
    assert best_relative_price(np.full(1, 900.0), np.ones(1), margin=2.0, **LIMITS).tolist() == [0.8]
    assert best_price_of_one(0.0, 0.0, margin=2.0, **LIMITS) == 0.8
    assert best_price_of_one(900.0, 1.0, margin=2.0, **LIMITS) == 0.8


def test_what_is_not_a_number_is_no_price() -> None:
    for level, response in ((math.nan, 1.0), (0.0, math.nan)):
        assert math.isnan(best_price_of_one(level, response, margin=2.0, **LIMITS))
