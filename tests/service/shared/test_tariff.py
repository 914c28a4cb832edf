"""Prices in currency: exact, inside what the rules allow, and rising with what the optimizer says."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.service.products import make_product

from hushprice.errors import InvalidInput
from hushprice.service.shared.tariff import PriceRules, Tariff, charge, check_rules, units

SHARES = st.floats(0.0, 1.0)


@st.composite
def tariffs(draw: st.DrawFn) -> tuple[Tariff, dict[str, Any]]:
    """A product with rules that fit it, and the rules in units of the last decimal."""
    decimals = draw(st.integers(0, 4))
    one = 10**decimals
    top = draw(st.integers(1, 10**7))
    cost = draw(st.integers(0, top - 1))
    reference = draw(st.integers(max(cost, 1), top))
    floor = draw(st.none() | st.integers(cost, reference))
    ceiling = draw(st.none() | st.integers(reference, top))
    step = draw(st.none() | st.integers(1, top))
    ladder = draw(st.none() | st.integers(0, one - 1))
    product = make_product(ceiling=top / one, unit_cost=cost / one, decimals=decimals)
    rules = PriceRules(
        floor=None if floor is None else floor / one,
        ceiling=None if ceiling is None else ceiling / one,
        largest_step=None if step is None else step / one,
        ladder=None if ladder is None else ladder / one,
    )
    low = max(cost, floor or 0, reference - (top if step is None else step))
    high = min(top, top if ceiling is None else ceiling, reference + (top if step is None else step))
    known = {"one": one, "top": top, "low": low, "high": high, "ladder": ladder, "decimals": decimals}
    return Tariff(product, rules, reference / one), known


def in_units(charged: str, decimals: int) -> int:
    value = Decimal(charged).scaleb(decimals)
    assert value == int(value)
    return int(value)


def oracle(p: float, known: dict[str, Any]) -> int:
    """The rules by their words: every price there is, tried one after the other."""
    price = int((Decimal(known["top"]) * Decimal(p)).quantize(Decimal(1), ROUND_HALF_UP))
    price = min(max(price, known["low"]), known["high"])
    ladder, one = known["ladder"], known["one"]
    if ladder is None:
        return price
    near = [one * k + ladder for k in range(price // one - 2, price // one + 3)]
    inside = [each for each in near if known["low"] <= each <= known["high"]]
    best = min(inside or near, key=lambda each: (abs(each - price), -each))
    return min(max(best, known["low"]), known["high"])


@given(tariffs(), SHARES)
def test_a_price_is_what_the_rules_say_in_their_order(made: tuple[Tariff, dict[str, Any]], p: float) -> None:
    tariff, known = made
    assume(abs(known["top"] * p % 1.0 - 0.5) > 1e-6)  # a tie may go either way in the last digit of a float
    assert in_units(tariff.charge(p).charged, known["decimals"]) == oracle(p, known)


@given(tariffs(), SHARES)
def test_a_price_is_inside_all_bounds_and_its_share_is_what_was_charged(
    made: tuple[Tariff, dict[str, Any]], p: float
) -> None:
    tariff, known = made
    once = tariff.charge(p)
    charged, share = once.charged, once.share
    price = in_units(charged, known["decimals"])
    assert 0 <= known["low"] <= price <= known["high"] <= known["top"]
    assert share == price / known["top"]
    assert 0.0 <= share <= 1.0
    _, _, after = charged.partition(".")
    assert len(after) == known["decimals"]


@given(tariffs(), SHARES)
def test_a_price_charged_is_not_moved_again(made: tuple[Tariff, dict[str, Any]], p: float) -> None:
    tariff, _ = made
    once = tariff.charge(p)
    assert tariff.charge(once.share) == once


@given(tariffs(), SHARES, SHARES)
def test_prices_rise_with_p(made: tuple[Tariff, dict[str, Any]], one: float, other: float) -> None:
    tariff, _ = made
    low, high = sorted((one, other))
    assert tariff.charge(low).share <= tariff.charge(high).share


@given(tariffs())
def test_the_reference_price_is_charged_as_it_stands(made: tuple[Tariff, dict[str, Any]]) -> None:
    tariff, known = made
    assert known["low"] <= in_units(tariff.reference.charged, known["decimals"]) <= known["high"]


@pytest.mark.parametrize(
    ("p", "rules", "charged"),
    [
        (0.333, {}, "13.32"),
        (0.0, {}, "0.00"),
        (1.0, {}, "40.00"),
        (0.333, {"ladder": 0.99}, "12.99"),
        (0.34, {"ladder": 0.99}, "13.99"),
        (1.0, {"ladder": 0.99}, "39.99"),
        (0.0, {"ladder": 0.99}, "0.99"),
        (0.1, {"floor": 8.5}, "8.50"),
        (0.1, {"floor": 8.5, "ladder": 0.0}, "9.00"),  # 8.00 is nearer, and below the floor
        (0.9, {"ceiling": 25.0, "ladder": 0.99}, "24.99"),
        (0.9, {"largest_step": 3.0}, "23.00"),
        (0.1, {"largest_step": 3.0, "ladder": 0.99}, "17.99"),
        (0.9, {"largest_step": 3.0, "ceiling": 22.0}, "22.00"),
        (0.9, {"largest_step": 0.3, "ladder": 0.49}, "20.30"),  # no price on the ladder in reach: the bound
        (0.1, {"largest_step": 0.3, "ladder": 0.49}, "19.70"),
    ],
)
def test_prices_that_a_shop_would_write_down(p: float, rules: dict[str, float], charged: str) -> None:
    assert charge(p, make_product(), PriceRules(**rules), 20.0).charged == charged


def test_no_price_is_below_cost_and_none_is_rounded_below_it() -> None:
    product = make_product(unit_cost=10.004)
    assert charge(0.25, product, PriceRules(), 20.0).charged == "10.01"
    assert charge(0.0, product, PriceRules(ladder=0.99), 20.0).charged == "10.99"


@pytest.mark.parametrize(("decimals", "charged"), [(0, "13"), (1, "13.3"), (4, "13.3333")])
def test_a_currency_has_its_decimals(decimals: int, charged: str) -> None:
    assert charge(1 / 3, make_product(decimals=decimals), PriceRules(), 20.0).charged == charged


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"floor": -1.0}, "rules.floor must be a number at or above 0, got -1.0"),
        ({"floor": math.nan}, "rules.floor must be a number at or above 0, got nan"),
        ({"floor": 2e9}, "rules.floor must lie in [0, 1e+09], got 2000000000.0"),
        ({"floor": 1.999}, "rules.floor must have at most 2 decimals, got 1.999"),
        ({"floor": 4.0}, "rules.floor must be at or above the product's unit_cost, 5.0, got 4.0"),
        ({"floor": 30.0, "ceiling": 25.0}, "rules.floor must be at or below rules.ceiling, 25.0, got 30.0"),
        ({"floor": 25.0}, "reference_price must be at or above rules.floor, 25.0, got 20.0"),
        ({"ceiling": 41.0}, "rules.ceiling must be at or below the product's ceiling, 40.0, got 41.0"),
        ({"ceiling": 19.0}, "reference_price must be at or below rules.ceiling, 19.0, got 20.0"),
        ({"ceiling": math.inf}, "rules.ceiling must be a number at or above 0, got inf"),
        ({"largest_step": 0.0}, "rules.largest_step must be a positive number, got 0.0"),
        ({"ladder": 1.0}, "rules.ladder must be below 1, the part after the point, got 1.0"),
        ({"ladder": 0.999}, "rules.ladder must have at most 2 decimals, got 0.999"),
        ({"ladder": "x"}, "rules.ladder must be a number at or above 0, got 'x'"),
    ],
)
def test_rules_that_no_price_obeys_are_refused_by_the_field(rules: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_rules(PriceRules(**rules), make_product(unit_cost=5.0), 20.0)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("price", "message"),
    [
        (0.0, "reference_price must be a positive number, got 0.0"),
        (20.001, "reference_price must have at most 2 decimals, got 20.001"),
        (40.01, "reference_price must be at or below the product's ceiling, 40.0, got 40.01"),
        (4.99, "reference_price must be at or above the product's unit_cost, 5.0, got 4.99"),
    ],
)
def test_a_reference_price_that_cannot_be_charged_is_refused(price: float, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_rules(PriceRules(), make_product(unit_cost=5.0), price)
    assert str(caught.value) == message


@pytest.mark.parametrize("p", [-0.1, 1.1, math.nan])
def test_p_is_a_share(p: float) -> None:
    with pytest.raises(InvalidInput, match=r"^p must lie in \[0, 1\]"):
        charge(p, make_product(), PriceRules(), 20.0)


@given(st.integers(0, 10**13), st.integers(0, 4))
def test_an_amount_is_read_as_it_was_written(whole: int, decimals: int) -> None:
    written = Decimal(whole).scaleb(-decimals)
    assume(written <= 10**9)
    assert units(float(str(written)), decimals) == whole
