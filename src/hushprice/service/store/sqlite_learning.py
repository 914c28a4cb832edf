"""The learner's side of SQLite: what is due, what was released, and what a restored backup may not give again."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import takewhile

from hushprice.service.store import rules
from hushprice.service.store.protocol import LEASE, LearnerState, LeaseLost, Seen, Slot, StoredRelease, UnknownProduct
from hushprice.service.store.rules import LATE, RECORDED, WAITING, Tally


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
    number, _, learned, _, skipped, _ = _progress(connection, product)
    if after < learned:
        raise LeaseLost(f"{product}: another learner has learned slot {learned}")
    first = max(after, skipped) + 1
    (clock,) = connection.execute("SELECT service FROM clock").fetchone()
    rows = connection.execute(
        """SELECT quote.slot, context, price, CASE status WHEN ? THEN demand END, counts, deadline
        FROM quote LEFT JOIN record ON record.product = quote.product AND record.slot = quote.slot
        WHERE quote.product = ? AND quote.slot >= ? ORDER BY quote.slot LIMIT ?""",
        (RECORDED, number, first, limit),
    )
    ready = takewhile(lambda row: rules.is_due(clock, row[5]), rows)
    run = [Slot(slot, context, price, demand, bool(counts)) for slot, context, price, demand, counts, _ in ready]
    return [slot for place, slot in enumerate(run, first) if slot.slot == place]


def _progress(connection: sqlite3.Connection, product: str) -> tuple[int, int, int, int, int, int]:
    row = connection.execute(
        """SELECT id, slots, ifnull(learned, 0), ifnull(sequence, 0), skipped_slots, skipped_releases
        FROM product LEFT JOIN learner ON learner.product = product.id WHERE name = ?""",
        (product,),
    ).fetchone()
    if row is None:
        raise UnknownProduct(product)
    return tuple(row)


def commit(
    connection: sqlite3.Connection, holder: str, state: LearnerState, releases: Sequence[StoredRelease], tally: Tally
) -> None:
    check_lease(connection, holder)
    number, slots, learned, sequence, skipped, skipped_releases = _progress(connection, state.product)
    if max(learned, skipped) > state.learned or max(sequence, skipped_releases) > state.sequence:
        raise LeaseLost(f"{state.product}: another learner is at slot {max(learned, skipped)}")
    before = max(sequence, skipped_releases)
    rules.check_releases(state.learned, state.sequence, slots, before, releases, state.product)
    connection.executemany(
        "INSERT INTO release VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(number, r.sequence, r.version, r.kind, r.records, r.batch, r.numbers, r.belief, r.at) for r in releases],
    )
    connection.execute(
        "INSERT OR REPLACE INTO learner VALUES (?, ?, ?, ?, ?)",
        (number, state.learned, state.sequence, state.state, state.ledger),
    )
    silent = """SELECT day, count(*) FROM quote WHERE product = ? AND slot > ? AND slot <= ? AND status IN (?, ?)
        GROUP BY day"""
    for day, count in connection.execute(silent, (number, learned, state.learned, WAITING, LATE)).fetchall():
        tally.add(number, day, "expired", count)
    connection.execute("DELETE FROM record WHERE product = ? AND slot <= ?", (number, state.learned))


def skip_to(connection: sqlite3.Connection, holder: str, seen: Seen, now: float) -> None:
    """The learner's own state stays behind: until a learner has stored a new one, each finds that it must skip."""
    check_lease(connection, holder)
    number, _, _, _, skipped, skipped_releases = _progress(connection, seen.product)
    if skipped >= seen.records and skipped_releases >= seen.sequence:
        return
    connection.execute(
        """UPDATE product SET slots = max(slots, ?2), skipped_slots = max(skipped_slots, ?2),
        skipped_releases = max(skipped_releases, ?3) WHERE id = ?1""",
        (number, seen.records, seen.sequence),
    )
    connection.execute("DELETE FROM record WHERE product = ? AND slot <= ?", (number, seen.records))
    connection.execute(
        "INSERT INTO change (product, at, what, detail) VALUES (?, ?, 'restored backup', ?)",
        (number, now, rules.skipped(seen)),
    )
