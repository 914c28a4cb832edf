"""Deltas as people write them."""

from __future__ import annotations

from typing import Any

import pytest

from hushprice.errors import InvalidInput
from hushprice.privacy.delta import parse_delta


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (1e-6, 1e-6),
        ("1e-6", 1e-6),
        ("2/T^2", 2e-10),
        (" 2 / T**2 ", 2e-10),
        ("1/T", 1e-5),
        ("0.5/T", 5e-6),
        ("1e-3/T^10", 1e-53),
    ],
)
def test_numbers_and_formulas(written: Any, value: float) -> None:
    assert parse_delta(written, 10**5) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize("written", ["", "T", "2/t^2", "1/T^-2", "two", "2/T^2/3", "1/T^" + "9" * 5000])
def test_what_is_no_number_is_refused(written: str) -> None:
    with pytest.raises(InvalidInput, match=r"^delta must be a number or a formula"):
        parse_delta(written, 10**5)


@pytest.mark.parametrize("written", ["nan", "inf", "0", "1", "-1e-9", "0/T", "7/T^0", 0.0, 1.0, None])
def test_what_is_no_probability_is_refused(written: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^delta must lie strictly between"):
        parse_delta(written, 10**5)


def test_a_formula_too_large_at_this_horizon_is_said_with_its_value() -> None:
    with pytest.raises(InvalidInput, match=r"got '2/T\^2', which is 2 at horizon 1$"):
        parse_delta("2/T^2", 1)


@pytest.mark.parametrize("written", ["2/T^400", "1/T^1000", "1/T^999999999", "1e-300/T^10", "0/T"])
def test_a_formula_too_small_for_a_float_is_said_to_be_0_at_this_horizon(written: str) -> None:
    with pytest.raises(
        InvalidInput, match=r"^delta must lie strictly between .* which is 0 at horizon 100000$"
    ) as found:
        parse_delta(written, 10**5)
    assert repr(written) in str(found.value)
