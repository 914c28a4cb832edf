"""Attributes on the device: the entries that demand/schema.py gives, and some for every customer."""

from __future__ import annotations

import math
from typing import Any

import pytest

from hushprice.demand.schema import Schema
from hushprice.errors import InvalidInput
from hushprice.trust.attributes import declared, encode

ATTRIBUTES: list[dict[str, Any]] = [
    {"kind": "number", "name": "age", "low": 18, "high": 98},
    {"kind": "number", "name": "visits", "low": 0, "high": 7, "flag_missing": True},
    {"kind": "category", "name": "region", "levels": ["south", "north", "west"]},
    {"kind": "category", "name": "way", "levels": ["link", "search", "other"]},
    {"kind": "boolean", "name": "member"},
]
SCHEMA = {"attributes": ATTRIBUTES, "unknown": "other"}
CUSTOMERS: list[dict[str, Any]] = [
    {"age": 41, "visits": 3, "region": "north", "way": "search", "member": True},
    {"age": 18.0, "visits": 7.5, "region": "south", "way": "link", "member": False},
    {"age": 130, "visits": -2, "region": "west", "way": "other", "member": True},
    {"age": 17.3, "region": "mars", "way": "by foot"},
    {"age": None, "visits": math.nan, "region": None, "way": None, "member": None},
    {},
]


@pytest.mark.parametrize("customer", CUSTOMERS)
def test_a_device_reads_attributes_as_the_schema_does(customer: dict[str, Any]) -> None:
    found = encode(declared(SCHEMA), customer)
    assert found == Schema.from_dict(SCHEMA).encode(customer).context.tolist()


@pytest.mark.parametrize("value", [True, "41", 10**400, math.inf, [], {}, b"x", 0, object()])
def test_what_cannot_be_read_counts_as_missing_and_is_never_refused(value: object) -> None:
    names = [each["name"] for each in ATTRIBUTES]
    found, missing = encode(declared(SCHEMA), dict.fromkeys(names, value)), encode(declared(SCHEMA), {})
    readable = {True: [len(found) - 1], 0: [0, 1, 2]}.get(value, []) if isinstance(value, int) else []
    assert [j for j, (one, other) in enumerate(zip(found, missing, strict=True)) if one != other] == readable
    assert all(-1.0 <= entry <= 1.0 for entry in found)


WRONG: list[Any] = [
    {},
    {"attributes": [{"kind": "number"}]},
    {"attributes": [{"kind": "number", "name": "age", "low": 1.0, "high": 1.0}]},
    {"attributes": [{"kind": "number", "name": "age", "low": -1e308, "high": 1e308}]},
    {"attributes": [{"kind": "number", "name": "age", "low": "x"}]},
    {"attributes": [{"kind": "category", "name": "region", "levels": ["south"]}]},
    {"attributes": [{"kind": "colour", "name": "hat"}]},
    {"attributes": [{"kind": "boolean", "name": "member", "secret": 1}]},
    {"attributes": 3},
]


@pytest.mark.parametrize("schema", WRONG)
def test_a_schema_that_fails_for_some_customers_is_refused_for_all(schema: Any) -> None:
    with pytest.raises(InvalidInput, match="schema must be of"):
        declared(schema)
