"""Levels nobody declared and values that are missing: refused, or a customer like any other, as the schema says."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from hushprice import Product
from hushprice.demand.schema import OTHER, REFUSE, Boolean, Category, Number, Schema
from hushprice.errors import InvalidInput
from hushprice.service.quoting.quick_context import QuickContextReader
from hushprice.service.shared.contexts import ContextReader

DECLARED = (
    Number(name="age", low=18, high=98),
    Number(name="basket", low=0, high=10, flag_missing=True),
    Category(name="region", levels=("south", "north", "west")),
    Category(name="device", levels=("phone", "desk", "other")),
    Boolean(name="member"),
)
LENIENT, STRICT = Schema(attributes=DECLARED, unknown=OTHER), Schema(attributes=DECLARED, unknown=REFUSE)
USUAL: dict[str, object] = {"age": 78.0, "basket": 10.0, "region": "north", "device": "desk", "member": True}
ENTRIES = [0.5, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("given", "changed"),
    [
        ({}, {}),
        ({"age": None}, {0: 0.0}),
        ({"age": math.nan}, {0: 0.0}),
        ({"basket": None}, {1: 0.0, 2: 1.0}),
        ({"region": "mars"}, {3: 0.0}),  # no level "other": the base
        ({"region": ""}, {3: 0.0}),
        ({"region": None}, {3: 0.0}),
        ({"device": "fridge"}, {5: 0.0, 6: 1.0}),
        ({"device": None}, {5: 0.0, 6: 1.0}),
        ({"member": None}, {7: 0.0}),
    ],
)
def test_an_unknown_level_and_a_missing_value_have_entries(given: dict[str, object], changed: dict[int, float]) -> None:
    expected = [changed.get(at, entry) for at, entry in enumerate(ENTRIES)]
    context, clipped = LENIENT.encode({**USUAL, **given})
    assert context.tolist() == expected
    assert clipped == ()
    for name, value in given.items():
        if value is None:  # absent is the same as None
            assert LENIENT.encode({key: v for key, v in USUAL.items() if key != name}).context.tolist() == expected


@pytest.mark.parametrize("name", ["age", "region", "device", "member"])
def test_a_strict_schema_refuses_them(name: str) -> None:
    without = {key: value for key, value in USUAL.items() if key != name}
    for customer in ({**USUAL, name: None}, without):
        with pytest.raises(InvalidInput, match=name):
            STRICT.encode(customer)


def test_a_number_declared_with_a_flag_may_be_missing_in_any_schema() -> None:
    assert STRICT.encode({**USUAL, "basket": None}).context[1:3].tolist() == [0.0, 1.0]
    assert STRICT.names[:3] == ("age", "basket", "basket=missing")


@pytest.mark.parametrize(
    "given", [{"age": "78"}, {"age": math.inf}, {"age": True}, {"region": 3}, {"member": 1}, {"member": "yes"}]
)
@pytest.mark.parametrize("schema", [LENIENT, STRICT])
def test_a_value_of_the_wrong_type_is_refused_all_the_same(schema: Schema, given: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(given))):
        schema.encode({**USUAL, **given})


def test_an_undeclared_attribute_is_refused_all_the_same() -> None:
    with pytest.raises(InvalidInput, match="unknown field 'agge'"):
        LENIENT.encode({**USUAL, "agge": 3})


@pytest.mark.parametrize("schema", [LENIENT, STRICT])
@pytest.mark.parametrize("mixed", [False, True])
def test_columns_are_encoded_as_their_customers_one_by_one(schema: Schema, mixed: bool) -> None:
    rng = np.random.default_rng(3)
    count, lenient = 300, schema is LENIENT

    def column(values: Any, missing: object, given: bool = lenient) -> Any:
        holes = rng.random(count) < (0.2 if given else 0.0)
        return np.array([missing if hole else value for hole, value in zip(holes, values, strict=True)], dtype=kind)

    kind: Any = object if mixed else np.float64
    columns = {"age": column(rng.uniform(0, 120, count), np.nan)}
    columns["basket"] = column(rng.integers(0, 12, count).tolist(), None if mixed else np.nan, True)
    kind = object if mixed else str
    columns["region"] = column(rng.choice(["south", "north", "west"], count).tolist(), None if mixed else "mars")
    columns["device"] = column(rng.choice(["phone", "desk", "other"], count).tolist(), None if mixed else "")
    kind = object if mixed else bool
    columns["member"] = column((rng.random(count) < 0.5).tolist(), None if mixed else True)
    rows = [{name: columns[name][row] for name in columns} for row in range(count)]
    assert schema.encode_columns(columns, count).tolist() == [schema.encode(row).context.tolist() for row in rows]


@pytest.mark.parametrize(
    "bad", [{"age": np.array([np.nan])}, {"age": np.array([np.inf])}, {"region": np.array(["mars"])}]
)
def test_a_strict_schema_refuses_columns_with_them(bad: dict[str, Any]) -> None:
    columns = {name: np.array([value]) for name, value in USUAL.items()}
    with pytest.raises(InvalidInput, match=next(iter(bad))):
        STRICT.encode_columns({**columns, **bad}, 1)


def test_a_column_may_not_be_missing() -> None:
    with pytest.raises(InvalidInput, match="columns lacks the field 'region'"):
        LENIENT.encode_columns({name: np.array([value]) for name, value in USUAL.items() if name != "region"}, 1)


def test_the_services_readers_agree_with_the_schema() -> None:
    for given in ({}, {"age": None}, {"basket": None}, {"region": "mars"}, {"device": None}, {"member": None}):
        slow = ContextReader(LENIENT, LENIENT.dimension).read({**USUAL, **given}, None)
        quick = QuickContextReader(LENIENT, LENIENT.dimension).read({**USUAL, **given}, None)
        expected = LENIENT.encode({**USUAL, **given}).context
        assert slow.context.tolist() == expected.tolist()
        assert quick is None if given else quick == expected.tobytes()
    with pytest.raises(InvalidInput, match=r"attributes.region must be one of south, north, west"):
        ContextReader(STRICT, STRICT.dimension).read({**USUAL, "region": "mars"}, None)
    with pytest.raises(InvalidInput, match="lacks the field 'age'"):
        ContextReader(STRICT, STRICT.dimension).read({k: v for k, v in USUAL.items() if k != "age"}, None)


def test_what_was_stored_before_keeps_its_meaning_and_a_product_takes_the_lenient_one() -> None:
    stored = {"attributes": [{"kind": "category", "name": "region", "levels": ["south", "north"]}]}
    old = Schema.from_dict(stored)
    assert old.to_dict() == stored
    with pytest.raises(InvalidInput, match="'region' must be one of"):
        old.encode({"region": "mars"})
    product = Product(floor=1.0, ceiling=3.0, reference_price=2.0, conversion=0.5, schema=old)
    assert product.schema is not None
    assert product.schema.encode({"region": "mars"}).context.tolist() == [0.0]
    strict = Product(
        floor=1.0,
        ceiling=3.0,
        reference_price=2.0,
        conversion=0.5,
        schema=Schema.from_dict({**stored, "unknown": "refuse"}),
    )
    assert strict.schema is not None
    with pytest.raises(InvalidInput, match="'region' must be one of"):
        strict.schema.encode({"region": "mars"})


@pytest.mark.parametrize("schema", [LENIENT, STRICT, Schema(attributes=DECLARED)])
def test_what_is_said_about_unknown_values_is_stored(schema: Schema) -> None:
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


def test_a_misspelt_choice_is_refused() -> None:
    with pytest.raises(InvalidInput, match="unknown must be one of refuse, other, got 'others'"):
        Schema(attributes=DECLARED, unknown="others")
    with pytest.raises(InvalidInput, match="flag_missing of 'age' must be true or false, got 1"):
        Number(name="age", low=0, high=1, flag_missing=1)  # type: ignore[arg-type]
