"""What the learner does on PostgreSQL. Its role owns the tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from typing import Any

import psycopg

from hushprice.privacy.histories import OVERLAPS
from hushprice.service.store import decisions, lost_releases, postgres_overview, postgres_setup
from hushprice.service.store.decisions import LATE, RECORDED, WAITING, Outdated, Progress
from hushprice.service.store.lost_releases import ACCEPTED, COPIED, Charge, StoreHistory
from hushprice.service.store.postgres import PostgresQuoterStore
from hushprice.service.store.postgres_connection import BoundedConnection
from hushprice.service.store.protocol import LEASE, LeaseLost, UnknownProduct
from hushprice.service.store.trail import TRAIL_COLUMNS, UNSIGNED, TrailEntry, key_detail
from hushprice.service.store.values import (
    ALL_WELL,
    LAST_DAY,
    ApiKey,
    Figures,
    KeyCount,
    LearnerReport,
    LearnerState,
    SeenRelease,
    Slot,
    StoredRelease,
)

_SUMS = ", ".join(f"coalesce(sum({name}), 0)" for name in decisions.COUNTED)

_EXPIRED = """SELECT hushprice.add_tally(coalesce(jsonb_agg(silent), '[]')) FROM (
    SELECT product, day, count(*) AS expired FROM hushprice.quote
    WHERE product = %s AND slot > %s AND slot <= %s AND status IN (%s, %s) GROUP BY product, day) AS silent"""
_COUNTS = ", ".join(f"({each.format(schema='hushprice.')})" for each in (decisions.RESTORES, decisions.OVERLAPS))
_RESTORES = f"SELECT {_COUNTS} FROM hushprice.product WHERE id = %s"
_LEARNED = """SELECT slot, day, customer, counts FROM hushprice.quote WHERE product = %s AND slot <= %s
    ORDER BY slot LIMIT %s"""
_TRAIL = "SELECT hushprice.note_trail(%s, %s, %s, %s, %s)"
_ERASE = "DELETE FROM hushprice.record WHERE product = %s AND slot <= %s"


class PostgresLearnerStore(PostgresQuoterStore):
    """Keeps the promises of LearnerStore. Opening it creates or upgrades the schema."""

    _name = "hushprice learner"

    @staticmethod
    def _ready(connection: BoundedConnection) -> None:
        postgres_setup.bring_up(connection)

    def take_lease(self, holder: str, now: float, report: LearnerReport = ALL_WELL) -> bool:
        query = """UPDATE hushprice.lease SET holder = %s, until = %s, since_look = %s, set_aside = %s
            WHERE holder IS NULL OR holder = %s OR until <= %s OR until > %s RETURNING 1"""
        given = (holder, now + LEASE, report.since_look, report.set_aside, holder, *decisions.held_until(now))
        return bool(self._connection.rows(query, given))

    def drop_lease(self, holder: str) -> None:
        query = "UPDATE hushprice.lease SET holder = NULL, until = 0.0 WHERE holder = %s RETURNING 1"
        self._connection.rows(query, (holder,))

    def state(self, product: str) -> LearnerState | None:
        query = """SELECT name, learned, sequence, state, ledger, ended
            FROM hushprice.learner JOIN hushprice.product ON product.id = learner.product WHERE name = %s"""
        rows = self._connection.rows(query, (product,))
        return LearnerState(*rows[0]) if rows else None

    def due(self, product: str, after: int, limit: int) -> list[Slot]:
        """The slots that are due, from one statement, which sees the clock and the slots of one moment."""
        at = self._progress(product)
        first = decisions.first_due(product, after, at)
        rows = self._connection.rows(
            """SELECT slot, context, price, CASE status WHEN %s THEN demand END, counts, holdout, id, deadline, service
            FROM hushprice.quote LEFT JOIN hushprice.record USING (product, slot) CROSS JOIN hushprice.clock
            WHERE product = %s AND slot >= %s ORDER BY slot LIMIT %s""",
            (RECORDED, at.product, first, limit),
        )
        ready = takewhile(lambda row: decisions.is_due(row[-1], row[-2]), rows)
        return [Slot(*row[:7]) for expected, row in enumerate(ready, first) if row[0] == expected]

    def _progress(self, product: str, lock: str = "") -> Progress:
        rows = self._connection.rows(
            f"""SELECT id, slots, coalesce(learned, 0), coalesce(sequence, 0), skipped_slots, skipped_releases
            FROM hushprice.product LEFT JOIN hushprice.learner ON learner.product = product.id
            WHERE name = %s {lock}""",
            (product,),
        )
        if not rows:
            raise UnknownProduct(product)
        return Progress(*rows[0])

    def _locked_progress(self, connection: psycopg.Connection[Any], holder: str, product: str) -> Progress:
        """Where the product is; the lease, then the product are locked until the commit.

        By name alone: until another takes it, the lease is its last holder's, whatever clocks say.
        """
        if connection.execute("SELECT holder FROM hushprice.lease FOR UPDATE").fetchone() != (holder,):
            raise LeaseLost("another learner holds the lease")
        return self._progress(product, "FOR NO KEY UPDATE OF product")

    def commit(self, holder: str, state: LearnerState, releases: Sequence[StoredRelease], now: float) -> None:
        with self._connection.transaction() as connection:
            at = self._locked_progress(connection, holder, state.product)
            decisions.check_nothing_lost(state.product, self._lost_release(state.product))
            decisions.check_state(state, releases, at)
            connection.cursor().executemany(
                "INSERT INTO hushprice.release VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
                [decisions.release_row(at.product, release) for release in releases],
            )
            connection.execute(
                """INSERT INTO hushprice.learner VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (product) DO UPDATE
                SET learned = excluded.learned, sequence = excluded.sequence, state = excluded.state,
                ledger = excluded.ledger, ended = excluded.ended""",
                (at.product, state.learned, state.sequence, state.state, state.ledger, state.ended),
            )
            connection.execute(_EXPIRED, (at.product, at.learned, state.learned, WAITING, LATE))
            connection.execute(_ERASE, (at.product, state.learned))

    def highest_seen(self, product: str) -> SeenRelease | None:
        query = "SELECT max(sequence), max(records) FROM hushprice.seen WHERE product = %s AND NOT skipped"
        ((sequence, records),) = self._connection.rows(query, (product,))
        return None if sequence is None else SeenRelease(product, sequence, records)

    def _lost_release(self, product: str) -> object:
        """A row where a release was seen that the store lacks.

        Asked after the product is locked: a statement of its own sees what was reported before that.
        """
        rows = self._connection.rows(
            "SELECT 1 FROM hushprice.seen WHERE product = %s AND NOT skipped LIMIT 1", (product,)
        )
        return rows[0] if rows else None

    def skip_to(self, holder: str, seen: SeenRelease, now: float) -> SeenRelease:
        """The learner's own state stays behind: until a learner has stored a new one, each finds that it must skip."""
        with self._connection.transaction() as connection:
            at = self._locked_progress(connection, holder, seen.product)
            to = decisions.skip_target(seen, at, self._lost_release(seen.product))
            if to is None:
                return SeenRelease(seen.product, at.skipped_releases, at.skipped)
            connection.execute(
                """UPDATE hushprice.product SET slots = greatest(slots, %(records)s),
                skipped_slots = %(records)s, skipped_releases = %(sequence)s WHERE id = %(id)s""",
                {"records": to.records, "sequence": to.sequence, "id": at.product},
            )
            connection.execute(_ERASE, (at.product, to.records))
            found = decisions.passed(self._lost(seen.product, charged=False), to)
            charges = lost_releases.charges_of(found, self._history(seen.product, at))
            connection.execute(  # what was reported since `seen` was asked for stays
                "UPDATE hushprice.seen SET skipped = true WHERE product = %s AND sequence <= %s AND records <= %s",
                (seen.product, to.sequence, to.records),
            )
            self._list_changes(connection, at.product, now, charges)
            return to

    def _lost(self, product: str, *, charged: bool) -> list[SeenRelease]:
        query = """SELECT product, sequence, records, digest, restores, overlapping, lineage FROM hushprice.seen
            WHERE product = %s AND skipped = %s"""
        return [SeenRelease(*row) for row in self._connection.rows(query, (product, charged))]

    def _history(self, product: str, at: Progress) -> StoreHistory:
        last = self.latest_release(product)
        ((restores, overlaps),) = self._connection.rows(_RESTORES, (at.product,))
        latest = None if last is None else lost_releases.mark_of(last)
        return StoreHistory(latest, at.skipped_releases, restores, overlaps, self._lost(product, charged=True))

    @staticmethod
    def _list_changes(connection: psycopg.Connection[Any], product: int, now: float, charges: Sequence[Charge]) -> None:
        connection.cursor().executemany(
            "INSERT INTO hushprice.change (product, at, what, detail) VALUES (%s, %s, %s, %s)",
            [(product, now, *charge) for charge in charges],
        )

    def erase_quotes(self, product: str, before: int, limit: int, *, capped: bool) -> int:
        with self._connection.transaction() as connection:
            at = self._progress(product, "FOR NO KEY UPDATE OF product")  # who counts records for a cap waits
            rows = self._connection.rows(_LEARNED, (at.product, at.learned, limit))
            slots, records = Outdated(before, limit).of(rows)
            if not slots:
                return 0
            if capped:
                connection.cursor().executemany(
                    """INSERT INTO hushprice.used_cap AS u VALUES (%s, %s, %s)
                    ON CONFLICT (customer, product) DO UPDATE SET records = u.records + excluded.records""",
                    [(customer, at.product, count) for customer, count in records.items()],
                )
            connection.execute("DELETE FROM hushprice.quote WHERE product = %s AND slot <= %s", (at.product, slots[-1]))
            connection.execute(
                "UPDATE hushprice.product SET erased_slots = %s, erased_quotes = erased_quotes + %s WHERE id = %s",
                (slots[-1], len(slots), at.product),
            )
            return len(slots)

    @contextmanager
    def snapshot(self) -> Iterator[Callable[..., list[tuple[Any, ...]]]]:
        with self._connection.transaction() as connection:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            postgres_setup.allow_long(connection)
            connection.execute("SET LOCAL enable_seqscan = on")
            connection.execute("SET LOCAL search_path = hushprice")
            yield lambda query, *values: connection.execute(query.replace("?", "%s").encode(), values).fetchall()

    def accept_lost_notes(self, now: float) -> None:
        with self._connection.transaction() as connection:
            self._list_for_all(connection, now, OVERLAPS[1], ACCEPTED)

    def become_copy(self, now: float) -> None:
        with self._connection.transaction() as connection:
            connection.execute("UPDATE hushprice.identity SET id = uuid_send(gen_random_uuid())")
            self._list_for_all(connection, now, OVERLAPS[0], COPIED)

    def _list_for_all(self, connection: psycopg.Connection[Any], now: float, what: str, detail: str) -> None:
        """The same change for every product that has given quotes."""
        for product, slots in self._connection.rows("SELECT id, slots FROM hushprice.product WHERE slots > 0"):
            self._list_changes(connection, product, now, [Charge(what, detail.format(slots=slots))])

    def oldest_quotes(self) -> list[tuple[str, int]]:
        return [(name, day) for name, day in self._connection.rows(postgres_overview.OLDEST)]

    def products_to_learn(self) -> list[str]:
        return [name for (name,) in self._connection.rows(postgres_overview.TO_LEARN)]

    def add_certificate(self, product: str, certificate: bytes | None, now: float, basis: str = "") -> None:
        query = """WITH certified AS (
                INSERT INTO hushprice.certified SELECT id, %(basis)s FROM hushprice.product WHERE name = %(product)s
                ON CONFLICT (product) DO UPDATE SET basis = excluded.basis RETURNING product),
            added AS (
                INSERT INTO hushprice.certificate SELECT product, %(now)s, %(body)s::bytea FROM certified
                WHERE %(body)s::bytea IS NOT NULL
                ON CONFLICT (product) DO UPDATE SET at = excluded.at, body = excluded.body)
            SELECT 1 FROM certified"""
        values = {"basis": basis, "product": product, "now": now, "body": certificate}
        if not self._connection.rows(query, values):
            raise UnknownProduct(product)

    def last_change(self) -> tuple[int, int]:
        ((product, change),) = self._connection.rows(postgres_overview.LAST_CHANGE)
        return product, change

    def uncertified(self, today: str) -> list[tuple[str, str]]:
        return [(name, basis) for name, basis in self._connection.rows(postgres_overview.UNCERTIFIED, (today,))]

    def key_counts(self, first: int = 0, last: int = LAST_DAY) -> list[KeyCount]:
        ((text,),) = self._connection.rows(postgres_overview.KEY_COUNTS, (first, last))
        return postgres_overview.key_counts(text)

    def quotes_by_key(self, product: str, after: int, upto: int) -> dict[str, int]:
        return dict(self._connection.rows(postgres_overview.BY_KEY, (product, after, upto)))

    def add_api_key(self, key: ApiKey, by: str = UNSIGNED) -> None:
        with self._connection.transaction() as connection:
            known = connection.execute("DELETE FROM hushprice.api_key WHERE name = %s", (key.name,)).rowcount
            connection.execute("INSERT INTO hushprice.api_key VALUES (%s, %s, %s, %s, %s, %s)", key.row)
            what = "change key" if known else "add key"
            connection.execute(_TRAIL, (time.time(), by, what, key.name, key_detail(key)))

    def remove_api_key(self, name: str, by: str = UNSIGNED) -> None:
        with self._connection.transaction() as connection:
            if connection.execute("DELETE FROM hushprice.api_key WHERE name = %s", (name,)).rowcount:
                connection.execute(_TRAIL, (time.time(), by, "remove key", name, ""))

    def last_use(self) -> dict[str, int]:
        return dict(self._connection.rows("SELECT key, max(day) FROM hushprice.key_use GROUP BY key"))

    def trail(self) -> list[TrailEntry]:
        rows = self._connection.rows(f"SELECT {TRAIL_COLUMNS} FROM hushprice.trail ORDER BY id")
        return [TrailEntry(*row) for row in rows]

    def figures(self, product: str) -> Figures:
        number = self._progress(product).product
        rows = self._connection.rows(f"SELECT {_SUMS} FROM hushprice.tally WHERE product = %s", (number,))
        return decisions.figures_of(rows[0])

    def daily_figures(self, product: str, days: int) -> list[tuple[str, Figures]]:
        query = f"""SELECT day, {", ".join(decisions.COUNTED)} FROM hushprice.tally WHERE product = %s
            ORDER BY day DESC LIMIT %s"""
        rows = self._connection.rows(query, (self._progress(product).product, days))
        return [(decisions.day_name(day), decisions.figures_of(counted)) for day, *counted in reversed(rows)]
