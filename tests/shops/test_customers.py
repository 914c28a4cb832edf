"""Customers of a file, and demand fitted to what they did."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from hushprice import Product, load_world
from hushprice.demand.schema import Boolean, Category, Number, Schema
from hushprice.errors import InvalidInput
from hushprice.shops.customers import FiledCustomers
from hushprice.shops.fitted import Fitted, fit_demand
from hushprice.types import FloatArray

SCHEMA = Schema(
    attributes=(
        Number(name="age", low=20, high=60),
        Category(name="region", levels=("south", "north", "other")),
        Boolean(name="member"),
    )
)
NAMED = Product(floor=20.0, ceiling=30.0, reference_price=25.0, conversion=0.02, schema=SCHEMA)
NUMBERED = Product(floor=20.0, ceiling=30.0, reference_price=25.0, conversion=0.3, contexts=2)
CSV = """age,region,member,visits
40,north,true,3
60,mars,No,1
,south,,0
99,,1,7
"""
CONTEXTS = [[0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, -1.0], [0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 1.0, 1.0]]
PROBIT = '[world]\nkind = "probit"\nsteepness = 1.0\n'
FIT = '[fit]\nprice = "price"\noutcome = "bought"\n'


def rows_of(folder: Path, name: str, product: Product = NAMED) -> list[list[float]]:
    (folder / "world.toml").write_text(f'customers = "{name}"\n{PROBIT}')
    world: Any = load_world(folder / "world.toml", product)
    assert isinstance(world.crowd, FiledCustomers)
    return world.crowd.rows.tolist()  # type: ignore[no-any-return]


def test_a_csv_and_a_parquet_file_of_the_same_customers_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "customers.csv").write_text(CSV)
    frame = polars.DataFrame(
        {
            "visits": [3, 1, 0, 7],
            "age": [40, 60, None, 99],
            "region": ["north", "mars", "south", None],
            "member": [True, False, None, True],
        }
    )
    frame.write_parquet(tmp_path / "customers.parquet")
    assert rows_of(tmp_path, "customers.csv") == CONTEXTS
    assert rows_of(tmp_path, "customers.parquet") == CONTEXTS


def test_columns_of_numbers_are_contexts_in_order_where_the_product_has_no_schema(tmp_path: Path) -> None:
    (tmp_path / "customers.csv").write_text("a,b\n0.5,-1\n1e-1,0\n")
    assert rows_of(tmp_path, "customers.csv", NUMBERED) == [[0.5, -1.0], [0.1, 0.0]]


def test_customers_are_drawn_with_replacement_and_evenly() -> None:
    crowd = FiledCustomers(np.arange(4.0).reshape(4, 1))
    drawn = crowd(0, 8000, np.random.default_rng(4))[:, 0]
    counts = np.bincount(drawn.astype(int), minlength=4)
    assert (np.abs(counts - 2000) < 5.0 * (8000 * 0.25 * 0.75) ** 0.5).all()


@pytest.mark.parametrize(
    ("text", "product", "named"),
    [
        (CSV.replace("region", "land"), NAMED, "customers must have a column 'region', got ['age', 'land', 'member'"),
        (CSV.replace("60,", "old,"), NAMED, "customers row 2, column 'age' must be a number, got 'old'"),
        (CSV.replace("No", "maybe"), NAMED, "customers row 2, column 'member' must be true or false, got 'maybe'"),
        (CSV.replace("No,1", "No"), NAMED, "customers 'customers.csv' row 2 must have 4 cells, got 3"),
        (CSV.replace("visits", "age"), NAMED, "customers 'customers.csv' must have distinct columns, got 'age' twice"),
        (CSV.splitlines()[0], NAMED, "must have a header line and rows, got no rows"),
        ("", NAMED, "must have a header line and rows, got no rows"),
        ("a,b,c\n0,0,0\n", NUMBERED, "customers must have 2 columns, as contexts says, got ['a', 'b', 'c']"),
        ("a,b\n0,0\n0,1.5\n", NUMBERED, "customers row 2, column 'b' must lie in [-1, 1], got 1.5"),
        ("a,b\n0,0\n0,\n", NUMBERED, "customers row 2, column 'b' must be a finite number, got ''"),
    ],
)
def test_a_mistake_in_a_file_is_named_by_row_and_column(
    tmp_path: Path, text: str, product: Product, named: str
) -> None:
    (tmp_path / "customers.csv").write_text(text)
    with pytest.raises(InvalidInput) as refused:
        rows_of(tmp_path, "customers.csv", product)
    assert named in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


def test_a_file_that_is_no_parquet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "customers.parquet").write_text("a,b\n")
    with pytest.raises(InvalidInput, match=r"customers '.*customers.parquet' cannot be read: "):
        rows_of(tmp_path, "customers.parquet", NUMBERED)


def history(count: int, seed: int = 5) -> tuple[Any, Any, Any, Any]:
    """Contexts, prices, sales, and the truth: coefficients of [1; x] and of -z [1; x]."""
    rng = np.random.default_rng(seed)
    contexts, prices = rng.uniform(-1.0, 1.0, (count, 2)), rng.uniform(20.0, 30.0, count)
    truth = np.array([-0.8, 0.5, -0.3, 0.9, 0.4, 0.0])
    half = np.column_stack([np.ones(count), contexts])
    rows = np.hstack([half, -((prices - 25.0) / 5.0)[:, None] * half])
    sales = (rng.random(count) < expit(rows @ truth)).astype(np.float64)
    return contexts, prices, sales, (rows, truth)


def test_the_fit_is_the_likeliest_that_another_method_finds() -> None:
    contexts, prices, sales, (rows, _) = history(3000)
    fitted = fit_demand(NUMBERED, contexts, prices, sales)

    def loss(theta: Any) -> float:
        return float(np.logaddexp(0.0, rows @ theta).sum() - sales @ rows @ theta + 0.005 * theta @ theta)

    other = minimize(loss, np.zeros(6), method="BFGS", options={"gtol": 1e-4}).x
    assert np.concatenate([fitted.level, fitted.response]) == pytest.approx(other, abs=1e-4)


def test_the_fit_finds_the_truth_as_data_grow() -> None:
    contexts, prices, sales, (rows, truth) = history(40_000)
    fitted = fit_demand(NUMBERED, contexts, prices, sales)
    found = np.concatenate([fitted.level, fitted.response])
    chance = expit(rows @ truth)
    errors = np.sqrt(np.diag(np.linalg.inv((rows * (chance * (1.0 - chance))[:, None]).T @ rows)))
    assert (np.abs(found - truth) < 5.0 * errors).all()
    assert fitted.probabilities(0, contexts, prices) == pytest.approx(expit(rows @ found))


def test_the_elasticity_is_that_of_the_customers_demand_at_todays_price() -> None:
    contexts, prices, sales, _ = history(3000)
    fitted = fit_demand(NUMBERED, contexts, prices, sales)
    low, high = (fitted.probabilities(0, contexts, np.full(3000, 25.0 * s)).sum() for s in (0.9999, 1.0001))
    assert fitted.elasticity(contexts) == pytest.approx((low - high) / 0.0002 / (0.5 * (low + high)), rel=1e-5)


def test_a_bend_is_fitted_where_the_past_shows_one_and_where_demand_still_falls() -> None:
    rng = np.random.default_rng(4)
    contexts, prices = rng.uniform(-1.0, 1.0, (20_000, 2)), rng.uniform(20.0, 30.0, 20_000)
    z = (prices - 25.0) / 5.0

    def fit(log_odds: Any) -> Fitted:
        return fit_demand(NUMBERED, contexts, prices, (rng.random(20_000) < expit(log_odds)).astype(np.float64))

    bent = fit(-0.5 - 2.0 * z + 0.8 * z * z)
    assert bent.bend == pytest.approx(0.8, abs=0.25)  # five standard errors
    assert bent.probabilities(0, contexts, prices) == pytest.approx(expit(-0.5 - 2.0 * z + 0.8 * z * z), abs=0.05)
    assert fit(-0.5 - 2.0 * z).bend == 0.0
    assert fit(-0.5 - 1.0 * z + 0.8 * z * z).bend == 0.0  # it would rise again below the ceiling


def test_attributes_that_no_row_has_stay_at_nothing_and_separated_rows_end() -> None:
    contexts, prices, sales, _ = history(3000)
    contexts[:, 1] = 0.0
    fitted = fit_demand(NUMBERED, contexts, prices, sales)
    assert (fitted.level[2], fitted.response[2]) == (0.0, 0.0)
    apart = fit_demand(NUMBERED, contexts, prices, (prices < 25.0).astype(np.float64))
    assert np.isfinite(apart.response).all()
    assert apart.elasticity(contexts) > 5.0


def test_a_file_is_fitted_by_the_columns_it_names(tmp_path: Path) -> None:
    contexts, prices, sales, _ = history(2000)
    polars.DataFrame({"a": contexts[:, 0], "b": contexts[:, 1], "price": prices, "bought": sales == 1.0}).write_parquet(
        tmp_path / "past.parquet"
    )
    lines = [
        f"{a!r},{p!r},{b!r},{int(s)}" for (a, b), p, s in zip(contexts.tolist(), prices.tolist(), sales, strict=True)
    ]
    (tmp_path / "past.csv").write_text("\n".join(["a,price,b,bought", *lines]))
    direct = fit_demand(NUMBERED, contexts, prices, sales)
    for name in ("past.csv", "past.parquet"):
        (tmp_path / "world.toml").write_text(f'customers = "{name}"\n{FIT}')
        world = load_world(tmp_path / "world.toml", NUMBERED)
        assert isinstance(world, Fitted)
        assert (world.level == direct.level).all()
        assert (world.response == direct.response).all()
        assert world.contexts(0, 7, np.random.default_rng(0)).shape == (7, 2)


def test_quantities_are_fitted_as_shares_of_the_largest(tmp_path: Path) -> None:
    contexts, prices, _, _ = history(2000)
    counts = np.random.default_rng(4).binomial(3, 0.4, 2000)
    several = replace(NUMBERED, most=3.0, conversion=1.2)
    lines = [f"{a!r},{b!r},{p!r},{c}" for (a, b), p, c in zip(contexts.tolist(), prices.tolist(), counts, strict=True)]
    (tmp_path / "past.csv").write_text("\n".join(["a,b,price,bought", *lines]))
    (tmp_path / "world.toml").write_text(f'customers = "past.csv"\n{FIT}')
    world = load_world(tmp_path / "world.toml", several)
    assert isinstance(world, Fitted)
    direct = fit_demand(several, np.repeat(contexts, 3, 0), np.repeat(prices, 3), _units(counts, 3))
    assert world.level == pytest.approx(direct.level, rel=1e-3, abs=1e-3)  # the few rows' prior weighs three times
    (tmp_path / "past.csv").write_text("a,b,price,bought\n0,0,25,4\n")
    with pytest.raises(InvalidInput, match=r"row 1, column 'bought' must lie in \[0, 3\], got 4"):
        load_world(tmp_path / "world.toml", several)


def _units(counts: np.ndarray, most: int) -> FloatArray:
    """Each customer's units one by one, bought or not."""
    return (np.arange(most) < counts[:, None]).astype(np.float64).ravel()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("a,b,price,bought\n0,0,25,1\n0,0,25,0\n", "fit.price must hold more than one price, got 25.0 in every row"),
        ("a,b,price,bought\n0,0,25,1\n0,0,26,1\n", "fit.outcome must hold purchases and refusals, got 1.0 in every"),
        ("a,b,price,bought\n0,0,25,1\n0,0,,0\n", "customers row 2, column 'price' must be a finite number, got ''"),
        ("a,b,price,bought\n0,0,25,1\n0,0,26,\n", "customers row 2, column 'bought' must be 1 or 0, got ''"),
        ("a,b,price,bought\n0,0,25,1\n0,0,26,2\n", "customers row 2, column 'bought' must be true or false, got '2'"),
        ("a,b,cost,bought\n0,0,25,1\n0,0,26,0\n", "customers must have 2 columns"),
    ],
)
def test_a_past_that_cannot_be_fitted_is_refused(tmp_path: Path, text: str, named: str) -> None:
    (tmp_path / "past.csv").write_text(text)
    (tmp_path / "world.toml").write_text(f'customers = "past.csv"\n{FIT}')
    with pytest.raises(InvalidInput) as refused:
        load_world(tmp_path / "world.toml", NUMBERED)
    assert named in str(refused.value)
