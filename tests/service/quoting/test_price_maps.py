"""Maps and curves are of the customer they say: a feature that is not named is in the middle, with all its entries."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import numpy as np
import pytest
from tests.service.products import make_product

from hushprice.policies.newton.pricing.quoter import NewtonQuoter
from hushprice.service.quoting.price_maps import demand_curve, draw_map, plan_map
from hushprice.service.quoting.priced_product import PricedProduct
from hushprice.service.shared.problems import Problem
from hushprice.service.store.values import StoredProduct

SCHEMA = {
    "attributes": [
        {"kind": "number", "name": "age", "low": 18, "high": 98, "flag_missing": True},
        {"kind": "category", "name": "region", "levels": ["south", "north", "west"]},
        {"kind": "number", "name": "spent", "low": 0, "high": 200},
    ]
}
MIDDLE = {"age": 58.0, "region": "south", "spent": 100.0}
SHOP = {"reference_price": 16.0, "floor": 12.0, "ceiling": 20.0, "conversion": 0.3}


def priced(**changes: Any) -> PricedProduct:
    product = make_product(schema=SCHEMA, **changes)
    rules = msgspec.json.encode(product.rules)
    made = PricedProduct(StoredProduct("shirt", msgspec.json.encode(product), "open", rules, None, 0, 0.0), None)
    if isinstance(made.quoter, NewtonQuoter):  # so sure that prices differ, and are inside
        made.quoter.ready = True
        made.quoter.theta[:] = np.linspace(0.4, -0.3, made.quoter.theta.size)
        made.quoter.theta[-1] = 1.0
        made.quoter.inverse[:] *= 1e-3
    return made


@pytest.mark.parametrize("policy", [{}, SHOP], ids=["noisy-newton", "cautious"])
@pytest.mark.parametrize(("x", "y"), [*itertools.permutations(MIDDLE, 2), *((name, None) for name in MIDDLE)])
def test_every_price_of_a_map_is_that_of_the_customer_at_its_point(policy: Any, x: str, y: str | None) -> None:
    product = priced(**policy)
    plan = plan_map(product, x, y, 3)
    drawn, found = draw_map(product, plan), set()
    for row, other in zip(drawn.prices, [None] if plan.up is None else plan.up.values, strict=True):
        for price, value in zip(row, plan.across.values, strict=True):
            customer = MIDDLE | {x: value} | ({} if y is None or other is None else {y: other})
            assert price == float(product.price(product.context(customer, None), 0.5).charged)
            found.add(price)
    assert policy or len(found) > 1


@pytest.mark.parametrize("policy", [{}, SHOP], ids=["noisy-newton", "cautious"])
def test_a_curve_is_that_of_the_customer_described(policy: Any) -> None:
    product = priced(**policy)
    for given in ({}, {"region": "north"}, {"age": "58", "region": "south", "spent": "100"}):
        curve = demand_curve(product, given)
        customer = MIDDLE | {name: value if name == "region" else float(value) for name, value in given.items()}
        assert curve.best_price == float(product.price(product.context(customer, None), 0.5).charged)
    assert demand_curve(product, {}) == demand_curve(product, {"age": "58", "region": "south", "spent": "100"})


@pytest.mark.parametrize("text", ["1_0", " 58", "58 ", "\u0665\u0668", "nan", "inf", "1e999", "0x3a", "", "5,8", "."])
def test_a_number_that_is_not_written_as_one_is_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(Problem) as refused:
        demand_curve(priced(**SHOP), {"age": text})
    complaint = refused.value.complaint
    assert (refused.value.status, complaint.field, complaint.message) == (422, "age", "must be a number")


@pytest.mark.parametrize("text", ["58", "58.", "+58.0", "5.8e1", "580E-1", "0058"])
def test_a_number_may_be_written_in_any_usual_way(text: str) -> None:
    product = priced(**SHOP)
    assert demand_curve(product, {"age": text}) == demand_curve(product, {"age": "58"})
