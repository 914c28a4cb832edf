"""What the database says, read directly, compared with what customers were told."""

from __future__ import annotations

import sqlite3
from collections import Counter
from typing import Any, NamedTuple

import msgspec
import psycopg
from tests.service.crash.served import Served
from tests.service.crash.shoppers import CEILING, Notes

from hushprice.service.store import consistency as store_consistency
from hushprice.service.store.decisions import FORGOTTEN, LATE, RECORDED, WAITING
from hushprice.service.store.protocol import LearnerStore
from hushprice.service.store.values import StoredRelease

_QUOTES = """SELECT {id}, name, slot, quote.status, demand, price, counts FROM {schema}quote
    JOIN {schema}product ON product.id = quote.product"""
_RELEASES = "SELECT name, {columns} FROM {schema}release JOIN {schema}product ON product.id = release.product"
_COLUMNS = "sequence, version, kind, records, batch, numbers, belief, at"
_STATUS = {"recorded": RECORDED, "late": LATE}

Observed = dict[tuple[str, int], StoredRelease]


class Row(NamedTuple):
    """A stored quote."""

    number: str
    product: str
    slot: int
    status: int
    demand: float | None
    price: float
    counts: bool


def rows_of(uri: str, sqlite: str, postgres: str) -> list[tuple[Any, ...]]:
    """Asked of the database itself, by a connection that is closed again."""
    if "://" in uri:
        with psycopg.connect(uri, autocommit=True) as connection:
            return connection.execute(postgres.encode()).fetchall()
    reading = sqlite3.connect(f"file:{uri}?mode=ro", uri=True)
    try:
        return reading.execute(sqlite).fetchall()
    finally:
        reading.close()


def quotes(uri: str) -> list[Row]:
    mine = _QUOTES.format(id="lower(hex(quote.id))", schema="")
    theirs = _QUOTES.format(id="encode(quote.id, 'hex')", schema="hushprice.")
    return [Row(*row) for row in rows_of(uri, mine, theirs)]


def releases(uri: str) -> Observed:
    """Every release, by product and sequence."""
    mine, theirs = (_RELEASES.format(columns=_COLUMNS, schema=schema) for schema in ("", "hushprice."))
    return {(row[0], row[1]): StoredRelease(*row) for row in rows_of(uri, mine, theirs)}


def changed(before: Observed, after: Observed) -> list[str]:
    """A release that was seen is for ever."""
    return [
        f"{name}: release {number} changed" for (name, number), r in before.items() if after.get((name, number)) != r
    ]


def wrong(served: Served, notes: Notes) -> list[str]:
    """Everything that is not as it was told; the service must have ended."""
    stored = quotes(served.uri)
    with served.store() as store:
        return [
            *notes.wrong,
            *_quotes(stored, notes),
            *_outcomes({row.number: row for row in stored}, notes),
            *_slots(stored),
            *_ledgers(store, notes),
            *_figures(store, stored, notes),
            *store_consistency.problems(store),
        ]


def _quotes(stored: list[Row], notes: Notes) -> list[str]:
    count, found = Counter(row.number for row in stored), {row.number: row for row in stored}
    lost = [number for number in notes.given if number not in found]
    gone = notes.going
    moved = [
        number
        for number, given in notes.given.items()
        if number in found
        and given.customer not in gone
        and (found[number].product != given.product or abs(found[number].price * CEILING - given.price) > 1e-9)
    ]
    unknown = len(stored) - (len(notes.given) - len(lost))
    checks = {
        f"{len(lost)} acknowledged quotes are lost": bool(lost),
        f"{len(moved)} quotes have another product or price than was told": bool(moved),
        "a quote is stored twice": any(times > 1 for times in count.values()),
        f"{unknown} quotes are stored that nobody asked for": unknown > notes.unanswered + len(notes.unrecorded),
    }
    return [line for line, bad in checks.items() if bad]


def _outcomes(found: dict[str, Row], notes: Notes) -> list[str]:
    bad: Counter[str] = Counter()
    for number, (demand, status) in notes.told.items():
        row = found.get(number)
        if row is None or (row.status, row.demand) != (_STATUS[status], demand):
            bad["acknowledged outcomes are lost or changed"] += 1
    for number, row in found.items():
        customer = notes.given[number].customer if number in notes.given else None
        if row.status == FORGOTTEN:
            bad["quotes are forgotten that nobody forgot"] += customer not in notes.going
        elif customer in notes.forgotten:
            bad["quotes of a forgotten customer are still there"] += 1
        elif row.status == WAITING:
            bad["outcomes without a status"] += row.demand is not None
        elif number not in notes.tried or notes.tried[number] != row.demand:
            bad["outcomes are stored that nobody told"] += 1
    return [f"{times} {what}" for what, times in bad.items() if times]


def _slots(stored: list[Row]) -> list[str]:
    by_product: dict[str, list[int]] = {}
    for row in stored:
        by_product.setdefault(row.product, []).append(row.slot)
    return [
        f"{name}: slots are not 1 to {len(slots)}"
        for name, slots in by_product.items()
        if sorted(slots) != [*range(1, len(slots) + 1)]
    ]


def _ledgers(store: LearnerStore, notes: Notes) -> list[str]:
    """What was charged is what was released, whatever store_consistency.py thinks."""
    bad = []
    for name in notes.products:
        made, state = store.releases(name), store.state(name)
        charged = 0 if state is None else msgspec.json.decode(state.ledger)["releases"]
        numbers = [each.sequence for each in made]
        if numbers != [*range(1, len(made) + 1)] or charged != len(made):
            bad.append(f"{name}: {len(made)} releases up to {max(numbers, default=0)}, {charged} charged")
        used = max((given.version for given in notes.given.values() if given.product == name), default=0)
        if used > max((each.version for each in made), default=0):
            bad.append(f"{name}: a price used version {used}, which is not stored")
    return bad


def _figures(store: LearnerStore, stored: list[Row], notes: Notes) -> list[str]:
    """What is counted is what is stored: an outcome that was taken twice would be counted twice."""
    bad = []
    for name in notes.products:
        figures = store.figures(name)
        mine = [row for row in stored if row.product == name]
        bought = sum(row.status == RECORDED and bool(row.demand) for row in mine)
        declined = sum(row.status == RECORDED and not row.demand for row in mine)
        if (figures.quoted, figures.bought, figures.declined) != (len(mine), bought, declined):
            bad.append(f"{name}: the figures do not count what is stored")
    return bad
