"""What the learner does on SQLite: what is due, what was released, and what a restored backup may not give again."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import takewhile

from hushprice.service.store import decisions, lost_releases
from hushprice.service.store.decisions import LATE, RECORDED, WAITING, DayCounts, Outdated, Progress
from hushprice.service.store.lost_releases import Charge, Mark, Skipped, StoreHistory
from hushprice.service.store.protocol import LEASE, LeaseLost, UnknownProduct
from hushprice.service.store.values import (
    LearnerReport,
    LearnerState,
    LearningProgress,
    SeenRelease,
    Slot,
    StoredRelease,
)


def take_lease(connection: sqlite3.Connection, holder: str, now: float, report: LearnerReport) -> bool:
    """Take or renew the lease; False where another holds it."""
    taken = connection.execute(
        """UPDATE lease SET holder = ?1, until = ?2, since_look = ?3, set_aside = ?4
        WHERE holder IS NULL OR holder = ?1 OR until <= ?5 OR until > ?6""",
        (holder, now + LEASE, report.since_look, report.set_aside, *decisions.held_until(now)),
    )
    return taken.rowcount == 1


def progress(connection: sqlite3.Connection, now: float) -> LearningProgress:
    """How far learning is: the next slot to be learned of every product, where that is due."""
    held, *report = connection.execute(
        "SELECT holder IS NOT NULL AND until > ? AND until <= ?, since_look, set_aside FROM lease",
        decisions.held_until(now),
    ).fetchone()
    overdue = connection.execute(  # CROSS JOIN: in this order, so that one quote of each product is read
        """SELECT name, service - deadline FROM clock CROSS JOIN product
        LEFT JOIN learner ON learner.product = product.id
        CROSS JOIN quote ON quote.product = product.id AND quote.slot = max(ifnull(learned, 0), skipped_slots) + 1
        WHERE deadline <= service"""
    )
    return LearningProgress(bool(held), LearnerReport(*report), dict(overdue.fetchall()))


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
        """SELECT quote.slot, context, price, CASE status WHEN ? THEN demand END, counts, holdout, id, deadline
        FROM quote LEFT JOIN record ON record.product = quote.product AND record.slot = quote.slot
        WHERE quote.product = ? AND quote.slot >= ? ORDER BY quote.slot LIMIT ?""",
        (RECORDED, at.product, first, limit),
    )
    ready = takewhile(lambda row: decisions.is_due(clock, row[-1]), rows)
    run = [
        Slot(slot, context, price, demand, bool(counts), bool(holdout), number)
        for slot, context, price, demand, counts, holdout, number, _ in ready
    ]
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
    connection: sqlite3.Connection,
    holder: str,
    state: LearnerState,
    releases: Sequence[StoredRelease],
    tally: DayCounts,
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


def erase_quotes(connection: sqlite3.Connection, product: str, outdated: Outdated, capped: bool) -> int:
    """Erase learned quotes whose retention has ended, and keep the counts behind the cap; returns how many."""
    at = _progress(connection, product)
    rows = connection.execute(
        "SELECT slot, day, customer, counts FROM quote WHERE product = ? AND slot <= ? ORDER BY slot LIMIT ?",
        (at.product, at.learned, outdated.limit),
    )
    slots, records = outdated.of(rows)
    if not slots:
        return 0
    if capped:
        connection.executemany(
            "INSERT INTO used_cap VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET records = records + excluded.records",
            [(customer, at.product, count) for customer, count in records.items()],
        )
    connection.execute("DELETE FROM quote WHERE product = ? AND slot <= ?", (at.product, slots[-1]))
    connection.execute(
        "UPDATE product SET erased_slots = ?2, erased_quotes = erased_quotes + ?3 WHERE id = ?1",
        (at.product, slots[-1], len(slots)),
    )
    return len(slots)


def report_seen(connection: sqlite3.Connection, seen: SeenRelease) -> None:
    """Keep what was seen unless the store has that release, or has charged it."""
    row = connection.execute(
        """SELECT skipped_releases, skipped_slots, numbers FROM product
        LEFT JOIN release ON release.product = product.id AND sequence = ? WHERE name = ?""",
        (seen.sequence, seen.product),
    ).fetchone()
    charged = _lost(connection, seen.product, charged=True)
    if row is None or not lost_releases.is_known(seen, Skipped(row[0], row[1], charged), row[2]):
        connection.execute(
            """INSERT OR IGNORE INTO seen (product, sequence, digest, records, restores, overlapping, lineage)
            VALUES (?, ?, ?, ?, ?, ?, ?)""",
            (seen.product, seen.sequence, seen.digest, seen.records, seen.restores, seen.overlaps, seen.lineage),
        )


def _lost(connection: sqlite3.Connection, product: str, *, charged: bool) -> list[SeenRelease]:
    rows = connection.execute(
        """SELECT product, sequence, records, digest, restores, overlapping, lineage FROM seen
        WHERE product = ? AND skipped = ?""",
        (product, charged),
    )
    return [SeenRelease(*row) for row in rows]


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
    found = decisions.passed(_lost(connection, seen.product, charged=False), to)
    charges = lost_releases.charges_of(found, _history(connection, seen.product, at))
    connection.execute(  # what was reported since `seen` was asked for stays
        "UPDATE seen SET skipped = 1 WHERE product = ? AND sequence <= ? AND records <= ?",
        (seen.product, to.sequence, to.records),
    )
    list_changes(connection, at.product, now, charges)
    return to


def _history(connection: sqlite3.Connection, product: str, at: Progress) -> StoreHistory:
    row = connection.execute(
        "SELECT sequence, numbers FROM release WHERE product = ? ORDER BY sequence DESC LIMIT 1", (at.product,)
    ).fetchone()
    counts = ", ".join(f"({each.format(schema='')})" for each in (decisions.RESTORES, decisions.OVERLAPS))
    restores, overlaps = connection.execute(f"SELECT {counts} FROM product WHERE id = ?", (at.product,)).fetchone()
    latest = None if row is None else Mark(row[0], lost_releases.digest(row[1]))
    charged = _lost(connection, product, charged=True)
    return StoreHistory(latest, at.skipped_releases, restores, overlaps, charged)


def list_for_all(connection: sqlite3.Connection, now: float, what: str, detail: str) -> None:
    """The same change for every product that has given quotes."""
    for product, slots in connection.execute("SELECT id, slots FROM product WHERE slots > 0").fetchall():
        list_changes(connection, product, now, [Charge(what, detail.format(slots=slots))])


def list_changes(connection: sqlite3.Connection, product: int, now: float, charges: Sequence[Charge]) -> None:
    """Store changes of a product that certificates must list."""
    connection.executemany(
        "INSERT INTO change (product, at, what, detail) VALUES (?, ?, ?, ?)",
        [(product, now, *charge) for charge in charges],
    )
