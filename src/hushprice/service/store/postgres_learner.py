"""What the learner does on PostgreSQL. Its role owns the tables."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import psycopg

from hushprice.service.store import decisions, postgres_overview, postgres_setup
from hushprice.service.store.decisions import LATE, RECORDED, WAITING, Progress
from hushprice.service.store.postgres import PostgresQuoterStore
from hushprice.service.store.protocol import LEASE, LeaseLost, UnknownProduct
from hushprice.service.store.values import ApiKey, Figures, KeyCount, LearnerState, SeenRelease, Slot, StoredRelease

_SUMS = ", ".join(f"coalesce(sum({name}), 0)" for name in decisions.COUNTED)

_EXPIRED = """SELECT hushprice.add_tally(coalesce(jsonb_agg(silent), '[]')) FROM (
    SELECT product, day, count(*) AS expired FROM hushprice.quote
    WHERE product = %s AND slot > %s AND slot <= %s AND status IN (%s, %s) GROUP BY product, day) AS silent"""
_RESTORES = f"""SELECT ({decisions.RESTORES.format(schema="hushprice.")}) FROM hushprice.product WHERE id = %s"""
_ERASE = "DELETE FROM hushprice.record WHERE product = %s AND slot <= %s"


class PostgresLearnerStore(PostgresQuoterStore):
    """Keeps the promises of LearnerStore. Opening it creates or upgrades the schema."""

    _name = "hushprice learner"

    @staticmethod
    def _ready(connection: psycopg.Connection[Any]) -> None:
        postgres_setup.bring_up(connection)

    def take_lease(self, holder: str, now: float) -> bool:
        query = """UPDATE hushprice.lease SET holder = %s, until = %s WHERE holder IS NULL OR holder = %s OR until <= %s
            RETURNING 1"""
        return bool(self._connection.rows(query, (holder, now + LEASE, holder, now)))

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
            """SELECT slot, context, price, CASE status WHEN %s THEN demand END, counts, deadline, service
            FROM hushprice.quote LEFT JOIN hushprice.record USING (product, slot) CROSS JOIN hushprice.clock
            WHERE product = %s AND slot >= %s ORDER BY slot LIMIT %s""",
            (RECORDED, at.product, first, limit),
        )
        ready = takewhile(lambda row: decisions.is_due(row[6], row[5]), rows)
        return [Slot(*row[:5]) for expected, row in enumerate(ready, first) if row[0] == expected]

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
        query = """SELECT max(sequence), max(records), max(restores) FROM hushprice.seen
            WHERE product = %s AND NOT skipped"""
        ((sequence, records, restores),) = self._connection.rows(query, (product,))
        return None if sequence is None else SeenRelease(product, sequence, records, restores=restores)

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
            connection.execute(  # what was reported since `seen` was asked for stays
                """UPDATE hushprice.seen SET skipped = true
                WHERE product = %s AND sequence <= %s AND records <= %s AND restores <= %s""",
                (seen.product, to.sequence, to.records, seen.restores),
            )
            ((known,),) = self._connection.rows(_RESTORES, (at.product,))
            connection.cursor().executemany(
                "INSERT INTO hushprice.change (product, at, what, detail) VALUES (%s, %s, 'restored backup', %s)",
                [(at.product, now, detail) for detail in decisions.restore_details(seen, at, known)],
            )
            return to

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

    def key_counts(self) -> list[KeyCount]:
        return postgres_overview.key_counts(self._connection.rows(postgres_overview.KEY_COUNTS)[0][0])

    def quotes_by_key(self, product: str, after: int, upto: int) -> dict[str, int]:
        return dict(self._connection.rows(postgres_overview.BY_KEY, (product, after, upto)))

    def add_api_key(self, key: ApiKey) -> None:
        query = """INSERT INTO hushprice.api_key VALUES (%s, %s, %s) ON CONFLICT (name) DO UPDATE
            SET role = excluded.role, digest = excluded.digest RETURNING 1"""
        self._connection.rows(query, (key.name, key.role, key.digest))

    def remove_api_key(self, name: str) -> None:
        self._connection.rows("DELETE FROM hushprice.api_key WHERE name = %s RETURNING 1", (name,))

    def figures(self, product: str) -> Figures:
        number = self._progress(product).product
        rows = self._connection.rows(f"SELECT {_SUMS} FROM hushprice.tally WHERE product = %s", (number,))
        return decisions.figures_of(rows[0])

    def daily_figures(self, product: str, days: int) -> list[tuple[str, Figures]]:
        query = f"""SELECT day, {", ".join(decisions.COUNTED)} FROM hushprice.tally WHERE product = %s
            ORDER BY day DESC LIMIT %s"""
        rows = self._connection.rows(query, (self._progress(product).product, days))
        return [(decisions.day_name(day), decisions.figures_of(counted)) for day, *counted in reversed(rows)]
