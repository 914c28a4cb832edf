"""One customer alone gets the price that the lanes give, digit for digit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushprice.demand.family import GAUSSIAN, LOGISTIC, POISSON
from hushprice.numerics.jit import COMPILED
from hushprice.price_search import many, one
from hushprice.price_search.certified import STACK

work, short = np.zeros(many.WORK), np.zeros(STACK)


def side_by_side(family: int, slope: float, row: Any, width: float) -> float:
    columns, price = np.array(row)[:, None], np.full(1, np.nan)
    many.best_prices(family, slope, width, 1, *columns, price, work)
    return float(price[0])


def test_every_curve_gets_the_same_price(cases: Any) -> None:
    for family, slope, *row, width in cases(6000 if COMPILED else 500, seed=7):
        assert one.price_of_one(family, slope, width, *row, short) == side_by_side(family, slope, row, width)


numbers = st.floats(-40.0, 40.0)
sizes = st.sampled_from([0.0, 1e-6, 1e-4, 1e-2, 1.0, 30.0])


@pytest.mark.skipif(not COMPILED, reason="un-compiled, NumPy warns where numbers overflow")
@settings(max_examples=800)
@given(
    st.sampled_from([LOGISTIC, GAUSSIAN, POISSON]),
    st.sampled_from([0.1, 1.0, 4.0]),
    st.tuples(numbers, numbers, numbers, numbers, numbers),
    sizes,
    sizes,
)
def test_whatever_the_curve(family: int, slope: float, row: tuple[float, ...], size: float, width: float) -> None:
    row = (row[0] / slope / 4.0, row[1] / slope / 4.0, *(size * each for each in row[2:]))
    found = one.price_of_one(family, slope, width, *row, short)
    assert found == side_by_side(family, slope, row, width)
    assert 0.0 <= found <= 1.0


def test_a_room_that_is_too_small_for_lanes_is_priced_one_by_one(cases: Any) -> None:
    drawn = [case for case in cases(300, seed=8) if case[0] == LOGISTIC and case[1] == 4.0]
    rows = np.array([case[2:7] for case in drawn]).T.copy()
    found = [np.full(rows.shape[1], np.nan) for _ in range(2)]
    for prices, room in zip(found, (work, short), strict=True):
        one.best_prices(LOGISTIC, 4.0, 0.5, rows.shape[1], *rows, prices, room)
    assert found[0].tolist() == found[1].tolist()
