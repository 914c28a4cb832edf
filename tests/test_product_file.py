"""Product files: the fields and defaults of `Product`; a mistake is one line with the file, the field and the value."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from hushprice import Product, load_product
from hushprice.demand.schema import Boolean, Category, Number, Schema
from hushprice.errors import InvalidInput

LEAST = "[product]\nfloor = 20\nceiling = 30.0\nreference_price = 25.0\nconversion = 0.02\n"
ALL = """
[product]
floor = 20.0
ceiling = 30.0
reference_price = 25.0
conversion = 0.02
unit_cost = 5.0
elasticity = [1.0, 3.0]
epsilon = 0.5
delta = "1/T^2"
risk = 0.01

[product.schema]
unknown = "refuse"

[[product.schema.attributes]]
kind = "number"
name = "age"
low = 18
high = 98
flag_missing = true

[[product.schema.attributes]]
kind = "category"
name = "region"
levels = ["south", "north", "other"]

[[product.schema.attributes]]
kind = "boolean"
name = "member"
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "product.toml"
    file.write_text(text)
    return file


def test_a_file_gives_the_product_with_the_same_fields_and_defaults(tmp_path: Path) -> None:
    assert load_product(written(tmp_path, LEAST)) == Product(
        floor=20.0, ceiling=30.0, reference_price=25.0, conversion=0.02
    )
    schema = Schema(
        attributes=(
            Number(name="age", low=18, high=98, flag_missing=True),
            Category(name="region", levels=("south", "north", "other")),
            Boolean(name="member"),
        ),
        unknown="refuse",
    )
    product = load_product(written(tmp_path, ALL))
    assert product == Product(
        floor=20.0,
        ceiling=30.0,
        reference_price=25.0,
        conversion=0.02,
        unit_cost=5.0,
        elasticity=(1.0, 3.0),
        schema=schema,
        epsilon=0.5,
        delta="1/T^2",
        risk=0.01,
    )
    assert product.contexts == 5


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Product)])
def test_every_field_of_a_product_may_be_in_a_file_and_is_checked_there(tmp_path: Path, name: str) -> None:
    lines = [line for line in LEAST.splitlines() if not line.startswith(f"{name} ")]
    with pytest.raises(InvalidInput, match=rf": {name} must"):  # NaN is no value of any field
        load_product(written(tmp_path, "\n".join([*lines, f"{name} = nan"])))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (LEAST + "colour = 3", "[product] has the unknown key 'colour'; it may have floor, ceiling"),
        (LEAST.replace("conversion = 0.02", ""), "[product] lacks the key 'conversion'"),
        (LEAST.replace("20", "26"), "floor must be below reference_price, 25.0, got 26"),
        (LEAST.replace("0.02", "1"), "conversion must lie strictly between 0 and 1, got 1"),
        (LEAST + "elasticity = [3.0, 1.0]", "elasticity[0] must be below elasticity[1], 1.0, got 3.0"),
        (LEAST + "contexts = 33", "contexts must lie in [0, 32], got 33"),
        (LEAST + "contexts = 2.0", "contexts must be a whole number at or above 0, got 2.0"),
        (LEAST + "risk = nan", "risk must lie in [0, 1], got nan"),
        (LEAST + "schema = 3", "schema must be a mapping of names to values, got a int"),
        (LEAST + "schema = {attributes = []}", "attributes must be a list of at least 1, got []"),
        (LEAST + "[market]\n", "it has the unknown key 'market'"),
        ("", "it lacks the key 'product'"),
        ("product = 3", "[product] must be a table, got 3"),
        ("[product", "Expected ']'"),
    ],
)
def test_a_mistake_is_one_line_with_the_file_the_field_and_the_value(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        load_product(written(tmp_path, text))
    message = str(refused.value)
    assert message.startswith("product file '")
    assert "product.toml" in message
    assert named in message
    assert len(message.splitlines()) == 1


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"product file '.*absent.toml' cannot be read: No such file"):
        load_product(tmp_path / "absent.toml")
