"""The learner's side of SQLite: what is due, what was released, and what a restored backup may not give again."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import takewhile

from hushprice.service.store import decisions
from hushprice.service.store.decisions import LATE, RECORDED, WAITING, Progress, Tally
from hushprice.service.store.protocol import LEASE, LearnerState, LeaseLost, Seen, Slot, StoredRelease, UnknownProduct


def take_lease(connection: sqlite3.Connection, holder: str, now: float) -> bool:
    taken = connection.execute(
        "UPDATE lease SET holder = ?1, until = ?2 WHERE holder IS NULL OR holder = ?1 OR until <= ?3",
        (holder, now + LEASE, now),
    )
    return taken.rowcount == 1


def check_lease(connection: sqlite3.Connection, holder: str) -> None:
    """By name alone, not by time: until another takes it, the lease is its last holder's, whatever clocks say."""
    if connection.execute("SELECT holder FROM lease").fetchone()[0] != holder:
        raise LeaseLost("another learner holds the lease")


def due(connection: sqlite3.Connection, product: str, after: int, limit: int) -> list[Slot]:
    """In one read of the clock and the slots, so that no outcome can come between."""
    at = _progress(connection, product)
    first = decisions.first_due(product, after, at)
    (clock,) = connection.execute("SELECT service FROM clock").fetchone()
    rows = connection.execute(
        """SELECT quote.slot, context, price, CASE status WHEN ? THEN demand END, counts, deadline
        FROM quote LEFT JOIN record ON record.product = quote.product AND record.slot = quote.slot
        WHERE quote.product = ? AND quote.slot >= ? ORDER BY quote.slot LIMIT ?""",
        (RECORDED, at.product, first, limit),
    )
    ready = takewhile(lambda row: decisions.is_due(clock, row[5]), rows)
    run = [Slot(slot, context, price, demand, bool(counts)) for slot, context, price, demand, counts, _ in ready]
    return [slot for place, slot in enumerate(run, first) if slot.slot == place]


def _progress(connection: sqlite3.Connection, product: str) -> Progress:
    row = connection.execute(
        """SELECT id, slots, ifnull(learned, 0), ifnull(sequence, 0), skipped_slots, skipped_releases
        FROM product LEFT JOIN learner ON learner.product = product.id WHERE name = ?""",
        (product,),
    ).fetchone()
    if row is None:
        raise UnknownProduct(product)
    return Progress(*row)


def commit(
    connection: sqlite3.Connection, holder: str, state: LearnerState, releases: Sequence[StoredRelease], tally: Tally
) -> None:
    check_lease(connection, holder)
    at = _progress(connection, state.product)
    decisions.check_state(state, releases, at)
    connection.executemany(
        "INSERT INTO release VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [decisions.release_row(at.product, release) for release in releases],
    )
    connection.execute(
        "INSERT OR REPLACE INTO learner VALUES (?, ?, ?, ?, ?)",
        (at.product, state.learned, state.sequence, state.state, state.ledger),
    )
    silent = """SELECT day, count(*) FROM quote WHERE product = ? AND slot > ? AND slot <= ? AND status IN (?, ?)
        GROUP BY day"""
    for day, count in connection.execute(silent, (at.product, at.learned, state.learned, WAITING, LATE)).fetchall():
        tally.add(at.product, day, "expired", count)
    connection.execute("DELETE FROM record WHERE product = ? AND slot <= ?", (at.product, state.learned))


def skip_to(connection: sqlite3.Connection, holder: str, seen: Seen, now: float) -> None:
    """The learner's own state stays behind: until a learner has stored a new one, each finds that it must skip."""
    check_lease(connection, holder)
    at = _progress(connection, seen.product)
    if at.skipped >= seen.records and at.skipped_releases >= seen.sequence:
        return
    connection.execute(
        """UPDATE product SET slots = max(slots, ?2), skipped_slots = max(skipped_slots, ?2),
        skipped_releases = max(skipped_releases, ?3) WHERE id = ?1""",
        (at.product, seen.records, seen.sequence),
    )
    connection.execute("DELETE FROM record WHERE product = ? AND slot <= ?", (at.product, seen.records))
    connection.execute(
        "INSERT INTO change (product, at, what, detail) VALUES (?, ?, 'restored backup', ?)",
        (at.product, now, decisions.skipped(seen)),
    )
