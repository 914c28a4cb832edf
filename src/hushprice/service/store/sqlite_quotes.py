"""Quotes and outcomes into SQLite: what `write` and `forget` do within their transaction."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any

from hushprice.errors import InvalidInput
from hushprice.service.store import decisions
from hushprice.service.store.decisions import FORGOTTEN, LATE, RECORDED, WAITING, DayCounts
from hushprice.service.store.protocol import UnknownProduct
from hushprice.service.store.values import NewOutcome, NewQuote, OutcomeAnswer, QuoteAnswer

_QUOTE = f"INSERT INTO quote VALUES (?{', ?' * 8}, 0, NULL{', ?' * 7})"
_RECORD = "INSERT INTO record VALUES (?, ?, ?)"
_AT_ONCE = 512  # rows of one statement at most: SQLite takes 32766 values
REPEATED = "SELECT id, fingerprint, charged, expires, version, propensity FROM quote WHERE key = ? AND idempotency = ?"
_COUNTED_RECORDS = """SELECT
    (SELECT count(*) FROM (SELECT 1 FROM quote WHERE customer = ?1 AND product = ?2 AND counts = 1 LIMIT ?3))
    + ifnull((SELECT records FROM used_cap WHERE customer = ?1 AND product = ?2), 0)"""
_HAS_ID = "id = ?1 AND substr(id, 11, 2) = substr(?1, 11, 2)"  # as the index of ids has it (sqlite_5.sql)
_FIND_QUOTE = f"SELECT product, slot, key, status, demand, deadline, price, holdout, day FROM quote WHERE {_HAS_ID}"
_KEY_USE = """INSERT INTO key_use VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET quotes = quotes + excluded.quotes"""
_NO_REPEAT: tuple[Any, ...] = (None, None, None, None)
_SET_OUTCOME = "UPDATE quote SET status = ?, demand = ? WHERE product = ? AND slot = ?"


def clock(connection: sqlite3.Connection) -> float:
    """The service's clock."""
    return float(connection.execute("SELECT service FROM clock").fetchone()[0])


def product_number(connection: sqlite3.Connection, product: str) -> int:
    """The number of a product's row; UnknownProduct where there is none."""
    row = connection.execute("SELECT id FROM product WHERE name = ?", (product,)).fetchone()
    if row is None:
        raise UnknownProduct(product)
    return int(row[0])


class SlotCounter:
    """The next slots of products, read in this transaction and written back at its end: none is kept between."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._last: dict[str, list[int]] = {}

    def take(self, product: str) -> tuple[int, int]:
        """The product's number and its next slot."""
        last = self._last.get(product)
        if last is None:
            row = self._connection.execute("SELECT id, slots FROM product WHERE name = ?", (product,)).fetchone()
            if row is None:
                raise UnknownProduct(product)
            last = self._last[product] = list(row)
        last[1] += 1
        return last[0], last[1]

    def write_back(self) -> None:
        """Store the last slot of every product that one was taken of."""
        self._connection.executemany("UPDATE product SET slots = ?2 WHERE id = ?1", self._last.values())


def store_quotes(
    connection: sqlite3.Connection, quotes: Sequence[NewQuote], clock: float, day: int, tally: DayCounts
) -> list[QuoteAnswer]:
    """Give slots, count caps and answer repeated keys; sqlite3.IntegrityError where an id is stored already."""
    slots, rows, records, answers = SlotCounter(connection), [], [], []
    earlier: dict[tuple[str, bytes], tuple[Any, ...]] = {}  # keys of this transaction
    used: dict[tuple[bytes, int], int] = {}
    for quote in quotes:
        if quote.idempotency is not None:
            key = (quote.key, quote.idempotency)
            old = earlier.get(key) or connection.execute(REPEATED, key).fetchone()
            if old is not None:
                answers.append(repeated_answer(quote.fingerprint, old, quote.id))
                continue
        product, slot = slots.take(quote.product)
        counts = quote.cap is None or _is_within_cap(connection, quote, product, used)
        number, repeat = _id_bytes(quote), _NO_REPEAT
        if quote.idempotency is not None:
            repeat = (quote.fingerprint, quote.charged, quote.expires, quote.version)
            earlier[key] = (number, *repeat, quote.propensity)
        record = (product, slot, number, quote.key, quote.price, quote.holdout, counts, clock + quote.window, day)
        rows.append((*record, quote.customer, quote.idempotency, *repeat, quote.propensity))
        records.append((product, slot, quote.context))
        answers.append(decisions.fresh_answer(quote))
    _insert(connection, _QUOTE, rows)
    _insert(connection, _RECORD, records)
    asked = Counter((row[3], row[0]) for row in rows)
    connection.executemany(_KEY_USE, [(key, day, product, count) for (key, product), count in asked.items()])
    slots.write_back()
    for (product, holdout, counts), number_of in Counter([(row[0], row[5], row[6]) for row in rows]).items():
        tally.add(product, day, "quoted", number_of)
        tally.add(product, day, "holdout_quotes" if holdout else "personal_quotes", number_of)
        tally.add(product, day, "over_cap", 0 if counts else number_of)
    return answers


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


def _id_bytes(quote: NewQuote) -> bytes:
    number = decisions.quote_id(quote.id)
    if number is None:
        raise InvalidInput("id: must be 32 hexadecimal digits")
    return number


def repeated_answer(request: bytes | None, old: tuple[Any, ...], new_id: str = "") -> QuoteAnswer:
    """The answer where the Idempotency-Key has a quote already; `old` is that quote, in the columns of REPEATED."""
    number, fingerprint, charged, expires, version, propensity = old
    if fingerprint != request:
        return QuoteAnswer("", "", 0.0, 0, False, True)
    return QuoteAnswer(number.hex(), charged, expires, version, number.hex() == new_id, propensity=propensity)


def _is_within_cap(
    connection: sqlite3.Connection, quote: NewQuote, product: int, used: dict[tuple[bytes, int], int]
) -> bool:
    """Is the customer under the cap? Counted before the quote is stored, others of this transaction included."""
    if quote.customer is None:
        return decisions.within_cap(0, quote.cap, False)
    of_customer = (quote.customer, product)
    if of_customer not in used:
        used[of_customer] = connection.execute(_COUNTED_RECORDS, (*of_customer, quote.cap)).fetchone()[0]
    counts = decisions.within_cap(used[of_customer], quote.cap, True)
    used[of_customer] += counts
    return counts


def stored_already(connection: sqlite3.Connection, quotes: Sequence[NewQuote]) -> set[str]:
    """The ids that a commit has stored whose answer never came: asking again must not take second slots."""
    find = f"SELECT 1 FROM quote WHERE {_HAS_ID}"
    return {quote.id for quote in quotes if connection.execute(find, (_id_bytes(quote),)).fetchone()}


def store_outcomes(
    connection: sqlite3.Connection, outcomes: Sequence[NewOutcome], clock: float, tally: DayCounts
) -> list[OutcomeAnswer]:
    """The answer to each outcome. Only a first one is stored, and only one in time is ever learned."""
    return [_store_outcome(connection, outcome, clock, tally) for outcome in outcomes]


def _store_outcome(
    connection: sqlite3.Connection, outcome: NewOutcome, clock: float, tally: DayCounts
) -> OutcomeAnswer:
    row = connection.execute(_FIND_QUOTE, (decisions.quote_id(outcome.quote),)).fetchone()
    if row is None or row[2] != outcome.key or row[3] == FORGOTTEN:
        return OutcomeAnswer("unknown")
    product, slot, _, status, demand, deadline, price, holdout, day = row
    if decisions.is_unpriced(price) != outcome.report:
        return OutcomeAnswer("another kind")
    if outcome.demand > 1.0 and not outcome.report:  # what every product can have
        (spec,) = connection.execute("SELECT spec FROM product WHERE id = ?", (product,)).fetchone()
        bound = decisions.largest_demand(spec)
        if outcome.demand > bound:
            return OutcomeAnswer("too much", bound=bound)
    if status == WAITING:
        if not decisions.in_time(clock, deadline):
            connection.execute(_SET_OUTCOME, (LATE, outcome.demand, product, slot))
            tally.add(product, day, "late")
            return OutcomeAnswer("late")
        connection.execute(_SET_OUTCOME, (RECORDED, outcome.demand, product, slot))
        _count_outcome(tally, product, day, holdout=holdout, price=price, demand=outcome.demand)
        return OutcomeAnswer("recorded")
    if demand != outcome.demand:
        tally.add(product, day, "conflicting")
        return OutcomeAnswer("conflict")
    tally.add(product, day, "repeated")
    return OutcomeAnswer("recorded" if status == RECORDED else "late", True)


def _count_outcome(
    tally: DayCounts, product: int, day: int, *, holdout: bool, price: float, demand: float, times: int = 1
) -> None:
    told = not decisions.is_unpriced(price)  # a report is no outcome
    tally.add(product, day, "bought" if told and demand > 0.0 else "declined", times)
    revenue = price * demand if told else 0.0
    tally.add(product, day, "holdout_revenue" if holdout else "personal_revenue", times * revenue)
    tally.add(product, day, "holdout_squares" if holdout else "personal_squares", times * revenue * revenue)


def forget(connection: sqlite3.Connection, customer: bytes, clock: float, tally: DayCounts) -> None:
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
            _count_outcome(tally, product, day, holdout=holdout, price=price, demand=demand, times=-1)
        elif slot <= learned:
            tally.add(product, day, "expired", -1)
        # A learner may hold every slot that is due, in a release or about to be.
        if counts and decisions.is_due(clock, deadline):
            connection.execute(
                "INSERT INTO used_cap VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET records = records + 1",
                (customer, product),
            )
    forgotten = [(product, slot) for product, slot, *_ in rows]
    connection.executemany("DELETE FROM record WHERE product = ? AND slot = ?", forgotten)
    connection.executemany(
        f"""UPDATE quote SET status = {FORGOTTEN}, demand = NULL, counts = 0, price = 0.0, customer = NULL,
        idempotency = NULL, fingerprint = NULL, charged = NULL, expires = NULL, version = NULL,
        propensity = NULL
        WHERE product = ? AND slot = ?""",
        forgotten,
    )
