"""What the edge refuses: everything that is not the number asked for, by name and in one line."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushprice import checks
from hushprice.errors import InvalidInput

CHECKS: dict[str, Callable[..., None]] = {
    "finite": checks.finite,
    "positive": checks.positive,
    "non_negative": checks.non_negative,
    "at_least": lambda **values: checks.at_least(-5, **values),
    "probability": checks.probability,
    "within": lambda **values: checks.within(-5, 5, **values),
    "whole": lambda **values: checks.whole(-5, **values),
}
NOT_NUMBERS: list[Any] = [
    math.nan,
    math.inf,
    -math.inf,
    np.float64("nan"),
    np.float32("inf"),
    np.longdouble("inf"),
    True,
    np.True_,
    np.timedelta64(1, "s"),
    np.datetime64("2020-01-01"),
    0.5 + 0j,
    np.complex128(0.5),
    Decimal("0.5"),
    "0.5",
    b"1",
    None,
    [0.5],
    np.array([0.5]),
    {},
]
RULES: dict[str, Callable[[float], bool]] = {
    "finite": lambda x: True,
    "positive": lambda x: x > 0,
    "non_negative": lambda x: x >= 0,
    "at_least": lambda x: x >= -5,
    "probability": lambda x: 0 < x < 1,
    "within": lambda x: -5 <= x <= 5,
}


def accepts(check: str, value: Any) -> bool:
    """Whether the value passes; a refusal must name the field, in one line."""
    try:
        CHECKS[check](field=value)
    except InvalidInput as refusal:
        message = str(refusal)
    else:
        return True
    assert message.startswith("field must")
    assert len(message.splitlines()) == 1
    return False


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("value", NOT_NUMBERS, ids=repr)
def test_what_is_no_number_passes_no_check(check: str, value: Any) -> None:
    assert not accepts(check, value)


@pytest.mark.parametrize("check", RULES)
@pytest.mark.parametrize("value", [10**400, -(10**400), 10**5000], ids=["large", "small", "too long to print"])
def test_an_integer_beyond_every_float_is_refused_and_not_a_crash(check: str, value: int) -> None:
    assert not accepts(check, value)


@pytest.mark.parametrize("check", RULES)
@pytest.mark.parametrize("kind", [float, np.float64, np.float32, np.float16, np.longdouble])
@given(value=st.floats(-10, 10, width=16))
def test_floats_of_every_kind_are_held_to_the_rule(check: str, kind: type, value: float) -> None:
    assert accepts(check, kind(value)) == RULES[check](value)


@pytest.mark.parametrize("check", [*RULES, "whole"])
@pytest.mark.parametrize("kind", [int, np.int8, np.int64])
@given(value=st.integers(-10, 10))
def test_integers_of_every_kind_are_held_to_the_rule(check: str, kind: type, value: int) -> None:
    rule = RULES.get(check, lambda x: x >= -5)
    assert accepts(check, kind(value)) == rule(value)


@pytest.mark.parametrize("value", [1.0, np.float64(2.0), 1.5])
def test_a_float_is_no_whole_number_even_without_a_fraction(value: float) -> None:
    assert not accepts("whole", value)


def test_whole_numbers_have_no_upper_end() -> None:
    assert accepts("whole", 10**400)


def test_the_first_bad_value_of_several_is_named() -> None:
    with pytest.raises(InvalidInput, match=r"^second must be a positive number, got -1$"):
        checks.positive(first=1.0, second=-1, third=math.nan)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: checks.finite(x=math.nan), "x must be a finite number, got nan"),
        (lambda: checks.non_negative(x=-1), "x must be a number at or above 0, got -1"),
        (lambda: checks.at_least(1, x=0.5), "x must be a number at or above 1, got 0.5"),
        (lambda: checks.probability(x=1.0), "x must lie strictly between 0 and 1, got 1.0"),
        (lambda: checks.within(0, 2.5, x=3), "x must lie in [0, 2.5], got 3"),
        (lambda: checks.whole(2, x=1), "x must be a whole number at or above 2, got 1"),
        (lambda: checks.vector(2, x=[1.0, math.nan]), "x[1] must be a finite number, got nan"),
        (lambda: checks.vector(2, x=[1.0]), "x must have 2 entries, got shape (1,)"),
        (lambda: checks.vector(2, x="ab"), "x must be a vector of 2 numbers, got 'ab'"),
    ],
)
def test_a_refusal_names_the_field_the_rule_and_the_value(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        call()
    assert str(refusal.value) == message


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=5))
def test_a_vector_of_finite_numbers_comes_back_as_floats(values: list[float]) -> None:
    for given_ in (values, tuple(values), np.array(values)):
        array = checks.vector(len(values), x=given_)
        assert array.dtype == np.float64
        np.testing.assert_array_equal(array, values)


def test_a_vector_of_integers_or_single_floats_comes_back_as_floats() -> None:
    for kind in (np.int32, np.uint8, np.float32):
        assert checks.vector(2, x=np.array([1, 2], dtype=kind)).dtype == np.float64


@pytest.mark.parametrize(
    "value",
    [
        [1.0, math.inf],
        [10**400, 1],
        [True, False],
        ["1", "2"],
        [1 + 0j, 2],
        np.array([1, 2], dtype="m8[s]"),
        np.array(["2020", "2021"], dtype="M8[Y]"),
        [[1.0], [2.0, 3.0]],
        [[1.0, 2.0]],
        [None, 1.0],
        1.0,
        None,
    ],
    ids=repr,
)
def test_what_is_no_vector_of_two_finite_numbers_is_refused_by_name(value: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^x"):
        checks.vector(2, x=value)


@pytest.mark.parametrize("value", [10**5000, "x" * 10_000, "two\nlines", np.eye(40)], ids=lambda v: type(v).__name__)
def test_any_value_is_shown_in_one_short_line(value: Any) -> None:
    text = checks.shown(value)
    assert len(text) <= 83
    assert len(text.splitlines()) == 1
