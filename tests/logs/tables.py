"""A shop's log in every form that a log can have, for the tests of this folder."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars

from hushprice.demand.schema import Boolean, Category, Number, Schema
from hushprice.logs.read import TableLog
from hushprice.logs.rows import Log, LogRows
from hushprice.product import Product

KEY = bytes(range(16))
SCHEMA = Schema(
    attributes=(
        Number(name="age", low=18, high=98, flag_missing=True),
        Category(name="region", levels=("south", "north", "other")),
        Boolean(name="member"),
    )
)
PRODUCT = Product(floor=20.0, ceiling=32.0, reference_price=25.0, conversion=0.2, schema=SCHEMA)


def visits(count: int, seed: int = 1) -> polars.DataFrame:
    """Rows with everything that is allowed: gaps, unknown levels, numbers out of bounds."""
    rng = np.random.default_rng(seed)
    ages = rng.normal(50.0, 30.0, count).round(1)
    regions = rng.choice(np.array(["south", "north", "mars", "other"]), count)
    members = rng.random(count)
    return polars.DataFrame(
        {
            "price": rng.uniform(15.0, 35.0, count).round(2),
            "bought": rng.random(count) < 0.2,
            "age": [None if rng.random() < 0.1 else age for age in ages.tolist()],
            "region": [None if rng.random() < 0.1 else str(region) for region in regions],
            "member": [None if each < 0.1 else bool(each < 0.5) for each in members],
            "customer": [f"c{number}" for number in rng.integers(0, max(1, count // 3), count)],
            "propensity": rng.uniform(0.01, 0.2, count).round(4),
        },
        schema_overrides={"age": polars.Float64, "region": polars.String, "member": polars.Boolean},
    )


def write_sqlite(frame: polars.DataFrame, file: Path, types: Sequence[str] | None = None) -> str:
    """The frame as the table `visits` of a file; its address."""
    usual = ["REAL", "BOOLEAN", "REAL", "TEXT", "BOOLEAN", "TEXT", "REAL"]
    declared = ", ".join(f'"{name}" {kind}' for name, kind in zip(frame.columns, types or usual, strict=True))
    with sqlite3.connect(file) as database:
        database.execute(f"CREATE TABLE visits ({declared})")
        database.executemany(f"INSERT INTO visits VALUES ({', '.join('?' * frame.width)})", frame.rows())
    database.close()
    return f"sqlite:///{file}?table=visits"


def joined(log: Log) -> LogRows:
    """The whole log in one block."""
    blocks = [block for partition in range(log.partitions) for block in log.blocks(partition)]

    def one(name: str) -> Any:
        parts = [getattr(block, name) for block in blocks]
        return None if parts[0] is None else np.concatenate(parts)

    names = ("contexts", "prices", "demands", "customers", "propensities")
    return LogRows(**{name: one(name) for name in names}, first=blocks[0].first)


def row_by_row(frame: polars.DataFrame, product: Product) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Contexts, relative prices and demands by the product's own code, a row at a time: the oracle."""
    contexts, prices, demands = [], [], []
    assert product.schema is not None
    names = [each.name for each in product.schema.attributes]
    for row in frame.iter_rows(named=True):
        contexts.append(product.schema.encode({name: row[name] for name in names}).context)
        prices.append(min(max(product.relative_of(row["price"]), -1.0), 1.0))
        demands.append(min(float(row["bought"]), product.most) / product.most)
    return np.array(contexts), np.array(prices), np.array(demands)


def same_rows(left: TableLog, right: TableLog) -> bool:
    """Do two logs hold the same numbers, to the last digit?"""
    ours, theirs = joined(left), joined(right)
    return all((a is None and b is None) or np.array_equal(a, b) for a, b in zip(ours[:5], theirs[:5], strict=True))
