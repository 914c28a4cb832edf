"""A product: what may be declared, what is refused by name, and what is built from it."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import msgspec
import numpy as np
import pytest
from tests.service.products import CUSTOMER, SCHEMA, make_product

from hushprice import open_pricer
from hushprice.demand.families import Logistic, Poisson
from hushprice.errors import InvalidInput
from hushprice.policies.newton.pricing.stored_belief import belief_of
from hushprice.privacy.budget import EpsilonDelta
from hushprice.service.shared.product import (
    Product,
    check_reference,
    context_of,
    demand_of,
    features_of,
    policy_of,
    quoter_of,
    reader_of,
    reference_price_of,
    tariff_of,
)
from hushprice.service.shared.product_checks import check
from hushprice.service.shared.product_view import product_of, reference_of, view_of
from hushprice.service.shared.tariff import PriceRules
from hushprice.service.store.values import StoredProduct


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"schema": SCHEMA},
        {"contexts": 0},
        {"contexts": 30},
        {"contexts": 15, "features": "interactions"},
        {"family": "poisson", "bound": 5.0, "slope": 2.0},
        {"policy": "fixed"},
        {"decimals": 0, "ceiling": 4000.0},
        {"delta": 1e-6, "epsilon": 0.5},
        {"outcome_seconds": 900.0},
        {"holdout": 0.5, "records_per_customer": 3},
        {"unit_cost": 39.995, "reference_price": 40.0},
        {"rules": PriceRules(floor=10.0, ceiling=30.0, largest_step=5.0, ladder=0.99)},
    ],
)
def test_sound_products_are_taken(changes: dict[str, Any]) -> None:
    product = make_product(**changes)
    check(product)
    assert msgspec.json.decode(msgspec.json.encode(product), type=Product) == product


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "Shirt"}, "name must match ^[a-z0-9][a-z0-9_-]{0,63}$, got 'Shirt'"),
        ({"name": "shirt\n"}, "name must match ^[a-z0-9][a-z0-9_-]{0,63}$, got 'shirt\\n'"),
        ({"currency": "euro"}, "currency must match ^[A-Z]{3}$, got 'euro'"),
        ({"ceiling": 0.0}, "ceiling must be a positive number, got 0.0"),
        ({"ceiling": math.nan}, "ceiling must be a positive number, got nan"),
        ({"ceiling": math.inf}, "ceiling must be a positive number, got inf"),
        ({"ceiling": 2e9}, "ceiling must lie in [0, 1e+09], got 2000000000.0"),
        ({"ceiling": 9.999}, "ceiling must have at most 2 decimals, got 9.999"),
        ({"contexts": None}, "schema or contexts must be given, one of them, got neither"),
        ({"contexts": 2, "schema": SCHEMA}, "schema or contexts must be given, one of them, got both"),
        ({"contexts": -1}, "contexts must be a whole number at or above 0, got -1"),
        ({"contexts": 10**9}, "contexts must lie in [0, 32], got 1000000000"),
        ({"contexts": 31}, "contexts must give at most 32 features, got 33"),
        ({"schema": {}}, "schema lacks the field 'attributes'"),
        (
            {"schema": {"attributes": [{"kind": "category", "name": "x", "levels": [str(i) for i in range(40)]}]}},
            "schema must give at most 32 features, got 41",
        ),
        ({"decimals": 5}, "decimals must lie in [0, 4], got 5"),
        ({"decimals": -1}, "decimals must be a whole number at or above 0, got -1"),
        ({"unit_cost": -1.0}, "unit_cost must be a number at or above 0, got -1.0"),
        ({"unit_cost": 40.0}, "unit_cost must be below ceiling, 40.0, got 40.0"),
        ({"unit_cost": math.nan}, "unit_cost must be a number at or above 0, got nan"),
        ({"reference_price": 0.0}, "reference_price must be a positive number, got 0.0"),
        ({"reference_price": 41.0}, "reference_price must be at or below ceiling, 40.0, got 41.0"),
        ({"reference_price": 4.0, "unit_cost": 5.0}, "reference_price must be at or above unit_cost, 5.0, got 4.0"),
        ({"epsilon": 0.0}, "epsilon must be a positive number, got 0.0"),
        ({"epsilon": math.inf}, "epsilon must be a positive number, got inf"),
        ({"delta": 0.0}, "delta must lie strictly between 0 and 1, got 0.0"),
        ({"delta": "many"}, "delta must be a number or a formula such as 2/T^2, got 'many'"),
        ({"delta": math.nan}, "delta must lie strictly between 0 and 1, got nan"),
        ({"horizon": 0}, "horizon must be a whole number at or above 1, got 0"),
        ({"horizon": 10**13}, "horizon must lie in [1, 1e+12], got 10000000000000"),
        ({"policy": "paper"}, "policy must be one of cautious, noisy-newton, fixed, got 'paper'"),
        ({"features": "all"}, "features must be one of main, intercept, interactions, got 'all'"),
        ({"family": "gaussian"}, "family must be one of logistic, poisson, got 'gaussian'"),
        ({"slope": 0.0}, "slope must lie in [0.001, 300], got 0.0"),
        ({"slope": math.nan}, "slope must lie in [0.001, 300], got nan"),
        ({"bound": 2.0}, "bound is for family 'poisson', got 2.0"),
        ({"family": "poisson", "bound": 0.0}, "bound must lie in [1, 1e+06], got 0.0"),
        ({"family": "poisson", "bound": 1e100}, "bound must lie in [1, 1e+06], got 1e+100"),
        ({"quote_seconds": 0.0}, "quote_seconds must be a positive number, got 0.0"),
        ({"outcome_seconds": math.inf}, "outcome_seconds must be a positive number, got inf"),
        ({"outcome_seconds": 1e9}, "outcome_seconds must lie in [0, 3.16224e+07], got 1000000000.0"),
        ({"outcome_seconds": 899.0}, "outcome_seconds must be at least quote_seconds, 900.0, got 899.0"),
        ({"holdout": 0.51}, "holdout must lie in [0, 0.5], got 0.51"),
        ({"holdout": math.nan}, "holdout must lie in [0, 0.5], got nan"),
        ({"records_per_customer": 0}, "records_per_customer must be a whole number at or above 1, got 0"),
        ({"records_per_customer": 10**7}, "records_per_customer must lie in [1, 10000], got 10000000"),
        ({"rules": PriceRules(floor=21.0)}, "reference_price must be at or above rules.floor, 21.0, got 20.0"),
        ({"epsilon": 1e9}, "epsilon 1000000000.0 at delta 2e-10 is out of reach"),
    ],
)
def test_what_cannot_be_sold_is_refused_by_the_field_and_its_value(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check(make_product(**changes))
    assert str(caught.value) == message


def test_every_field_is_checked_or_free() -> None:
    """Whoever adds a field says here that it was thought of."""
    assert set(Product.__struct_fields__) == {
        "name", "currency", "ceiling", "schema", "contexts", "decimals", "unit_cost", "reference_price", "epsilon",
        "delta", "horizon", "policy", "features", "family", "slope", "bound", "quote_seconds", "outcome_seconds",
        "holdout", "records_per_customer", "retention_days", "rules", "conversion", "floor", "elasticity",
        "step", "ending", "risk", "most", "prior", "trust", "aggregators",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "price"),
    [
        ({}, 20.0),
        ({"reference_price": 12.5}, 12.5),
        ({"unit_cost": 10.0}, 25.0),
        ({"ceiling": 0.01}, 0.01),
        ({"ceiling": 5.0, "decimals": 0}, 3.0),
    ],
)
def test_the_reference_price_is_the_middle_unless_it_is_declared(changes: dict[str, Any], price: float) -> None:
    product = make_product(**changes)
    check(product)
    assert reference_price_of(product) == price
    assert float(tariff_of(product).reference.charged) == price


def test_a_product_is_priced_as_a_pricer_of_the_same_settings() -> None:
    product = make_product(schema=SCHEMA, epsilon=2.0, reference_price=10.0, unit_cost=4.0)
    from hushprice.demand.schema import Schema

    pricer = open_pricer(
        horizon=100_000,
        schema=Schema.from_dict(SCHEMA),
        epsilon=2.0,
        features="intercept",
        reference_price=0.25,
        unit_cost=0.1,
    )
    assert policy_of(product) == pricer.policy
    assert policy_of(product) is policy_of(msgspec.structs.replace(product))  # built once
    assert policy_of(product).claimed == EpsilonDelta(2.0, 2e-10)
    assert (demand_of(product), features_of(product)) == (pricer.demand, pricer.features)
    context = context_of(product, CUSTOMER)
    assert quoter_of(product).price(context, 0.3) == pricer.quoter.price(context, 0.3)


def test_quantities_have_poisson_demand() -> None:
    assert demand_of(make_product(family="poisson")) == Poisson(slope=1.0, bound=10.0)
    assert demand_of(make_product(family="poisson", slope=0.5, bound=3.0)) == Poisson(slope=0.5, bound=3.0)
    assert demand_of(make_product()) == Logistic(slope=4.0)


def test_a_fixed_price_has_no_quoter_and_claims_zero() -> None:
    product = make_product(policy="fixed", reference_price=10.0)
    assert policy_of(product).claimed == EpsilonDelta(0.0, 0.0)
    assert policy_of(product).price == 0.25
    with pytest.raises(InvalidInput, match="policy 'fixed' has no quoter"):
        quoter_of(product)


def test_a_reference_price_set_later_moves_the_first_prices_and_not_the_first_belief() -> None:
    product = make_product(unit_cost=4.0)
    declared, moved = quoter_of(product), quoter_of(product, 32.0)
    context = np.zeros(2)
    assert declared.price(context, 0.5) == 0.55
    assert moved.price(context, 0.5) == 0.8
    assert belief_of(declared) == belief_of(moved)
    with pytest.raises(InvalidInput, match=r"^reference_price must be at or below ceiling"):
        quoter_of(product, 50.0)
    with pytest.raises(InvalidInput, match=r"^reference_price must have at most 2 decimals"):
        check_reference(product, 10.001)


def test_attributes_become_the_context_their_schema_gives() -> None:
    product = make_product(schema=SCHEMA)
    assert context_of(product, CUSTOMER).tolist() == [0.5, 1.0, 0.0, -1.0]
    assert reader_of(product).read({**CUSTOMER, "age": 130}, None).clipped == ("age",)
    assert reader_of(product).read(CUSTOMER, None).clipped == ()
    assert reader_of(product).names == ("age", "region=north", "region=west", "member")
    assert context_of(make_product(), context=[0.25, -1]).tolist() == [0.25, -1.0]
    assert context_of(make_product(contexts=0), context=[]).size == 0


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({**CUSTOMER, "age": "4711-secret"}, "attributes.age must be a finite number"),
        ({**CUSTOMER, "age": math.nan}, "attributes.age must be a finite number"),
        ({**CUSTOMER, "age": 10**400}, "attributes.age must be a finite number"),
        ({**CUSTOMER, "age": True}, "attributes.age must be a finite number"),
        ({**CUSTOMER, "region": "4711-secret"}, "attributes.region must be one of south, north, west"),
        ({**CUSTOMER, "region": ["4711-secret"]}, "attributes.region must be one of south, north, west"),
        ({**CUSTOMER, "member": "4711-secret"}, "attributes.member must be true or false"),
        ({**CUSTOMER, "4711-secret": 1}, "attributes has an undeclared field; declared are age, member, region"),
        ({"age": 20, "member": True}, "attributes lacks the field 'region'"),
        (["4711-secret"], "attributes must be a mapping of names to values"),
        (None, "attributes must be given, and no context: this product declares attributes"),
    ],
)
def test_no_message_says_a_customers_value(attributes: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        context_of(make_product(schema=SCHEMA), attributes)
    assert str(caught.value) == message
    assert "4711" not in str(caught.value)


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ([0.1], "context must be a list of 2 numbers"),
        ("ab", "context must be a list of 2 numbers"),
        ([0.1, 1.5], "context[1] must lie in [-1, 1]"),
        ([math.nan, 0.0], "context[0] must lie in [-1, 1]"),
        ([10**400, 0.0], "context[0] must lie in [-1, 1]"),
        ([True, 0.0], "context[0] must be a number"),
        (["0.1", 0.0], "context[0] must be a number"),
        (None, "context must be given, and no attributes: this product declares none"),
    ],
)
def test_a_context_is_a_list_of_shares(context: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        context_of(make_product(), context=context)
    assert str(caught.value) == message


def stored(product: Product, **changes: Any) -> StoredProduct:
    given: dict[str, Any] = {
        "name": product.name,
        "spec": msgspec.json.encode(product),
        "status": "open",
        "rules": msgspec.json.encode(product.rules),
        "reference_price": None,
        "slots": 7,
        "created": 1e9,
    }
    return StoredProduct(**given | changes)


def test_a_view_spells_out_defaults_and_what_was_set_later() -> None:
    product = make_product(unit_cost=4.0, schema=SCHEMA)
    rules = PriceRules(ladder=0.99)
    kept = stored(product, reference_price=0.31, rules=msgspec.json.encode(rules), status="frozen")
    shown = msgspec.to_builtins(view_of(kept))
    declared = msgspec.to_builtins(product)
    changed = {"unit_cost", "reference_price", "delta", "slope", "bound", "rules"}
    assert {name: shown[name] for name in declared if name not in changed} == {
        name: value for name, value in declared.items() if name not in changed
    }
    assert (shown["reference_price"], shown["delta"], shown["slope"], shown["bound"]) == (12.4, 2e-10, 4.0, 1.0)
    assert (shown["status"], shown["quotes"], shown["created"]) == ("frozen", 7, 1e9)
    assert shown["rules"]["ladder"] == 0.99
    assert shown["unit_cost"] is None
    assert view_of(kept, with_cost=True).unit_cost == 4.0
    assert (product_of(kept), reference_of(product, stored(product))) == (product, 22.0)


def test_what_quoters_import_never_reaches_a_record() -> None:
    """Beside the import contract: the modules by themselves, without the package's own shop window."""
    code = (
        "import sys, types, pathlib, hushprice.errors as e\n"
        "for name in [m for m in sys.modules if m.startswith('hushprice')]: del sys.modules[name]\n"
        "package = types.ModuleType('hushprice')\n"
        "package.__path__ = [str(pathlib.Path(e.__file__).parent)]\n"
        "sys.modules['hushprice'] = package\n"
        "import hushprice.service.shared.product, hushprice.service.shared.product_view\n"
        "print([m for m in sys.modules if m.startswith(('hushprice.records', 'hushprice.mechanisms'))])\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (found.stdout, found.stderr) == ("[]\n", "")
