"""Records: the bounds that sensitivity rests on hold for every one, and nothing of them is ever told."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushprice.errors import InvalidInput
from hushprice.numerics.jit import COMPILED
from hushprice.records import Records, hold_to_unit_ball

property_test = settings(deadline=None, derandomize=True, max_examples=100 if COMPILED else 40)
numbers = st.floats(-1e6, 1e6)


def filled(count: int, dimension: int = 3, scale: float = 1.0) -> tuple[Records, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(3)
    phi, demand = scale * generator.normal(size=(dimension, count)), generator.normal(size=count)
    records = Records(dimension, 1.0)
    for column, y in zip(phi.T, demand, strict=True):
        records.append(column, y)
    return records, phi, demand


@property_test
@given(st.lists(st.tuples(st.tuples(numbers, numbers, numbers), numbers), max_size=20), st.floats(0.1, 10.0))
def test_every_record_is_held_to_both_bounds(rows: list[Any], bound: float) -> None:
    records = Records(3, bound)
    for features, y in rows:
        stored = records.append(np.array(features), y)
        assert np.linalg.norm(stored) <= 1.0 + 1e-15
        assert abs(records.demand[records.count - 1]) <= bound
        np.testing.assert_array_equal(stored, records.phi[:, records.count - 1])
    assert records.count == len(rows)
    lengths = [math.hypot(*features) for features, _ in rows]
    assert records.clipped_features <= sum(length > 1.0 for length in lengths)
    assert records.clipped_features >= sum(length > 1.0 + 1e-11 for length in lengths)
    assert records.clipped_demands == sum(abs(y) > bound for _, y in rows)


@property_test
@given(st.lists(numbers, max_size=20), st.floats(0.1, 10.0), st.floats(-1.0, 1.0))
def test_demand_is_held_between_the_lowest_and_the_bound(demands: list[float], bound: float, share: float) -> None:
    records = Records(1, bound, share * bound)
    for y in demands:
        records.append(np.array([0.5]), y)
    held = records.demand[: len(demands)]
    np.testing.assert_array_equal(held, np.clip(demands, share * bound, bound))
    assert records.clipped_demands == sum(not share * bound <= y <= bound for y in demands)


def test_demand_reaches_down_to_minus_the_bound_where_nothing_is_said() -> None:
    for records in (Records(1, 2.0), Records(1, 2.0, None), Records(1, 2.0, -2.0)):
        for y in (-9.0, -2.0, -1.5):
            records.append(np.array([0.5]), y)
        assert records.lowest == -2.0
        np.testing.assert_array_equal(records.demand[:3], [-2.0, -2.0, -1.5])
        assert records.clipped_demands == 1


def test_a_sale_that_was_returned_counts_as_none_and_is_counted() -> None:
    """Logistic demand is 0 or 1: sensitivity rests on no record below 0."""
    records = Records(1, 1.0, 0.0)
    for y in (-1.0, 0.0, 1.0, 2.0):
        records.append(np.array([0.5]), y)
    np.testing.assert_array_equal(records.demand[:4], [0.0, 0.0, 1.0, 1.0])
    assert records.clipped_demands == 2


@pytest.mark.parametrize("lowest", [-1.1, 1.1, math.nan, -math.inf])
def test_the_lowest_demand_lies_within_the_bound(lowest: float) -> None:
    with pytest.raises(InvalidInput, match=r"^lowest must"):
        Records(2, 1.0, lowest)


@property_test
@given(numbers, numbers, numbers)
def test_what_is_within_bounds_is_stored_as_it_is_and_the_rest_keeps_its_direction(
    a: float, b: float, c: float
) -> None:
    features = np.array([a, b, c])
    stored = Records(3, 1.0).append(features, 0.0)
    length = np.linalg.norm(features)
    if length < 1.0:
        np.testing.assert_array_equal(stored, features)
    else:
        np.testing.assert_allclose(stored, features / length, rtol=1e-14, atol=1e-300)


def test_rounding_past_the_ball_is_scaled_back_but_not_counted() -> None:
    phi = np.array([[1.0 + 1e-14, 1.0 + 1e-9, 0.5]])
    assert hold_to_unit_ball(phi, 0, 3) == 1
    np.testing.assert_array_equal(phi, [[1.0, 1.0, 0.5]])


def test_only_the_named_columns_are_held() -> None:
    phi = np.full((2, 5), 3.0)
    assert hold_to_unit_ball(phi, 1, 3) == 3
    np.testing.assert_array_equal(phi[:, [0, 4]], 3.0)
    np.testing.assert_allclose(phi[:, 1:4], math.sqrt(0.5))


@pytest.mark.parametrize("count", [0, 63, 64, 65, 200])
def test_growth_keeps_every_record_in_order(count: int) -> None:
    records, phi, demand = filled(count, scale=0.1)
    assert records.count == count
    assert records.phi.shape[1] == records.demand.size >= count
    np.testing.assert_array_equal(records.phi[:, :count], phi)
    np.testing.assert_array_equal(records.demand[:count], np.clip(demand, -1.0, 1.0))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", [0, 1, "demand"])
def test_nan_is_refused_without_a_change_and_without_telling(value: float, place: Any) -> None:
    records, phi, demand = filled(64, scale=0.1)
    features, y = np.array([0.123, 0.456, 0.789]), 0.321
    if place == "demand":
        y = value
    else:
        features[place] = value
    with pytest.raises(InvalidInput, match=r"^a record must be finite$"):
        records.append(features, y)
    assert (records.count, records.phi.shape) == (64, (3, 64))
    np.testing.assert_array_equal(records.phi, phi)
    np.testing.assert_array_equal(records.demand, np.clip(demand, -1.0, 1.0))


@pytest.mark.parametrize("shape", [(), (1,), (2,), (4,), (3, 1)])
def test_features_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    records = Records(3, 1.0)
    with pytest.raises(InvalidInput, match=r"^phi must have 3 entries, got shape"):
        records.append(np.full(shape, 0.123), 0.0)
    assert records.count == 0


def test_the_returned_features_are_a_copy() -> None:
    records = Records(2, 1.0)
    records.append(np.array([0.1, 0.2]), 0.5)[:] = 9.0
    np.testing.assert_array_equal(records.phi[:, 0], [0.1, 0.2])


def test_nothing_is_shown() -> None:
    assert repr(filled(3)[0]) == str(filled(3)[0]) == "Records(<sensitive>)"


@pytest.mark.parametrize(
    ("dimension", "bound", "name"),
    [(0, 1.0, "dimension"), (2.0, 1.0, "dimension"), (2, 0.0, "bound"), (2, math.nan, "bound"), (2, math.inf, "bound")],
)
def test_a_table_needs_a_dimension_and_a_bound(dimension: Any, bound: float, name: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{name} must"):
        Records(dimension, bound)


@pytest.mark.parametrize("count", [0, 5, 64, 70])
def test_restored_records_go_on_as_if_nothing_had_happened(count: int) -> None:
    """Bit for bit: norms a rounding error past 1 are not scaled a second time."""
    saved, *_ = filled(count, scale=5.0)
    restored = Records(3, 1.0)
    restored.restore(saved.phi[:, :count], saved.demand[:count])
    for records in (saved, restored):
        for _ in range(80):
            records.append(np.array([3.0, 0.5, 0.1]), 2.0)
    assert restored.count == saved.count == count + 80
    np.testing.assert_array_equal(restored.phi[:, : count + 80], saved.phi[:, : count + 80])
    np.testing.assert_array_equal(restored.demand[: count + 80], saved.demand[: count + 80])


@pytest.mark.parametrize("demand", [-0.1, 1.1, math.nan])
def test_saved_demand_below_the_lowest_is_not_restored(demand: float) -> None:
    records = Records(2, 1.0, 0.0)
    records.restore(np.array([[0.1], [0.1]]), np.array([0.0]))
    with pytest.raises(InvalidInput, match=r"^saved records must be finite and within the bounds"):
        records.restore(np.array([[0.1], [0.1]]), np.array([demand]))
    assert records.count == 1


@pytest.mark.parametrize(
    ("phi", "demand"),
    [
        ([[0.8], [0.8]], [0.0]),
        ([[1e200], [0.0]], [0.0]),
        ([[math.nan], [0.0]], [0.0]),
        ([[0.1], [0.1]], [1.5]),
        ([[0.1], [0.1]], [math.nan]),
        ([[0.1]], [0.5]),
        ([[0.1, 0.2], [0.1, 0.2]], [0.5]),
        ([[0.1], [0.1]], [[0.5]]),
    ],
)
def test_what_could_not_have_been_stored_is_not_restored(phi: Any, demand: Any) -> None:
    records = Records(2, 1.0)
    records.append(np.array([0.1, 0.2]), 0.5)
    with pytest.raises(InvalidInput, match=r"^saved records must (have|be)"):
        records.restore(np.array(phi), np.array(demand))
    assert records.count == 1
    np.testing.assert_array_equal(records.phi[:, 0], [0.1, 0.2])
