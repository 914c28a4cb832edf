"""The edge where raw attributes enter: what is accepted lands in [-1, 1]^k, the rest is refused by name."""

from __future__ import annotations

import enum
import inspect
import json
import math
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hushprice import checks
from hushprice.demand.schema import Attribute, Boolean, Category, Encoded, Number, Schema
from hushprice.errors import InvalidInput

SHOP = Schema(
    attributes=(
        Number(name="age", low=18, high=98),
        Category(name="region", levels=("south", "north", "west")),
        Boolean(name="member"),
    )
)
CUSTOMER: dict[str, object] = {"age": 58, "region": "west", "member": True}

finite = st.floats(allow_nan=False, allow_infinity=False)
words = st.text(min_size=1, max_size=8)


@st.composite
def numbers(draw: st.DrawFn, name: str) -> Number:
    low, high = sorted((draw(finite), draw(finite)))
    assume(0 < high - low < math.inf)
    return Number(name=name, low=low, high=high)


def attributes(name: str) -> st.SearchStrategy[Attribute]:
    levels = st.lists(words, min_size=2, max_size=5, unique=True).map(tuple)
    return st.one_of(numbers(name), st.builds(Category, name=st.just(name), levels=levels), st.just(Boolean(name=name)))


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    # "=" is left to its own test: with it two entries can share a name, which is refused
    names = draw(st.lists(words.filter(lambda word: "=" not in word), min_size=1, max_size=5, unique=True))
    return Schema(attributes=tuple(draw(attributes(name)) for name in names))


def raw_value(attribute: Attribute) -> st.SearchStrategy[object]:
    match attribute:
        case Number():
            return finite | st.integers(-(2**60), 2**60)
        case Category():
            return st.sampled_from(attribute.levels)
        case Boolean():
            return st.booleans()


# What is accepted


@given(schemas(), st.data())
def test_every_encodable_customer_lands_in_the_cube(schema: Schema, data: st.DataObject) -> None:
    customer = {each.name: data.draw(raw_value(each)) for each in schema.attributes}
    context, clipped = schema.encode(customer)
    assert context.shape == (schema.dimension,) == (len(schema.names),)
    assert context.dtype == np.float64
    assert (np.abs(context) <= 1).all()
    outside = [n for n in schema.attributes if isinstance(n, Number) and not n.low <= float(customer[n.name]) <= n.high]  # type: ignore[arg-type]
    assert clipped == tuple(n.name for n in outside)


@given(numbers("age"), st.data())
def test_the_inverse_of_the_affine_map_recovers_the_number(age: Number, data: st.DataObject) -> None:
    value = data.draw(st.floats(age.low, age.high))
    (entry,), clipped = Schema(attributes=(age,)).encode({"age": value})
    recovered = age.low + (entry + 1) / 2 * (age.high - age.low)
    rounding = 8 * np.finfo(float).eps * max(abs(age.low), abs(age.high)) + math.ulp(0.0)
    assert abs(recovered - value) <= rounding
    assert clipped == ()


@given(numbers("age"))
def test_the_bounds_map_to_the_ends_exactly_and_are_not_clipped(age: Number) -> None:
    schema = Schema(attributes=(age,))
    for bound, end in ((age.low, -1.0), (age.high, 1.0)):
        context, clipped = schema.encode({"age": bound})
        assert context.tolist() == [end]
        assert clipped == ()


@pytest.mark.parametrize(("age", "end"), [(17, -1.0), (-1e300, -1.0), (98.5, 1.0), (10**300, 1.0)])
def test_a_number_out_of_bounds_is_clipped_and_named(age: float, end: float) -> None:
    context, clipped = SHOP.encode({**CUSTOMER, "age": age})
    assert context[0] == end
    assert clipped == ("age",)


def test_clipped_names_follow_the_declared_order() -> None:
    schema = Schema(attributes=tuple(Number(name=name, low=0, high=1) for name in "cab"))
    assert schema.encode({"a": 2, "b": 0.5, "c": -2}).clipped == ("c", "a")


@pytest.mark.parametrize(("region", "entries"), [("south", [0, 0]), ("north", [1, 0]), ("west", [0, 1])])
def test_a_category_is_indicators_with_the_first_level_as_base(region: str, entries: list[float]) -> None:
    assert SHOP.encode({**CUSTOMER, "region": region}).context[1:3].tolist() == entries


@pytest.mark.parametrize(("member", "entry"), [(True, 1.0), (False, -1.0), (np.True_, 1.0), (np.False_, -1.0)])
def test_a_boolean_is_plus_or_minus_one(member: object, entry: float) -> None:
    assert SHOP.encode({**CUSTOMER, "member": member}).context[3] == entry


@pytest.mark.parametrize("age", [58, 58.0, np.int64(58), np.int8(58), np.float32(58), np.float64(58)])
def test_numpy_scalars_count_as_numbers(age: object) -> None:
    assert SHOP.encode({**CUSTOMER, "age": age}).context.tolist() == [0.0, 0.0, 1.0, 1.0]


def test_clipping_is_decided_in_double_precision() -> None:
    schema = Schema(attributes=(Number(name="share", low=0, high=0.1),))
    assert schema.encode({"share": np.float32(0.1)}).clipped == ("share",)  # float32(0.1) is 0.1 + 1.5e-9


def test_a_level_may_be_sent_as_a_string_enum() -> None:
    assert SHOP.encode({**CUSTOMER, "region": Region.NORTH}).context[1] == 1.0


def test_names_say_what_each_entry_stands_for() -> None:
    assert SHOP.names == ("age", "region=north", "region=west", "member")
    assert SHOP.dimension == 4


def test_the_order_of_the_customers_fields_does_not_matter() -> None:
    turned = dict(reversed(CUSTOMER.items()))
    assert SHOP.encode(turned).context.tolist() == SHOP.encode(CUSTOMER).context.tolist()


def test_an_encoded_customer_is_not_printed_by_accident() -> None:
    encoded = SHOP.encode({**CUSTOMER, "age": 130})
    assert isinstance(encoded, Encoded)
    assert f"{encoded}" == f"{encoded!r}" == "Encoded(<sensitive>)"


def test_nothing_learns_from_a_data_set() -> None:
    for kind in (Number, Category, Boolean, Schema):
        public = {name for name, _ in inspect.getmembers(kind, inspect.isroutine) if not name.startswith("_")}
        assert public <= {"encode", "encode_column", "encode_columns", "may_lack", "to_dict", "from_dict"}


def test_a_schema_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        SHOP.attributes = ()  # type: ignore[misc]
    assert len({SHOP, Schema.from_dict(SHOP.to_dict())}) == 1


# What a customer may not send


def refusal(call: Callable[..., object], *arguments: Any, **keywords: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        call(*arguments, **keywords)
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    return message


NOT_NUMBERS = [True, np.True_, "58", None, [58], 1j, np.array(58.0), np.timedelta64(58), np.timedelta64(58, "D")]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float64("nan"), np.float32("inf"), *NOT_NUMBERS])
def test_what_is_not_a_finite_number_is_refused(value: object) -> None:
    assert refusal(SHOP.encode, {**CUSTOMER, "age": value}) == f"'age' must be a finite number, got {value!r}"


@pytest.mark.parametrize("value", [math.nan, -math.inf, 10**400, 10**5000, *NOT_NUMBERS], ids=checks.shown)
def test_a_number_is_refused_in_the_words_of_the_common_check(value: Any) -> None:
    common = refusal(checks.finite, **{"'age'": value})
    assert refusal(SHOP.encode, {**CUSTOMER, "age": value}) == common


def test_an_integer_beyond_every_float_is_refused_like_infinity() -> None:
    assert refusal(SHOP.encode, {**CUSTOMER, "age": 10**400}).startswith("'age' must be a finite number, got 1000000")
    assert refusal(SHOP.encode, {**CUSTOMER, "age": 10**5000}) == "'age' must be a finite number, got a very long int"


@pytest.mark.parametrize("value", [0, 1, 1.0, "true", None, math.nan, np.int64(1)])
def test_what_is_not_a_boolean_is_refused(value: object) -> None:
    assert refusal(SHOP.encode, {**CUSTOMER, "member": value}) == f"'member' must be True or False, got {value!r}"


@pytest.mark.parametrize(
    "value", ["mars", "", "South", "region=north", None, 1, math.nan, ["north"], np.array(["north"])]
)
def test_an_unknown_level_is_refused(value: object) -> None:
    assert (
        refusal(SHOP.encode, {**CUSTOMER, "region": value})
        == f"'region' must be one of ('south', 'north', 'west'), got {value!r}"
    )


def test_an_unknown_field_is_refused_without_its_value() -> None:
    message = refusal(SHOP.encode, {**CUSTOMER, "diagnosis": "a private matter"})
    assert message == "attributes has the unknown field 'diagnosis'"


def test_an_unknown_field_that_is_no_string_is_refused() -> None:
    assert refusal(SHOP.encode, {**CUSTOMER, 3: "x"}) == "attributes has the unknown field 3"


@pytest.mark.parametrize("name", ["age", "region", "member"])
def test_a_missing_field_is_refused(name: str) -> None:
    customer = {key: value for key, value in CUSTOMER.items() if key != name}
    assert refusal(SHOP.encode, customer) == f"attributes lacks the field {name!r}"


@pytest.mark.parametrize("customer", [None, [58, "west", True], "age"])
def test_a_customer_that_is_no_mapping_is_refused(customer: object) -> None:
    expected = f"attributes must be a mapping of names to values, got a {type(customer).__name__}"
    assert refusal(SHOP.encode, customer) == expected


@pytest.mark.parametrize("value", ["two\nlines", np.zeros((20, 20)), "x" * 10**6])
def test_a_refusal_stays_one_short_line_whatever_was_sent(value: object) -> None:
    message = refusal(SHOP.encode, {**CUSTOMER, "age": value})
    assert "'age'" in message
    assert len(message) < 160


# What the operator may not declare


class Region(str, enum.Enum):  # noqa: UP042 - the plain mixin is the one that formats as something else than its value
    NORTH = "north"


@pytest.mark.parametrize("bound", ["low", "high"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "18", True, None])
def test_a_bound_must_be_a_finite_number(bound: str, value: object) -> None:
    bounds = {"low": 18, "high": 98, bound: value}
    assert refusal(Number, name="age", **bounds) == f"{bound} of 'age' must be a finite number, got {value!r}"


@pytest.mark.parametrize(("low", "high"), [(98.0, 18.0), (18.0, 18.0), (-1e308, 1e308)])
def test_bounds_must_be_in_order_and_a_finite_width_apart(low: float, high: float) -> None:
    expected = f"low of 'age' must be below high, a finite width apart, got [{low}, {high}]"
    assert refusal(Number, name="age", low=low, high=high) == expected


@pytest.mark.parametrize("name", ["", None, 3, Region.NORTH])
def test_an_attribute_needs_a_name(name: object) -> None:
    expected = f"attribute names must be non-empty strings, got {name!r}"
    assert refusal(Number, name=name, low=0, high=1) == expected
    assert refusal(Category, name=name, levels=("a", "b")) == expected
    assert refusal(Boolean, name=name) == expected


@pytest.mark.parametrize("levels", [(), ("north",), "north", None, {"north": 1, "south": 2}])
def test_a_category_needs_a_list_of_two_levels(levels: object) -> None:
    expected = f"levels of 'region' must be a list of at least 2, got {levels!r}"
    assert refusal(Category, name="region", levels=levels) == expected


@pytest.mark.parametrize("level", ["", 3, None, Region.NORTH])
def test_levels_must_be_non_empty_strings(level: object) -> None:
    expected = f"levels of 'region' must be non-empty strings, got {level!r}"
    assert refusal(Category, name="region", levels=("south", level)) == expected


def test_levels_must_be_distinct() -> None:
    levels = ("south", "north", "north")
    assert refusal(Category, name="region", levels=levels) == "levels of 'region' must be distinct, got 'north' twice"


def test_attribute_names_must_be_distinct() -> None:
    same = (Boolean(name="a"), Category(name="a", levels=("x", "y")))
    assert refusal(Schema, attributes=same) == "attribute names must be distinct, got 'a' twice"


def test_entry_names_must_be_distinct() -> None:
    same = (*SHOP.attributes, Boolean(name="region=north"))
    assert refusal(Schema, attributes=same) == "entry names must be distinct, got 'region=north' twice"


@pytest.mark.parametrize("attributes", [(), None, "age", {"age": 1}, Boolean(name="member")])
def test_a_schema_needs_a_list_of_attributes(attributes: object) -> None:
    assert refusal(Schema, attributes=attributes) == f"attributes must be a list of at least 1, got {attributes!r}"


def test_a_schema_takes_only_attributes() -> None:
    expected = "attributes[1] must be a Number, Category or Boolean, got 'age'"
    assert refusal(Schema, attributes=(Boolean(name="member"), "age")) == expected


# Storage


@given(schemas())
def test_a_stored_schema_comes_back_equal(schema: Schema) -> None:
    stored = schema.to_dict()
    again = json.loads(json.dumps(stored, allow_nan=False))
    assert again == stored  # plain JSON types: a tuple would have come back as a list
    assert Schema.from_dict(again) == schema
    assert Schema.from_dict(again).names == schema.names


def test_the_stored_form_is_pinned() -> None:
    age = {"kind": "number", "name": "age", "low": 18.0, "high": 98.0}
    region = {"kind": "category", "name": "region", "levels": ["south", "north", "west"]}
    assert SHOP.to_dict() == {"attributes": [age, region, {"kind": "boolean", "name": "member"}]}


def test_numpy_bounds_and_listed_levels_are_kept_as_plain_values() -> None:
    bounds: Any = {"low": np.int64(18), "high": np.float32(98)}
    assert type(Number(name="age", **bounds).low) is type(Number(name="age", **bounds).high) is float
    levels: Any = ["south", "north"]
    assert Category(name="region", levels=levels).levels == ("south", "north")


MEMBER = {"kind": "boolean", "name": "member"}
KIND = "attributes[0] must have the kind number, category or boolean, got"


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        (MEMBER, f"attributes must be a list of at least 1, got {MEMBER!r}"),
        ([], "attributes must be a list of at least 1, got []"),
        (["member"], f"{KIND} None"),
        ([{"name": "member"}], f"{KIND} None"),
        ([{"kind": "date"}], f"{KIND} 'date'"),
        ([{"kind": ["boolean"]}], f"{KIND} ['boolean']"),
        ([MEMBER, {**MEMBER, "levels": []}], "attributes[1] has the unknown field 'levels'"),
        ([{"kind": "number", "name": "age", "low": 0}], "attributes[0] lacks the field 'high'"),
        ([{**MEMBER, "name": 3}], "attribute names must be non-empty strings, got 3"),
        ([MEMBER, MEMBER], "attribute names must be distinct, got 'member' twice"),
    ],
)
def test_stored_attributes_that_declare_nothing_valid_are_refused(listed: object, message: str) -> None:
    assert refusal(Schema.from_dict, {"attributes": listed}) == message


def test_a_stored_schema_has_exactly_its_keys() -> None:
    stored = SHOP.to_dict()
    assert refusal(Schema.from_dict, None) == "schema must be a mapping of names to values, got a NoneType"
    assert refusal(Schema.from_dict, {}) == "schema lacks the field 'attributes'"
    assert refusal(Schema.from_dict, {**stored, "version": 1}) == "schema has the unknown field 'version'"
