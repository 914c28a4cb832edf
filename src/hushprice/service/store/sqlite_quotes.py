"""Quotes and outcomes into SQLite: what `write` and `forget` do within their transaction."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any

from hushprice.errors import InvalidInput
from hushprice.service.store import decisions
from hushprice.service.store.decisions import FORGOTTEN, LATE, RECORDED, WAITING, Tally
from hushprice.service.store.protocol import Given, NewOutcome, NewQuote, Told, UnknownProduct

_QUOTE = f"INSERT INTO quote VALUES (?{', ?' * 8}, 0, NULL{', ?' * 6})"
_RECORD = "INSERT INTO record VALUES (?, ?, ?)"
_AT_ONCE = 512  # rows of one statement at most: SQLite takes 32766 values
_REPEATED = "SELECT id, fingerprint, charged, expires, version FROM quote WHERE key = ? AND idempotency = ?"
_USED = """SELECT
    (SELECT count(*) FROM (SELECT 1 FROM quote WHERE customer = ?1 AND product = ?2 AND counts = 1 LIMIT ?3))
    + ifnull((SELECT records FROM used_cap WHERE customer = ?1 AND product = ?2), 0)"""
_FIND = "SELECT product, slot, key, status, demand, deadline, price, holdout, day FROM quote WHERE id = ?"
_NO_ANSWER: tuple[Any, ...] = (None, None, None, None)
_TELL = "UPDATE quote SET status = ?, demand = ? WHERE product = ? AND slot = ?"


def clock(connection: sqlite3.Connection) -> float:
    return float(connection.execute("SELECT service FROM clock").fetchone()[0])


def product_number(connection: sqlite3.Connection, product: str) -> int:
    row = connection.execute("SELECT id FROM product WHERE name = ?", (product,)).fetchone()
    if row is None:
        raise UnknownProduct(product)
    return int(row[0])


class Slots:
    """The next slots of products, read in this transaction and written back at its end: none is kept between."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._last: dict[str, list[int]] = {}

    def take(self, product: str) -> tuple[int, int]:
        """The product's number and a slot."""
        last = self._last.get(product)
        if last is None:
            row = self._connection.execute("SELECT id, slots FROM product WHERE name = ?", (product,)).fetchone()
            if row is None:
                raise UnknownProduct(product)
            last = self._last[product] = list(row)
        last[1] += 1
        return last[0], last[1]

    def keep(self) -> None:
        self._connection.executemany("UPDATE product SET slots = ?2 WHERE id = ?1", self._last.values())


def store_quotes(
    connection: sqlite3.Connection, quotes: Sequence[NewQuote], clock: float, day: int, tally: Tally
) -> list[Given]:
    """Give slots, count caps and answer repeated keys; sqlite3.IntegrityError where an id is stored already."""
    slots, rows, records, given = Slots(connection), [], [], []
    asked: dict[tuple[str, bytes], tuple[Any, ...]] = {}
    used: dict[tuple[bytes, int], int] = {}
    for quote in quotes:
        if quote.idempotency is not None:
            place = (quote.key, quote.idempotency)
            old = asked.get(place) or connection.execute(_REPEATED, place).fetchone()
            if old is not None:
                given.append(_again(quote, *old))
                continue
        product, slot = slots.take(quote.product)
        counts = quote.cap is None or _counts(connection, quote, product, used)
        number, answer = _number(quote), _NO_ANSWER
        if quote.idempotency is not None:
            answer = (quote.fingerprint, quote.charged, quote.expires, quote.version)
            asked[place] = (number, *answer)
        place_values = (product, slot, number, quote.key, quote.price, quote.holdout, counts, clock + quote.window, day)
        rows.append((*place_values, quote.customer, quote.idempotency, *answer))
        records.append((product, slot, quote.context))
        given.append(Given(quote.id, quote.charged, quote.expires, quote.version, True))
    _insert(connection, _QUOTE, rows)
    _insert(connection, _RECORD, records)
    slots.keep()
    for (product, holdout, counts), number_of in Counter([(row[0], row[5], row[6]) for row in rows]).items():
        tally.add(product, day, "quoted", number_of)
        tally.add(product, day, "holdout_quotes" if holdout else "personal_quotes", number_of)
        tally.add(product, day, "over_cap", 0 if counts else number_of)
    return given


def _insert(connection: sqlite3.Connection, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Many rows a statement: `executemany` lets go of the interpreter's lock at every row, and a busy event loop gives
    it back late. Powers of two, so that few statements are kept prepared."""
    head, _, row = statement.partition(" VALUES ")
    start = 0
    while start < len(rows):
        size = min(_AT_ONCE, 1 << (len(rows) - start).bit_length() - 1)
        values = tuple(chain.from_iterable(rows[start : start + size]))
        connection.execute(f"{head} VALUES {', '.join([row] * size)}", values)
        start += size


def _number(quote: NewQuote) -> bytes:
    number = decisions.quote_id(quote.id)
    if number is None:
        raise InvalidInput("id: must be 32 hexadecimal digits")
    return number


def _again(quote: NewQuote, number: bytes, fingerprint: bytes, charged: str, expires: float, version: int) -> Given:
    if fingerprint != quote.fingerprint:
        return Given("", "", 0.0, 0, False, True)
    return Given(number.hex(), charged, expires, version, number.hex() == quote.id)


def _counts(connection: sqlite3.Connection, quote: NewQuote, product: int, used: dict[tuple[bytes, int], int]) -> bool:
    """Is the customer under the cap? Counted before the quote is stored, others of this transaction included."""
    if quote.customer is None:
        return decisions.within_cap(0, quote.cap, False)
    place = (quote.customer, product)
    if place not in used:
        used[place] = connection.execute(_USED, (*place, quote.cap)).fetchone()[0]
    counts = decisions.within_cap(used[place], quote.cap, True)
    used[place] += counts
    return counts


def stored_already(connection: sqlite3.Connection, quotes: Sequence[NewQuote]) -> set[str]:
    """The ids that a commit has stored whose answer never came: asking again must not take second slots."""
    find = "SELECT 1 FROM quote WHERE id = ?"
    return {quote.id for quote in quotes if connection.execute(find, (_number(quote),)).fetchone()}


def store_outcomes(
    connection: sqlite3.Connection, outcomes: Sequence[NewOutcome], clock: float, tally: Tally
) -> list[Told]:
    """Told once, an outcome stays: only a first one is stored, and only one in time is ever learned."""
    return [_told(connection, outcome, clock, tally) for outcome in outcomes]


def _told(connection: sqlite3.Connection, outcome: NewOutcome, clock: float, tally: Tally) -> Told:
    row = connection.execute(_FIND, (decisions.quote_id(outcome.quote),)).fetchone()
    if row is None or row[2] != outcome.key or row[3] == FORGOTTEN:
        return Told("unknown")
    product, slot, _, status, demand, deadline, price, holdout, day = row
    if status == WAITING:
        if not decisions.in_time(clock, deadline):
            connection.execute(_TELL, (LATE, outcome.demand, product, slot))
            tally.add(product, day, "late")
            return Told("late")
        connection.execute(_TELL, (RECORDED, outcome.demand, product, slot))
        _count_outcome(tally, product, day, holdout, price, outcome.demand, 1)
        return Told("recorded")
    if demand != outcome.demand:
        tally.add(product, day, "conflicting")
        return Told("conflict")
    tally.add(product, day, "repeated")
    return Told("recorded" if status == RECORDED else "late", True)


def _count_outcome(
    tally: Tally, product: int, day: int, holdout: bool, price: float, demand: float, times: int
) -> None:
    tally.add(product, day, "bought" if demand > 0.0 else "declined", times)
    revenue = price * demand
    tally.add(product, day, "holdout_revenue" if holdout else "personal_revenue", times * revenue)
    tally.add(product, day, "holdout_squares" if holdout else "personal_squares", times * revenue * revenue)


def forget(connection: sqlite3.Connection, customer: bytes, clock: float, tally: Tally) -> None:
    """Leave tombstones, and the number of records that a release may hold, so that nobody gets a second cap."""
    rows = connection.execute(
        """SELECT quote.product, slot, status, demand, price, holdout, day, counts, deadline, ifnull(learned, 0)
        FROM quote LEFT JOIN learner ON learner.product = quote.product WHERE customer = ?""",
        (customer,),
    ).fetchall()
    for product, slot, status, demand, price, holdout, day, counts, deadline, learned in rows:
        tally.add(product, day, "forgotten")
        tally.add(product, day, "holdout_quotes" if holdout else "personal_quotes", -1)
        if status == RECORDED:
            _count_outcome(tally, product, day, holdout, price, demand, -1)
        elif slot <= learned:
            tally.add(product, day, "expired", -1)
        # A learner may hold every slot that is due, in a release or about to be.
        if counts and decisions.is_due(clock, deadline):
            connection.execute(
                "INSERT INTO used_cap VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET records = records + 1",
                (customer, product),
            )
    places = [(product, slot) for product, slot, *_ in rows]
    connection.executemany("DELETE FROM record WHERE product = ? AND slot = ?", places)
    connection.executemany(
        f"""UPDATE quote SET status = {FORGOTTEN}, demand = NULL, counts = 0, price = 0.0, customer = NULL,
        idempotency = NULL, fingerprint = NULL, charged = NULL, expires = NULL, version = NULL
        WHERE product = ? AND slot = ?""",
        places,
    )
