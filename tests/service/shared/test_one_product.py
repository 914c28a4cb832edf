"""One product at every entrance: the same fields, the same defaults, the same words where it is refused."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields
from typing import Any

import msgspec
import numpy as np
import pytest

from hushprice import Product as ShopProduct
from hushprice import open_pricer, simulate
from hushprice.errors import InvalidInput
from hushprice.policies.cautious.pricing.quoter import CautiousQuoter
from hushprice.product_file import FIELDS, REQUIRED, product_of
from hushprice.research.planner.plan import plan as planned_market
from hushprice.research.shop_planner.plan import plan_shop
from hushprice.service.quoting.priced_product import PricedProduct
from hushprice.service.shared.product import Product, declared_shop_product
from hushprice.service.shared.product_checks import check
from hushprice.service.store.values import StoredProduct
from hushprice.simulation.market_file import FeaturesTable

LIBRARY = {field.name: field.default for field in fields(ShopProduct)}
SHOP: dict[str, Any] = {"floor": 20.0, "ceiling": 30.0, "reference_price": 25.0, "conversion": 0.02}
ONLY_A_SERVICE = {
    "name",
    "currency",
    "decimals",
    "horizon",
    "quote_seconds",
    "outcome_seconds",
    "records_per_customer",
    "retention_days",
    "rules",
    "trust",
    "aggregators",
    "policy",
    "features",  # of policy noisy-newton
    "family",
    "slope",
    "bound",
}
# Another policy needs none of these, and JSON has no schema object: null stands for what the library has.
NULL = {"floor", "reference_price", "conversion", "contexts", "schema"}


def declared(**given: Any) -> Product:
    return msgspec.convert({"name": "scarf", "currency": "EUR", **given}, type=Product)


def test_a_service_knows_the_librarys_fields_and_what_only_a_service_needs() -> None:
    found = msgspec.structs.fields(Product)
    assert {field.name for field in found} == set(LIBRARY) | ONLY_A_SERVICE
    for field in found:
        if field.name in NULL:
            assert field.default is None
        elif field.name in LIBRARY and LIBRARY[field.name] is not MISSING:
            assert field.default == LIBRARY[field.name], field.name


def test_the_default_map_is_one_everywhere() -> None:
    plain = inspect.signature(open_pricer).parameters["features"].default
    assert declared(ceiling=30.0, contexts=1).features == plain == FeaturesTable().map
    assert inspect.signature(planned_market).parameters["map"].default == plain


def test_files_know_the_same_fields() -> None:
    assert set(FIELDS) == set(LIBRARY)
    assert set(REQUIRED) == {name for name, default in LIBRARY.items() if default is MISSING}


def test_pricers_simulations_and_plans_take_the_product_itself() -> None:
    for entrance in (open_pricer, simulate, plan_shop):
        said = inspect.signature(entrance).parameters["product"].annotation
        assert said.removesuffix(" | None") == "Product"


GOOD: list[dict[str, Any]] = [
    {},
    {"contexts": 3, "most": 4.0, "step": 0.5, "ending": 0.25, "risk": 0.1},
    {"floor": 0.0, "ceiling": 100.0, "conversion": 0.95, "contexts": 32},
    {"floor": 23.75, "ceiling": 26.25, "conversion": 0.001, "elasticity": (1.0, 3.0)},
    {"floor": 0.0, "unit_cost": 8.0},
    {"unit_cost": 24.337, "holdout": 0.2, "delta": 1e-9, "epsilon": 0.1},
    {"most": 3.0, "conversion": 1.5, "elasticity": 2.0},
    {"risk": 0.0},
    {"risk": 1.0},
]


@pytest.mark.parametrize("more", GOOD, ids=str)
def test_the_same_fields_make_the_same_product_and_it_can_be_priced(more: dict[str, Any]) -> None:
    given = SHOP | more
    own = ShopProduct(**given)
    assert declared_shop_product(declared(**given)) == own == product_of(given)
    check(product := declared(**given))
    stored = StoredProduct("scarf", msgspec.json.encode(product), "open", b"{}", None, 0, 0.0)
    priced = PricedProduct(stored, None).open()
    prices = [float(priced.price(bytes(8 * own.contexts), uniform).charged) for uniform in (0.1, 0.9)]
    assert max(own.floor, own.unit_cost) <= prices[0] <= own.reference_price <= prices[1] <= own.ceiling
    quoter = open_pricer(product=own).quoter
    assert isinstance(quoter, CautiousQuoter)
    alike = [own.price_of(quoter.relative_price(np.zeros(own.contexts), coin)) for coin in (-1.0, 1.0)]
    assert prices == pytest.approx(alike, abs=0.011)  # the service's prices are of whole cents


BAD: list[dict[str, Any]] = [
    {"floor": 26.0},
    {"floor": 25.0},
    {"floor": -1.0},
    {"floor": 24.99},
    {"ceiling": 25.01},
    {"ceiling": 24.0},
    {"reference_price": 0.0},
    {"reference_price": -5.0},
    {"conversion": 0.0},
    {"conversion": 1.0},
    {"conversion": 1.5},
    {"conversion": -0.1},
    {"conversion": 1e-5},
    {"elasticity": -1.5},
    {"elasticity": 0.0},
    {"elasticity": (2.0, 1.0)},
    {"unit_cost": 31.0},
    {"unit_cost": 25.0},
    {"unit_cost": 24.9},
    {"unit_cost": -1.0},
    {"risk": -0.1},
    {"risk": 1.1},
    {"holdout": 0.9},
    {"epsilon": 0.0},
    {"delta": "2/X"},
    {"contexts": 33},
    {"contexts": -1},
    {"most": 0.5},
    {"most": 2e6},
    {"step": 0.0},
    {"step": 20.0},
    {"ending": -1.0},
    {"ending": 0.5},
]


@pytest.mark.parametrize("bad", BAD, ids=str)
def test_what_is_refused_is_refused_in_the_same_words_naming_the_field(bad: dict[str, Any]) -> None:
    ((field, value),) = bad.items()
    said = []
    for entrance in (lambda given: ShopProduct(**given), product_of, lambda given: check(declared(**given))):
        with pytest.raises(InvalidInput) as refused:
            entrance(SHOP | bad)
        said.append(str(refused.value))
    assert said[0] == said[1] == said[2]
    assert field in said[0]
    assert "\n" not in said[0]
    assert str(value) in said[0] or repr(value[0]) in said[0]


def test_a_step_is_a_price_of_the_currency_and_no_second_ladder() -> None:
    with pytest.raises(InvalidInput, match=r"^step must have at most 2 decimals, got 0.125$"):
        check(declared(**SHOP, step=0.125))
    with pytest.raises(InvalidInput, match=r"^step or rules.ladder may be given, one of them, got 0.5 beside it$"):
        check(declared(**SHOP, step=0.5, rules={"ladder": 0.99}))
    with pytest.raises(InvalidInput, match=r"^step is for policy 'cautious', got 0.5 for policy 'noisy-newton'$"):
        check(declared(ceiling=30.0, contexts=1, step=0.5))


def test_products_stored_before_are_read() -> None:
    """As the last version wrote one, field by field."""
    stored = (
        b'{"name":"scarf","currency":"EUR","conversion":0.02,"floor":20.0,"elasticity":null,"risk":0.02,"most":null,'
        b'"ceiling":30.0,"schema":null,"contexts":2,"decimals":2,"unit_cost":0.0,"reference_price":25.0,"epsilon":1.0,'
        b'"delta":"2/T^2","horizon":1000000,"policy":"cautious","features":"intercept","family":"logistic",'
        b'"slope":null,"bound":null,"quote_seconds":900.0,"outcome_seconds":3600.0,"holdout":0.1,'
        b'"records_per_customer":null,"retention_days":400,"rules":{}}'
    )
    read = msgspec.json.decode(stored, type=Product)
    check(read)
    assert declared_shop_product(read) == ShopProduct(**SHOP, contexts=2, holdout=0.1)
