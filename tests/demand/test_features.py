"""Feature maps against their formulas, and the norm bound that the sensitivity of every release rests on."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushprice.demand import features
from hushprice.errors import InvalidInput
from hushprice.numerics.jit import COMPILED

property_test = settings(deadline=None, derandomize=True, max_examples=100 if COMPILED else 40)
contexts = st.lists(st.floats(-1.0, 1.0), min_size=0, max_size=6).map(np.array)
prices = st.floats(0.0, 1.0)
names = st.sampled_from(sorted(features.MAPS))

FORMULAS: dict[str, Callable[[np.ndarray, float], np.ndarray]] = {
    "main": lambda x, p: np.array([*x, -p]) / math.sqrt(len(x) + 1),
    "intercept": lambda x, p: np.array([1.0, *x, -p]) / math.sqrt(len(x) + 2),
    "interactions": lambda x, p: np.array([1.0, *x, -p, *(-p * x)]) / math.sqrt(2 * len(x) + 2),
}


def squares(**changes: Any) -> features.Affine:
    """[x; x^2; -p], whose largest norm is sqrt 3."""
    settings_: dict[str, Any] = {
        "contexts": 1,
        "dimension": 3,
        "u": lambda x: np.array([x[0], x[0] ** 2, 0.0]),
        "v": lambda x: np.array([0.0, 0.0, -1.0]),
        "largest_norm": math.sqrt(3.0),
    }
    return features.Affine(**(settings_ | changes))


@property_test
@given(names, contexts, prices)
def test_a_map_is_its_formula_and_affine_in_price(name: str, x: np.ndarray, price: float) -> None:
    u, v = features.by_name(name, len(x)).parts(x)
    np.testing.assert_allclose(u + price * v, FORMULAS[name](x, price), rtol=1e-15, atol=1e-16)


@property_test
@given(names, contexts, prices)
def test_features_never_leave_the_unit_ball(name: str, x: np.ndarray, price: float) -> None:
    u, v = features.by_name(name, len(x)).parts(x)
    assert np.linalg.norm(u + price * v) <= 1.0 + 1e-15


@pytest.mark.parametrize("name", sorted(features.MAPS))
@pytest.mark.parametrize("k", [0, 1, 4])
def test_the_unit_ball_is_used_to_its_border(name: str, k: int) -> None:
    u, v = features.by_name(name, k).parts(np.ones(k))
    assert np.linalg.norm(u + v) == pytest.approx(1.0, rel=1e-15)


@pytest.mark.parametrize("name", sorted(features.MAPS))
@pytest.mark.parametrize("k", [0, 1, 4])
def test_a_map_states_its_dimensions(name: str, k: int) -> None:
    chosen = features.by_name(name, k)
    assert (chosen.name, chosen.contexts) == (name, k)
    assert chosen.dimension == len(FORMULAS[name](np.zeros(k), 0.0)) == len(chosen.parts(np.zeros(k))[0])


@property_test
@given(names, st.integers(0, 4), st.integers(1, 7), st.integers(0, 2**32 - 1))
def test_many_customers_get_what_each_would_get_alone(name: str, k: int, count: int, seed: int) -> None:
    chosen = features.by_name(name, k)
    x = np.random.default_rng(seed).uniform(-1.0, 1.0, (k, count))
    u, v = np.full((2, chosen.dimension, count + 2), np.nan)
    features.fill(chosen.code, x, count, u, v)
    for i in range(count):
        alone = chosen.parts(x[:, i])
        np.testing.assert_array_equal((u[:, i], v[:, i]), alone)
    assert np.isnan(u[:, count:]).all()  # nobody else's column is touched


@pytest.mark.parametrize("bad", [[0.0], [0.0, 1.0, 0.0], [math.nan, 0.0], [0.0, math.inf], ["a", "b"], None])
@pytest.mark.parametrize("name", sorted(features.MAPS))
def test_a_context_that_is_not_k_finite_numbers_is_refused(name: str, bad: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^context"):
        features.by_name(name, 2).parts(bad)


@pytest.mark.parametrize("k", [-1, 1.5, True, math.nan])
@pytest.mark.parametrize("name", sorted(features.MAPS))
def test_a_number_of_attributes_that_is_none_is_refused(name: str, k: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^contexts must"):
        features.by_name(name, k)


def test_an_unknown_map_is_refused_with_the_list_of_known_ones() -> None:
    with pytest.raises(InvalidInput, match=r"one of main, intercept, interactions, got 'quadratic'"):
        features.by_name("quadratic", 2)


@property_test
@given(st.floats(-1.0, 1.0), prices)
def test_a_map_of_ones_own_is_divided_by_its_largest_norm(x: float, price: float) -> None:
    u, v = squares().parts(np.array([x]))
    np.testing.assert_allclose(math.sqrt(3.0) * (u + price * v), [x, x * x, -price], rtol=1e-14, atol=1e-15)
    assert np.linalg.norm(u + price * v) <= 1.0 + 1e-12


# The norm is convex in price: a map that leaves the ball inside [0, 1] leaves it at an end.
@pytest.mark.parametrize(
    ("u", "v", "price"),
    [([2.0, 0.0, 0.0], [-2.0, 0.0, 0.0], "0"), ([0.5, 0.0, 0.0], [0.0, 0.0, -5.0], "1")],
)
def test_a_map_above_its_declared_norm_is_refused_at_either_end(u: list[float], v: list[float], price: str) -> None:
    with pytest.raises(InvalidInput, match=rf"\|\|phi\|\| is .* at price {price}, above largest_norm 1.73205"):
        squares(u=lambda x: np.array(u), v=lambda x: np.array(v)).parts(np.array([0.0]))


@pytest.mark.parametrize("part", ["u", "v"])
@pytest.mark.parametrize("value", [[0.0, math.nan, 0.0], [0.0, 0.0], "text"])
def test_a_map_that_returns_something_else_than_d_finite_numbers_is_refused(part: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=f"^{part}"):
        squares(**{part: lambda x: value}).parts(np.array([0.5]))


@pytest.mark.parametrize(
    "change",
    [{"contexts": -1}, {"dimension": 0}, {"dimension": 2.0}, {"largest_norm": 0.0}, {"largest_norm": math.nan}],
)
def test_a_declaration_out_of_range_is_refused_by_name(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=f"^{next(iter(change))} must"):
        squares(**change)


@pytest.mark.skipif(not COMPILED, reason="there is nothing compiled to compare with")
@pytest.mark.parametrize("name", sorted(features.MAPS))
def test_the_compiled_map_repeats_the_plain_source_bit_for_bit(name: str) -> None:
    chosen, x = features.by_name(name, 3), np.random.default_rng(4).uniform(-1.0, 1.0, (3, 10))
    compiled, plain = np.empty((2, 2, chosen.dimension, 10))
    features.fill(chosen.code, x, 10, *compiled)
    features.fill.py_func(chosen.code, x, 10, *plain)
    np.testing.assert_array_equal(compiled, plain)
