"""A product in a shop's words: what follows from it, and what is refused by the field."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.service.products import SCHEMA, make_product

from hushprice import Product as ShopProduct
from hushprice import open_pricer
from hushprice.demand.schema import Schema
from hushprice.errors import InvalidInput
from hushprice.policies.cautious.policy import CautiousPolicy
from hushprice.policies.newton.policy import NewtonPolicy
from hushprice.service.quoting.priced_product import PricedProduct
from hushprice.service.shared.product import (
    Product,
    check_reference,
    features_of,
    policy_of,
    quoter_of,
    shop_product_of,
    tariff_of,
)
from hushprice.service.shared.product_checks import check
from hushprice.service.shared.product_view import view_of
from hushprice.service.shared.tariff import PriceRules
from hushprice.service.store.values import StoredProduct

SHOP: dict[str, Any] = {"conversion": 0.02, "floor": 20.0, "reference_price": 25.0}


def shop(**changes: Any) -> Product:
    return make_product(**SHOP | changes)


def test_a_conversion_makes_a_product_cautious_and_one_without_stays_as_it_was() -> None:
    assert shop().policy == "cautious"
    assert isinstance(policy_of(shop()), CautiousPolicy)
    assert make_product().policy == "noisy-newton"
    before = b'{"name":"shirt","currency":"EUR","ceiling":40.0,"contexts":2,"policy":"noisy-newton"}'
    assert isinstance(policy_of(msgspec.json.decode(before, type=Product)), NewtonPolicy)
    assert msgspec.json.decode(msgspec.json.encode(shop()), type=Product) == shop()
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(before.replace(b'"noisy-newton"', b"null"), type=Product)


def test_a_product_is_priced_as_a_pricer_of_the_same_product() -> None:
    product = shop(schema=SCHEMA, unit_cost=4.0, elasticity=1.5, risk=0.05, epsilon=2.0, holdout=0.1)
    check(product)
    same = ShopProduct(
        floor=20.0,
        ceiling=40.0,
        reference_price=25.0,
        conversion=0.02,
        unit_cost=4.0,
        elasticity=1.5,
        schema=Schema.from_dict(SCHEMA),
        epsilon=2.0,
        risk=0.05,
        holdout=0.1,
        step=0.01,
    )
    assert shop_product_of(product) == same
    pricer = open_pricer(product=same, horizon=100_000)
    assert policy_of(product) == pricer.policy
    assert features_of(product) == pricer.features
    assert quoter_of(product).rule == pricer.quoter.rule  # type: ignore[union-attr, attr-defined]


def test_rules_that_are_declared_bound_what_is_tried_out() -> None:
    rules = PriceRules(floor=21.0, ceiling=35.0, largest_step=5.0, ladder=0.99)
    product = shop_product_of(shop(rules=rules, unit_cost=20.5))
    assert (product.floor, product.ceiling, product.step, product.ending) == (21.0, 30.0, 1.0, 0.99)
    assert (product.cheapest, product.dearest) == (21.99, 29.99)
    assert shop_product_of(shop(unit_cost=22.0)).floor == 22.0  # no price is below cost


@pytest.mark.parametrize("rules", [PriceRules(), PriceRules(ladder=0.99), PriceRules(largest_step=2.0)])
def test_both_of_a_coins_prices_are_charged_as_they_are(rules: PriceRules) -> None:
    product = shop(contexts=0, rules=rules, ceiling=30.0, conversion=0.3)
    spec = msgspec.json.encode(product)
    now = PricedProduct(StoredProduct("shirt", spec, "open", msgspec.json.encode(rules), None, 0, 0.0), None)
    own = shop_product_of(product)
    low, high = (float(now.price(b"", uniform).charged) for uniform in (0.1, 0.9))
    spread = now.quoter.rule.spread  # type: ignore[union-attr]
    assert spread > 0.0
    assert high - low == pytest.approx(2.0 * own.reach * spread)
    assert own.cheapest <= low < high <= own.dearest
    assert low <= float(now.price(b"", 0.5).charged) <= high


def test_no_price_is_below_the_floor_whatever_rules_are_set_later() -> None:
    assert float(tariff_of(shop(), PriceRules(floor=1.0)).charge(0.0).charged) == 20.0
    assert float(tariff_of(shop(), PriceRules(floor=22.0)).charge(0.0).charged) == 22.0
    with pytest.raises(InvalidInput, match=r"reference_price must be at or above floor, 20.0, got 19.0"):
        check_reference(shop(), 19.0)


@pytest.mark.parametrize("cost", [22.0, 22.005])
def test_a_product_whose_cost_is_above_its_floor_is_opened_and_not_sold_below_cost(cost: float) -> None:
    product = shop(unit_cost=cost)
    check(product)
    spec = msgspec.json.encode(product)
    PricedProduct(StoredProduct("shirt", spec, "open", msgspec.json.encode(product.rules), None, 0, 0.0), None).open()
    assert float(tariff_of(product).charge(0.0).charged) >= cost


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"floor": None}, "floor must be given for policy 'cautious'"),
        ({"reference_price": None}, "reference_price must be given for policy 'cautious'"),
        ({"conversion": None, "policy": "cautious"}, "conversion must be given for policy 'cautious'"),
        ({"floor": 26.0}, "floor must be below reference_price, 25.0, got 26.0"),
        ({"floor": 20.001}, "floor must have at most 2 decimals, got 20.001"),
        ({"conversion": 1.0}, "conversion must lie strictly between 0 and 1, got 1.0"),
        ({"elasticity": -1.0}, "elasticity must be a positive number, got -1.0"),
        ({"risk": 2.0}, "risk must lie in [0, 1], got 2.0"),
        ({"most": 0.5}, "most must lie in [1, 1e+06], got 0.5"),
        ({"slope": 4.0}, "slope is for policy 'noisy-newton', got 4.0 for policy 'cautious'"),
        ({"family": "poisson"}, "family is for policy 'noisy-newton', got 'poisson' for policy 'cautious'"),
        ({"policy": "noisy-newton"}, "conversion is for policy 'cautious', got 0.02 for policy 'noisy-newton'"),
        ({"policy": "fixed", "conversion": None}, "floor is for policy 'cautious', got 20.0 for policy 'fixed'"),
        ({"contexts": 33}, "contexts must lie in [0, 32], got 33"),
    ],
)
def test_what_cannot_be_is_refused_by_the_field_and_its_value(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check(shop(**changes))
    assert str(caught.value) == message


def test_thirty_two_numbers_may_describe_a_customer() -> None:
    check(shop(contexts=32))


def test_a_view_tells_what_a_shop_declared() -> None:
    product = shop(most=3.0, conversion=0.5)
    spec = msgspec.json.encode(product)
    view = view_of(StoredProduct("shirt", spec, "open", b"{}", None, 0, 0.0))
    assert (view.policy, view.conversion, view.floor, view.most) == ("cautious", 0.5, 20.0, 3.0)
    assert (view.slope, view.bound) == (None, 3.0)
