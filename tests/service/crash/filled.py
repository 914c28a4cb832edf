"""Stores with many quotes, made by bulk SQL: too many to ask for one by one."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import Any

import msgspec
import psycopg
from tests.service.crash.shoppers import PATIENT, PRODUCT

from hushprice.service.learning.product_learner import ProductLearner
from hushprice.service.shared.product import Product
from hushprice.service.store import decisions, open_store
from hushprice.service.store.protocol import LearnerStore
from hushprice.service.store.values import SeenRelease

NAME = "umbrella"
_COUNT = {
    "sqlite": """WITH RECURSIVE n (slot) AS (SELECT 1 UNION ALL SELECT slot + 1 FROM n WHERE slot < {count})
        SELECT slot FROM n""",
    "postgresql": "SELECT slot::bigint FROM generate_series(1, {count}) AS n (slot)",
}
_ID = {"sqlite": "randomblob(16)", "postgresql": "uuid_send(gen_random_uuid())"}
_CONTEXT = {"sqlite": "zeroblob(16)", "postgresql": "decode(repeat('00', 16), 'hex')"}
_FILL = (
    """INSERT INTO {schema}quote (product, slot, id, key, price, holdout, counts, deadline, day, status)
        SELECT product.id, slot, {id}, 'shop', 0.5, {no}, {yes}, {deadline}, {day}, 0
        FROM ({numbers}) AS numbers CROSS JOIN {schema}product""",
    """INSERT INTO {schema}record SELECT product.id, slot, {context}
        FROM ({numbers}) AS numbers CROSS JOIN {schema}product""",
    "UPDATE {schema}product SET slots = {count}",
    "INSERT INTO {schema}tally (product, day, {counted}) SELECT product.id, {day}, {counts} FROM {schema}product",
)


def fill(uri: str, count: int, *, learned: bool) -> None:
    """One product with so many quotes: all learned, or all waiting for their outcomes."""
    product = Product(**{**PRODUCT, **PATIENT, "name": NAME, "horizon": 10**7})  # type: ignore[arg-type]
    spec = msgspec.json.encode(product)
    with contextlib.closing(open_store(uri, "learner")) as store:
        _fill(store, uri, spec, count, learned)


def _fill(store: LearnerStore, uri: str, spec: bytes, count: int, learned: bool) -> None:
    kind = "postgresql" if "://" in uri else "sqlite"
    store.add_product(NAME, spec, b"{}", 1000.0)
    values: dict[str, Any] = {
        "schema": "hushprice." if kind == "postgresql" else "",
        "numbers": _COUNT[kind].format(count=count),
        "id": _ID[kind],
        "context": _CONTEXT[kind],
        "no": "false" if kind == "postgresql" else 0,
        "yes": "true" if kind == "postgresql" else 1,
        "deadline": 0.0 if learned else 1e9,
        "day": decisions.today(),
        "count": count,
        "counted": ", ".join(decisions.COUNTED),
        "counts": ", ".join(str(count if name in ("quoted", "personal_quotes") else 0) for name in decisions.COUNTED),
    }
    _run(uri, [statement.format(**values) for statement in _FILL])
    if learned:
        learner = ProductLearner(spec)
        learner.jump(SeenRelease(NAME, 0, count))
        store.take_lease("filling", 1000.0)
        store.commit("filling", learner.state(), [], 1000.0)
        store.drop_lease("filling")


def _run(uri: str, statements: list[str]) -> None:
    if "://" in uri:
        with psycopg.connect(uri) as connection:
            for statement in statements:
                connection.execute(statement.encode())
            connection.execute("ANALYZE hushprice.quote, hushprice.record")  # as the server does in time of its own
        return
    connection = sqlite3.connect(uri)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
