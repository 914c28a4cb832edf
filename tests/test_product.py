"""A product says what a shop knows, and bad numbers are refused by name."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from hushprice import Product
from hushprice.demand.schema import Boolean, Number, Schema
from hushprice.errors import InvalidInput

GOOD: dict[str, Any] = {"floor": 20.0, "ceiling": 30.0, "reference_price": 25.0, "conversion": 0.02, "contexts": 9}

FAR = (
    "floor and ceiling must be nearer to reference_price, or {} lower: the log-odds of a purchase would fall by {} "
    "between them, 200 at most, got 20.0 and {}"
)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"floor": 26.0}, "floor must be below reference_price, 25.0, got 26.0"),
        ({"ceiling": 25.0}, "reference_price must be below ceiling, 25.0, got 25.0"),
        ({"unit_cost": 31.0}, "unit_cost must be below reference_price, 25.0, got 31.0"),
        ({"conversion": 0.0}, "conversion must lie strictly between 0 and 1, got 0.0"),
        ({"conversion": 1.0}, "conversion must lie strictly between 0 and 1, got 1.0"),
        ({"conversion": math.nan}, "conversion must lie strictly between 0 and 1, got nan"),
        ({"conversion": 1e-5}, "conversion must lie in [0.0001, 0.9999], got 1e-05"),
        ({"elasticity": -1.0}, "elasticity must be a positive number, got -1.0"),
        ({"elasticity": 0.01}, "elasticity must lie in [0.05, 100], got 0.01"),
        ({"elasticity": "steep"}, "elasticity must be a positive number, got 'steep'"),
        ({"elasticity": (3.0, 1.0)}, "elasticity[0] must be below elasticity[1], 1.0, got 3.0"),
        ({"elasticity": (-3.0, 1.0)}, "elasticity[0] must be a positive number, got -3.0"),
        ({"elasticity": (1.0, math.nan)}, "elasticity[1] must be a positive number, got nan"),
        ({"elasticity": [1.0]}, "elasticity must be a number or a range of two, got [1.0]"),
        ({"risk": -0.01}, "risk must lie in [0, 1], got -0.01"),
        ({"risk": math.nan}, "risk must lie in [0, 1], got nan"),
        ({"floor": 24.99}, "floor must be at most 0.999 of reference_price, 25.0, got 24.99"),
        ({"ceiling": 25.01}, "ceiling must be at least 1.001 of reference_price, 25.0, got 25.01"),
        ({"unit_cost": 24.9}, "unit_cost must be at most 0.99 of reference_price, 25.0, got 24.9"),
        (
            {"unit_cost": 24.5, "conversion": 0.97},
            FAR.format("unit_cost", 367, "30.0 with unit_cost 24.5"),
        ),
        (
            {"elasticity": 100.0, "ceiling": 100.0},
            FAR.format("elasticity", 327, "100.0 with elasticity 100.0"),
        ),
        ({"contexts": 33}, "contexts must lie in [0, 32], got 33"),
        ({"floor": math.inf}, "floor must be a finite number, got inf"),
        ({"epsilon": 0.0}, "epsilon must be a positive number, got 0.0"),
    ],
)
def test_a_product_that_cannot_be_is_refused_with_the_field_and_the_value(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        Product(**{**GOOD, **changes})
    assert str(refused.value) == named


@pytest.mark.parametrize(("cost", "conversion"), [(0.0, 0.02), (21.0, 0.3), (5.0, 0.9)])
def test_without_an_elasticity_todays_price_is_best(cost: float, conversion: float) -> None:
    product = Product(**{**GOOD, "unit_cost": cost, "conversion": conversion})
    z = np.linspace(-1.0, 1.0, 20_001)
    earned = (product.margin + z) / (1.0 + np.exp(-(product.level - product.response * z)))
    assert abs(z[np.argmax(earned)]) < 1e-3


def test_a_declared_elasticity_is_that_of_demand_at_todays_price() -> None:
    product = Product(**{**GOOD, "elasticity": 2.5})

    def demand(price: float) -> float:
        z = (price - product.reference_price) / product.reach
        return 1.0 / (1.0 + math.exp(-(product.level - product.response * z)))

    step = 1e-5
    slope = (demand(25.0 + step) - demand(25.0 - step)) / (2.0 * step)
    assert -slope * 25.0 / demand(25.0) == pytest.approx(2.5, rel=1e-6)
    assert demand(25.0) == pytest.approx(0.02)


def test_floor_and_ceiling_are_relative_prices_within_one_reach_of_todays() -> None:
    product = Product(**{**GOOD, "floor": 24.0})
    assert (product.reach, product.lowest, product.highest) == (5.0, -0.2, 1.0)


def test_a_schema_gives_the_number_of_contexts() -> None:
    schema = Schema(attributes=(Number(name="age", low=0, high=9), Boolean(name="member")))
    product = Product(floor=1.0, ceiling=3.0, reference_price=2.0, conversion=0.5, schema=schema)
    assert product.contexts == 2
    with pytest.raises(InvalidInput, match="contexts is given by the schema"):
        Product(**{**GOOD, "schema": schema})


def test_a_range_of_elasticities_has_its_geometric_middle_and_reaches_its_upper_end_with_one_deviation() -> None:
    product = Product(**{**GOOD, "elasticity": [1.0, 4.0]})
    assert product.elasticity == (1.0, 4.0)
    assert product.response == pytest.approx(Product(**{**GOOD, "elasticity": 2.0}).response)
    assert product.response_doubt == pytest.approx(1.0)  # 2 (1 + 1) = 4
    upper = Product(**{**GOOD, "elasticity": 3.0})
    doubtful = Product(**{**GOOD, "elasticity": (1.5, 3.0)})
    assert doubtful.response_doubt is not None
    assert doubtful.response * (1.0 + doubtful.response_doubt) == pytest.approx(upper.response)
    assert Product(**{**GOOD, "elasticity": (1.0, 1.01)}).response_doubt == 0.25
    assert Product(**{**GOOD, "elasticity": (0.05, 100.0)}).response_doubt == 2.0
    assert Product(**GOOD).response_doubt is None


def test_a_single_elasticity_is_doubted_as_the_range_from_a_third_of_it_to_three_times_it() -> None:
    guess, same = (Product(**{**GOOD, "elasticity": each}) for each in (2.0, (2.0 / 3.0, 6.0)))
    assert guess.response_doubt == pytest.approx(same.response_doubt)
    assert guess.response == pytest.approx(same.response)
