"""What the learner does on SQLite: what is due, what was released, and what a restored backup may not give again."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import takewhile

from hushprice.service.store import decisions
from hushprice.service.store.decisions import LATE, RECORDED, WAITING, Progress, Tally
from hushprice.service.store.protocol import LEASE, LeaseLost, UnknownProduct
from hushprice.service.store.values import LearnerState, SeenRelease, Slot, StoredRelease


def take_lease(connection: sqlite3.Connection, holder: str, now: float) -> bool:
    """Take or renew the lease; False where another holds it."""
    taken = connection.execute(
        "UPDATE lease SET holder = ?1, until = ?2 WHERE holder IS NULL OR holder = ?1 OR until <= ?3",
        (holder, now + LEASE, now),
    )
    return taken.rowcount == 1


def check_lease(connection: sqlite3.Connection, holder: str) -> None:
    """Raise LeaseLost where the lease is another's.

    By name alone, not by time: until another takes it, it is its last holder's, whatever clocks say.
    """
    if connection.execute("SELECT holder FROM lease").fetchone()[0] != holder:
        raise LeaseLost("another learner holds the lease")


def due(connection: sqlite3.Connection, product: str, after: int, limit: int) -> list[Slot]:
    """The slots that are due, from one read of the clock and the slots, so that no outcome can come between."""
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
    return [slot for expected, slot in enumerate(run, first) if slot.slot == expected]


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
    """Store a state with its releases, and erase the contexts of the slots learned; all is checked first."""
    check_lease(connection, holder)
    at = _progress(connection, state.product)
    decisions.check_nothing_lost(state.product, _lost_release(connection, state.product))
    decisions.check_state(state, releases, at)
    connection.executemany(
        "INSERT INTO release VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [decisions.release_row(at.product, release) for release in releases],
    )
    connection.execute(
        "INSERT OR REPLACE INTO learner VALUES (?, ?, ?, ?, ?, ?)",
        (at.product, state.learned, state.sequence, state.state, state.ledger, state.ended),
    )
    silent = """SELECT day, count(*) FROM quote WHERE product = ? AND slot > ? AND slot <= ? AND status IN (?, ?)
        GROUP BY day"""
    for day, count in connection.execute(silent, (at.product, at.learned, state.learned, WAITING, LATE)).fetchall():
        tally.add(at.product, day, "expired", count)
    connection.execute("DELETE FROM record WHERE product = ? AND slot <= ?", (at.product, state.learned))


def report_seen(connection: sqlite3.Connection, seen: SeenRelease) -> None:
    """Keep what was seen unless the store has that release, or has charged it."""
    row = connection.execute(
        """SELECT skipped_releases, skipped_slots, numbers FROM product
        LEFT JOIN release ON release.product = product.id AND sequence = ? WHERE name = ?""",
        (seen.sequence, seen.product),
    ).fetchone()
    if row is None or not decisions.is_known(seen, *row):
        connection.execute(
            "INSERT OR IGNORE INTO seen VALUES (?, ?, ?, ?, ?, 0)",
            (seen.product, seen.sequence, seen.digest, seen.records, seen.restores),
        )


def _lost_release(connection: sqlite3.Connection, product: str) -> object:
    return connection.execute("SELECT 1 FROM seen WHERE product = ? AND skipped = 0", (product,)).fetchone()


def skip_to(connection: sqlite3.Connection, holder: str, seen: SeenRelease, now: float) -> SeenRelease:
    """Skip what a restored backup had lost; returns the slot and number skipped to.

    The learner's own state stays behind: until a learner has stored a new one, each finds that it must skip.
    """
    check_lease(connection, holder)
    at = _progress(connection, seen.product)
    to = decisions.skip_target(seen, at, _lost_release(connection, seen.product))
    if to is None:
        return SeenRelease(seen.product, at.skipped_releases, at.skipped)
    connection.execute(
        "UPDATE product SET slots = max(slots, ?2), skipped_slots = ?2, skipped_releases = ?3 WHERE id = ?1",
        (at.product, to.records, to.sequence),
    )
    connection.execute("DELETE FROM record WHERE product = ? AND slot <= ?", (at.product, to.records))
    connection.execute(  # what was reported since `seen` was asked for stays
        "UPDATE seen SET skipped = 1 WHERE product = ? AND sequence <= ? AND records <= ? AND restores <= ?",
        (seen.product, to.sequence, to.records, seen.restores),
    )
    (known,) = connection.execute(
        f"SELECT ({decisions.RESTORES.format(schema='')}) FROM product WHERE id = ?", (at.product,)
    ).fetchone()
    connection.executemany(
        "INSERT INTO change (product, at, what, detail) VALUES (?, ?, 'restored backup', ?)",
        [(at.product, now, detail) for detail in decisions.restore_details(seen, at, known)],
    )
    return to
