"""A store in one SQLite file, for one machine: a quoter's and a learner's process may have it open at once."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from hushprice.privacy.histories import OVERLAPS
from hushprice.service.store import decisions, sqlite_file, sqlite_learner, sqlite_overview, sqlite_quotes
from hushprice.service.store.lost_releases import ACCEPTED, COPIED
from hushprice.service.store.protocol import DuplicateProduct, StoreUnavailable
from hushprice.service.store.sqlite_write_lock import WAIT, WriteLock, execute_retrying
from hushprice.service.store.trail import TRAIL_COLUMNS, UNSIGNED, TrailEntry, key_detail
from hushprice.service.store.values import (
    ALL_WELL,
    LAST_DAY,
    ApiKey,
    Change,
    Figures,
    KeyCount,
    LearnerReport,
    LearnerState,
    LearningProgress,
    NewOutcome,
    NewQuote,
    OutcomeAnswer,
    ProductHead,
    QuoteAnswer,
    ReleaseSummary,
    SeenRelease,
    Slot,
    StoredProduct,
    StoredRelease,
)

_RELEASE = """SELECT name, sequence, version, kind, records, batch, numbers, belief, at
    FROM release JOIN product ON product.id = release.product WHERE name = ?"""
_TRAIL = "INSERT INTO trail (at, actor, what, about, detail) VALUES (?, ?, ?, ?, ?)"
_UNLOOKED = 0.05  # seconds for which the file is taken to be there
_SUMS = ", ".join(f"ifnull(sum({name}), 0)" for name in decisions.COUNTED)


class SqliteStore:
    """Keeps the promises of QuoterStore and LearnerStore. Every write is one transaction that begins by locking."""

    def __init__(self, path: Path, pages: int = sqlite_file.LEARNER_PAGES) -> None:
        self._path = path
        self._write_lock = WriteLock(path)
        try:
            self._connection = sqlite_file.connect(path, pages)
            self._file = sqlite_file.number_of(path)
            self._looked = time.monotonic()
        except BaseException:
            self._write_lock.close()
            raise

    def __repr__(self) -> str:
        return f"SqliteStore({str(self._path)!r})"

    def close(self) -> None:
        self._connection.close()
        self._write_lock.close()

    @contextmanager
    def _transaction(self, write: bool) -> Iterator[sqlite3.Connection]:
        connection = self._connection
        with sqlite_file.explained(self._path):
            if write:
                self._check_file()
                self._write_lock.begin(connection)
            else:  # the first read fixes what the others see
                execute_retrying(connection, time.monotonic() + WAIT, "BEGIN", "SELECT 1 FROM clock")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                connection.rollback()  # nothing where SQLite has done so itself
                raise

    def _check_file(self) -> None:
        """Refuse a file that was removed or replaced: what is acknowledged would go with it.

        A look hands the interpreter to other threads, who keep it for longer than a write takes: not at every write.
        """
        now = time.monotonic()
        if now - self._looked < _UNLOOKED:
            return
        if sqlite_file.number_of(self._path) != self._file:
            raise StoreUnavailable(f"the store {self._path} was removed or replaced; restart the service")
        self._looked = now

    def _writing(self) -> Any:
        return self._transaction(write=True)

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._transaction(write=False) as connection:
            return list(connection.execute(query, values))

    # ---- what a quoter reads -----------------------------------------------------------------------------------------

    def products(self, names: Sequence[str] | None = None) -> list[StoredProduct]:
        query = f"""SELECT name, spec, {decisions.STATUS}, rules, reference_price, slots, created, skipped_releases,
            ({decisions.RESTORES.format(schema="")}), ({decisions.OVERLAPS.format(schema="")})
            FROM product WHERE ?1 IS NULL OR name IN (SELECT value FROM json_each(?1)) ORDER BY id"""
        return [StoredProduct(*row) for row in self._rows(query, sqlite_overview.listed(names))]

    def heads(self) -> list[ProductHead]:
        return sqlite_overview.heads(self._rows(sqlite_overview.HEADS)[0][0])

    def identity(self) -> bytes:
        return bytes(self._rows("SELECT id FROM identity")[0][0])

    def location(self) -> str:
        return str(self._path.resolve())

    def is_at(self, location: str) -> bool:
        return sqlite_file.identity_at(Path(location)) in (self.identity(), None)

    def api_keys(self) -> list[ApiKey]:
        query = "SELECT name, role, digest, expires, products, quota FROM api_key ORDER BY name"
        return [ApiKey.of_row(row) for row in self._rows(query)]

    def key_use(self, day: int) -> dict[str, int]:
        return dict(self._rows("SELECT key, sum(quotes) FROM key_use WHERE day = ? GROUP BY key", day))

    def changes(self, product: str) -> list[Change]:
        query = """SELECT name, at, what, detail FROM change JOIN product ON product.id = change.product
            WHERE name = ? ORDER BY change.id"""
        return [Change(*row) for row in self._rows(query, product)]

    def repeated(self, key: str, idempotency: bytes, fingerprint: bytes) -> QuoteAnswer | None:
        rows = self._rows(sqlite_quotes.REPEATED, key, idempotency)
        return sqlite_quotes.repeated_answer(fingerprint, rows[0]) if rows else None

    def releases(self, product: str, after: int = 0) -> list[StoredRelease]:
        rows = self._rows(_RELEASE + " AND sequence > ? ORDER BY sequence", product, after)
        return [StoredRelease(*row) for row in rows]

    def latest_release(self, product: str) -> StoredRelease | None:
        rows = self._rows(_RELEASE + " ORDER BY sequence DESC LIMIT 1", product)
        return StoredRelease(*rows[0]) if rows else None

    def latest_releases(self, names: Sequence[str]) -> list[StoredRelease]:
        rows = self._rows(sqlite_overview.LATEST, sqlite_overview.listed(names))
        return [StoredRelease(*row) for row in rows]

    def history(self, product: str) -> list[ReleaseSummary]:
        return [ReleaseSummary(*row) for row in self._rows(sqlite_overview.HISTORY, product)]

    def certificate(self, product: str) -> bytes | None:
        query = "SELECT body FROM certificate WHERE product = (SELECT id FROM product WHERE name = ?)"
        rows = self._rows(query, product)
        return rows[0][0] if rows else None

    def learner_alive(self, now: float) -> bool:
        query = "SELECT 1 FROM lease WHERE holder IS NOT NULL AND until > ? AND until <= ?"
        return bool(self._rows(query, *decisions.held_until(now)))

    def learning_progress(self, now: float) -> LearningProgress:
        with self._transaction(write=False) as connection:
            return sqlite_learner.progress(connection, now)

    # ---- what a quoter writes ----------------------------------------------------------------------------------------

    def write(
        self, quotes: Sequence[NewQuote], outcomes: Sequence[NewOutcome]
    ) -> tuple[list[QuoteAnswer], list[OutcomeAnswer]]:
        decisions.check_written(quotes, outcomes)
        try:
            return self._write(quotes, outcomes, repeated=False)
        except sqlite3.IntegrityError:  # an id that is stored already: asked again after a commit that was not heard of
            return self._write(quotes, outcomes, repeated=True)

    def _write(
        self, quotes: Sequence[NewQuote], outcomes: Sequence[NewOutcome], *, repeated: bool
    ) -> tuple[list[QuoteAnswer], list[OutcomeAnswer]]:
        tally = decisions.DayCounts()
        with self._writing() as connection:
            clock = sqlite_quotes.clock(connection)
            stored = sqlite_quotes.stored_already(connection, quotes) if repeated else set()
            fresh = [quote for quote in quotes if quote.id not in stored]
            new = iter(sqlite_quotes.store_quotes(connection, fresh, clock, decisions.today(), tally))
            given = [decisions.fresh_answer(quote) if quote.id in stored else next(new) for quote in quotes]
            answers = sqlite_quotes.store_outcomes(connection, outcomes, clock, tally)
            connection.executemany(decisions.TALLY, tally.rows())
        return given, answers

    def beat(self, now: float) -> float:
        with self._writing() as connection:
            service, beat, behind = connection.execute("SELECT service, beat, behind FROM clock").fetchone()
            clock = decisions.clock_after_beat(service, beat, behind, now)
            connection.execute("UPDATE clock SET service = ?, beat = ?, behind = ?", clock)
        return clock[0]

    def report_seen(self, seen: Sequence[SeenRelease]) -> None:
        with self._writing() as connection:
            for one in seen:
                sqlite_learner.report_seen(connection, one)

    def note_key_use(self, keys: Sequence[str], day: int) -> None:
        with self._writing() as connection:
            connection.executemany("INSERT OR IGNORE INTO key_use VALUES (?, ?, 0, 0)", [(key, day) for key in keys])

    def forget(self, customer: bytes, by: str = UNSIGNED) -> None:
        tally = decisions.DayCounts()
        with self._writing() as connection:
            sqlite_quotes.forget(connection, customer, sqlite_quotes.clock(connection), tally)
            connection.executemany(decisions.TALLY, tally.rows())
            connection.execute(_TRAIL, (time.time(), by, "forget customer", "", ""))

    # ---- what an admin changes ---------------------------------------------------------------------------------------

    def add_product(self, name: str, spec: bytes, rules: bytes, now: float, by: str = UNSIGNED) -> None:
        try:
            with self._writing() as connection:
                connection.execute(
                    "INSERT INTO product (name, spec, rules, created) VALUES (?, ?, ?, ?)", (name, spec, rules, now)
                )
                connection.execute(_TRAIL, (now, by, "create product", name, ""))
        except sqlite3.IntegrityError:
            raise DuplicateProduct(name) from None

    def set_status(self, product: str, status: Literal["open", "frozen"], now: float, by: str = UNSIGNED) -> None:
        change = (now, "freeze" if status == "frozen" else "resume", "")
        self._change(product, ("status", status), change, by, only_if="status IS NOT ?1")

    def retire(self, product: str, now: float, by: str = UNSIGNED) -> None:
        self._change(product, ("retired", now), (now, "retire", ""), by, only_if="retired IS NULL")

    def set_rules(self, product: str, rules: bytes, detail: str, now: float, by: str = UNSIGNED) -> None:
        self._change(product, ("rules", rules), (now, "rules", detail), by)

    def set_reference_price(self, product: str, price: float, now: float, by: str = UNSIGNED) -> None:
        change = (now, "reference price", decisions.reference_detail(price))
        self._change(product, ("reference_price", price), change, by)

    def _change(
        self, product: str, new: tuple[str, Any], change: tuple[float, str, str], by: str, *, only_if: str = "true"
    ) -> None:
        """Set a column of a product, and list the change: when, what, and in which detail."""
        column, value = new
        at, what, detail = change
        with self._writing() as connection:
            number = sqlite_quotes.product_number(connection, product)
            query = f"UPDATE product SET {column} = ?1 WHERE id = ?2 AND {only_if}"
            if connection.execute(query, (value, number)).rowcount:
                connection.execute(
                    "INSERT INTO change (product, at, what, detail) VALUES (?, ?, ?, ?)", (number, *change)
                )
                connection.execute(_TRAIL, (at, by, what, product, detail))

    # ---- the learner's -----------------------------------------------------------------------------------------------

    def take_lease(self, holder: str, now: float, report: LearnerReport = ALL_WELL) -> bool:
        with self._writing() as connection:
            return sqlite_learner.take_lease(connection, holder, now, report)

    def drop_lease(self, holder: str) -> None:
        with self._writing() as connection:
            connection.execute("UPDATE lease SET holder = NULL, until = 0.0 WHERE holder = ?", (holder,))

    def state(self, product: str) -> LearnerState | None:
        query = """SELECT name, learned, sequence, state, ledger, ended
            FROM learner JOIN product ON product.id = learner.product WHERE name = ?"""
        rows = self._rows(query, product)
        if not rows:
            return None
        name, learned, sequence, state, ledger, ended = rows[0]
        return LearnerState(name, learned, sequence, state, ledger, bool(ended))

    def due(self, product: str, after: int, limit: int) -> list[Slot]:
        with self._transaction(write=False) as connection:
            return sqlite_learner.due(connection, product, after, limit)

    def commit(self, holder: str, state: LearnerState, releases: Sequence[StoredRelease], now: float) -> None:
        tally = decisions.DayCounts()
        with self._writing() as connection:
            sqlite_learner.commit(connection, holder, state, releases, tally)
            connection.executemany(decisions.TALLY, tally.rows())

    def highest_seen(self, product: str) -> SeenRelease | None:
        query = "SELECT max(sequence), max(records) FROM seen WHERE product = ? AND skipped = 0"
        ((sequence, records),) = self._rows(query, product)
        return None if sequence is None else SeenRelease(product, sequence, records)

    def skip_to(self, holder: str, seen: SeenRelease, now: float) -> SeenRelease:
        with self._writing() as connection:
            return sqlite_learner.skip_to(connection, holder, seen, now)

    def erase_quotes(self, product: str, before: int, limit: int, *, capped: bool) -> int:
        with self._writing() as connection:
            return sqlite_learner.erase_quotes(connection, product, decisions.Outdated(before, limit), capped)

    @contextmanager
    def snapshot(self) -> Iterator[Callable[..., list[tuple[Any, ...]]]]:
        with self._transaction(write=False) as connection:
            yield lambda query, *values: connection.execute(query, values).fetchall()

    def accept_lost_notes(self, now: float) -> None:
        with self._writing() as connection:
            sqlite_learner.list_for_all(connection, now, OVERLAPS[1], ACCEPTED)

    def become_copy(self, now: float) -> None:
        with self._writing() as connection:
            connection.execute("UPDATE identity SET id = randomblob(16)")
            sqlite_learner.list_for_all(connection, now, OVERLAPS[0], COPIED)

    def oldest_quotes(self) -> list[tuple[str, int]]:
        return sqlite_overview.oldest(self._rows(sqlite_overview.OLDEST)[0][0])

    def products_to_learn(self) -> list[str]:
        return sqlite_overview.names(self._rows(sqlite_overview.TO_LEARN)[0][0])

    def add_certificate(self, product: str, certificate: bytes | None, now: float, basis: str = "") -> None:
        with self._writing() as connection:
            number = sqlite_quotes.product_number(connection, product)
            if certificate is not None:
                connection.execute("INSERT OR REPLACE INTO certificate VALUES (?, ?, ?)", (number, now, certificate))
            connection.execute("INSERT OR REPLACE INTO certified VALUES (?, ?)", (number, basis))

    def last_change(self) -> tuple[int, int]:
        ((product, change),) = self._rows(sqlite_overview.LAST_CHANGE)
        return product, change

    def uncertified(self, today: str) -> list[tuple[str, str]]:
        return [(name, basis) for name, basis in self._rows(sqlite_overview.UNCERTIFIED, today)]

    def key_counts(self, first: int = 0, last: int = LAST_DAY) -> list[KeyCount]:
        return sqlite_overview.key_counts(self._rows(sqlite_overview.KEY_COUNTS, first, last)[0][0])

    def quotes_by_key(self, product: str, after: int, upto: int) -> dict[str, int]:
        return dict(self._rows(sqlite_overview.BY_KEY, product, after, upto))

    def add_api_key(self, key: ApiKey, by: str = UNSIGNED) -> None:
        with self._writing() as connection:
            known = connection.execute("SELECT 1 FROM api_key WHERE name = ?", (key.name,)).fetchone()
            connection.execute("INSERT OR REPLACE INTO api_key VALUES (?, ?, ?, ?, ?, ?)", key.row)
            what = "change key" if known else "add key"
            connection.execute(_TRAIL, (time.time(), by, what, key.name, key_detail(key)))

    def remove_api_key(self, name: str, by: str = UNSIGNED) -> None:
        with self._writing() as connection:
            if connection.execute("DELETE FROM api_key WHERE name = ?", (name,)).rowcount:
                connection.execute(_TRAIL, (time.time(), by, "remove key", name, ""))

    def last_use(self) -> dict[str, int]:
        return dict(self._rows("SELECT key, max(day) FROM key_use GROUP BY key"))

    def trail(self) -> list[TrailEntry]:
        return [TrailEntry(*row) for row in self._rows(f"SELECT {TRAIL_COLUMNS} FROM trail ORDER BY id")]

    def figures(self, product: str) -> Figures:
        with self._transaction(write=False) as connection:
            number = sqlite_quotes.product_number(connection, product)
            row = connection.execute(f"SELECT {_SUMS} FROM tally WHERE product = ?", (number,)).fetchone()
        return decisions.figures_of(row)

    def daily_figures(self, product: str, days: int) -> list[tuple[str, Figures]]:
        with self._transaction(write=False) as connection:
            query = f"SELECT day, {', '.join(decisions.COUNTED)} FROM tally WHERE product = ? ORDER BY day DESC LIMIT ?"
            rows = connection.execute(query, (sqlite_quotes.product_number(connection, product), days)).fetchall()
        return [(decisions.day_name(day), decisions.figures_of(counted)) for day, *counted in reversed(rows)]
