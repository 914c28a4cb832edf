"""An aggregator's file. Every step is one transaction, so that a crash leaves a batch published with its noise, or not.

Noise is drawn once for a batch: its total is stored before anybody is told, and told again from there. A file that is
older than what was published from it (a restored backup) has shares in it that were added up already: the note, which
lies elsewhere, says so, and then all that wait are dropped. A share that no batch has asked for is kept so many days.
"""

from __future__ import annotations

import logging
import os
import secrets
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from hushprice.errors import HushpriceError, InvalidInput, first_line
from hushprice.noise import System
from hushprice.policies.cautious.pricing.question import grids_of_choice
from hushprice.policies.cautious.private.aggregator import Aggregator, promised, scales_of
from hushprice.privacy.events import AggregatedBatches
from hushprice.service.aggregating.aggregator_note import PublishedTotals, check_undamaged
from hushprice.service.shared.aggregator_messages import ID, Agreed, BatchOver, Share, ShareTaken, digest_of, ids_of
from hushprice.service.store import decisions
from hushprice.trust import shares
from hushprice.trust.shares import Promise

MOST_WAITING = 1 << 22  # shares of a product that are in no batch yet
KEPT = 400  # days; a service keeps its learned quotes as long
MOST_BATCHES = 1 << 22  # of a product: a horizon has no more quotes
_APPLICATION = 0x68757361  # "husa"
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS identity (id TEXT NOT NULL)",
    """CREATE TABLE IF NOT EXISTS product (
        name TEXT PRIMARY KEY, promise BLOB NOT NULL, published INTEGER NOT NULL DEFAULT 0,
        waiting INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS share (
        product TEXT NOT NULL, quote BLOB NOT NULL, choice INTEGER, words TEXT, batch TEXT,
        held INTEGER NOT NULL DEFAULT 0, day INTEGER, PRIMARY KEY (product, quote)) WITHOUT ROWID""",
    "CREATE INDEX IF NOT EXISTS share_of_batch ON share (batch)",
    """CREATE TABLE IF NOT EXISTS batch (
        name TEXT PRIMARY KEY, product TEXT NOT NULL, choice INTEGER NOT NULL, agreed TEXT, words TEXT)
        WITHOUT ROWID""",
)
_DROP = """UPDATE share SET words = NULL, held = 0, batch = ifnull(batch, '') WHERE product = ? AND words IS NOT NULL"""
_COUNT_WAITING = """UPDATE product
    SET waiting = (SELECT count(*) FROM share WHERE share.product = product.name AND batch IS NULL)"""
_log = logging.getLogger("hushprice.service")


class NotAgreed(HushpriceError):
    """What is asked of a batch does not fit what was asked before; or a share another that came before."""


class _Promised(NamedTuple):
    promise: Promise
    event: AggregatedBatches


class AggregatorStore:
    """Shares that wait, batches, and totals: of products whose promises are kept here."""

    def __init__(
        self,
        path: Path,
        products: Mapping[str, Promise],
        *,
        notes: Path,
        source: System | None = None,
        kept: int = KEPT,
    ) -> None:
        self._source = System() if source is None else source
        self._products = {name: _Promised(promise, promised(promise)) for name, promise in products.items()}
        try:
            # SQLite's files beside it have the same permissions.
            os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
            self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._open()
        except (OSError, sqlite3.Error) as problem:
            raise InvalidInput(f"store: {path} cannot be used: {first_line(problem)}") from None
        path.chmod(0o600)
        ((identity,),) = self._connection.execute("SELECT id FROM identity")
        try:
            self._note = PublishedTotals(notes, identity, path)
        except InvalidInput:
            self._connection.close()
            raise
        self._kept, self._looked = kept, 0  # days
        self._full: dict[str, int] = {}  # products, and the day on which nothing of theirs could be deleted
        self._drop_what_was_published()
        self._forget_old()

    @property
    def promises(self) -> dict[str, Promise]:
        """Of all products."""
        return {name: kept.promise for name, kept in self._products.items()}

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def receive(self, share: Share) -> ShareTaken:
        """Keep a device's share until its batch is over; the same one again is taken for the same."""
        event = self._check_share(share)
        words, quote = shares.read(share.words), bytes.fromhex(share.quote)
        if len(words) != len(scales_of(event, share.choice)):
            raise InvalidInput(f"words must be {len(scales_of(event, share.choice))} numbers, got {len(words)}")
        self._forget_old()
        with self._writing() as connection:
            found = self._row("SELECT words, batch FROM share WHERE product = ? AND quote = ?", share.product, quote)
            if found is not None:
                if found[1] is not None:
                    return ShareTaken("late")
                if found[0] != share.words:
                    raise NotAgreed("another share came for this quote before")
                return ShareTaken("recorded", repeat=True)
            (waiting,) = connection.execute(
                "UPDATE product SET waiting = waiting + 1 WHERE name = ? RETURNING waiting", (share.product,)
            ).fetchone()
            if waiting > MOST_WAITING and not self._make_room(share.product):
                raise NotAgreed("too many shares wait for a batch")
            given = (share.product, quote, share.choice, share.words, decisions.today())
            connection.execute("INSERT INTO share (product, quote, choice, words, day) VALUES (?, ?, ?, ?, ?)", given)
        return ShareTaken("recorded")

    def over(self, batch: BatchOver) -> str:
        """The ids of the reports that are here; from now on none enters the batch. Asked again, the same ones."""
        event = self._event(batch.product)
        if not 0 <= batch.choice < len(event.scales):
            raise InvalidInput(f"choice must be one of the {len(event.scales)} there are, got {batch.choice}")
        name = batch.name
        with self._writing() as connection:
            if self._row("SELECT 1 FROM batch WHERE name = ?", name) is None:
                self._check_room(batch.product)
                (waiting,) = self._row("SELECT waiting FROM product WHERE name = ?", batch.product) or (0,)
                connection.execute(
                    "INSERT INTO batch (name, product, choice) VALUES (?, ?, ?)", (name, batch.product, batch.choice)
                )
                self._enter(batch, name, waiting)
            rows = connection.execute("SELECT quote FROM share WHERE batch = ? AND held", (name,))
            held = {quote for (quote,) in rows}
        return "".join(quote.hex() for quote in ids_of(batch.quotes) if quote in held)

    def publish(self, asked: Agreed) -> tuple[str, str]:
        """The digest of the agreed reports and the total of their shares, with noise: the first time it is drawn."""
        event, agreed = self._event(asked.product), digest_of(asked.quotes)
        with self._writing() as connection:
            found = self._row(
                "SELECT choice, agreed, words FROM batch WHERE name = ? AND product = ?", asked.batch, asked.product
            )
            if found is None:
                raise NotAgreed("no batch of this name is over")
            choice, before, words = found
            if words is None:
                words = self._total(event, choice, asked)
                connection.execute(
                    "UPDATE batch SET agreed = ?, words = ? WHERE name = ?", (agreed, words, asked.batch)
                )
                connection.execute("UPDATE share SET words = NULL WHERE batch = ?", (asked.batch,))
                connection.execute("UPDATE product SET published = published + 1 WHERE name = ?", (asked.product,))
                _log.info("product %s: a total of %d reports is out", asked.product, len(asked.quotes) // 32)
            elif before != agreed:
                raise NotAgreed("the batch is out, of other reports")
        self._write_note()  # before anybody is told
        return agreed, words

    def _total(self, event: AggregatedBatches, choice: int, asked: Agreed) -> str:
        rows = self._connection.execute("SELECT quote, words FROM share WHERE batch = ? AND held", (asked.batch,))
        here, adding = dict(rows.fetchall()), Aggregator(event=event, source=self._source)
        for quote in set(ids_of(asked.quotes)):
            if here.get(quote) is None:
                raise NotAgreed("a report is agreed on that is not here")
            adding.receive(quote.hex(), shares.read(here[quote]))
        return shares.written(adding.publish(choice, adding.received))

    def _enter(self, batch: BatchOver, name: str, waiting: int) -> None:
        """Put into the batch that is over each of its reports that is here, is in no other and is of its choice.

        Of a quote without a report here nothing is kept: anybody can name quotes that there are not.
        """
        connection, named = self._connection, ids_of(batch.quotes)
        if len(batch.quotes) // (2 * ID) > waiting:
            rows = connection.execute("SELECT quote FROM share WHERE product = ? AND batch IS NULL", (batch.product,))
            here = {quote for (quote,) in rows}
            named = (quote for quote in named if quote in here)
        entered = connection.executemany(
            """UPDATE share SET batch = ?1, held = choice = ?2, words = iif(choice = ?2, words, NULL)
            WHERE product = ?3 AND quote = ?4 AND batch IS NULL""",
            ((name, batch.choice, batch.product, quote) for quote in named),
        ).rowcount
        connection.execute("UPDATE product SET waiting = ? WHERE name = ?", (waiting - max(0, entered), batch.product))

    def _make_room(self, product: str) -> bool:
        """Delete shares that have waited since an earlier day, where there is no room for new ones.

        Anybody can fill the file with shares of quotes that there are not: devices are kept out for that day.
        """
        today = decisions.today()
        if self._full.get(product) == today:  # looked for already: it takes seconds
            return False
        given = (product, today)
        gone = self._connection.execute("DELETE FROM share WHERE product = ? AND batch IS NULL AND day < ?", given)
        self._connection.execute("UPDATE product SET waiting = waiting - ? WHERE name = ?", (gone.rowcount, product))
        if not gone.rowcount:
            self._full[product] = today
        return bool(gone.rowcount)

    def _check_room(self, product: str) -> None:
        """Refuse a batch beyond as many as a horizon has quotes: anybody may say that one is over."""
        (batches,) = self._connection.execute("SELECT count(*) FROM batch WHERE product = ?", (product,)).fetchone()
        if batches >= MOST_BATCHES:
            raise NotAgreed("too many batches are over")

    def _check_share(self, share: Share) -> AggregatedBatches:
        """Refuse a share of numbers that were bounded or rounded otherwise than the noise was bought for."""
        event = self._event(share.product)
        if not 0 <= share.choice < len(event.scales):
            raise InvalidInput(f"choice must be one of the {len(event.scales)} there are, got {share.choice}")
        kept = {"least": event.least, "most": event.most, "grids": grids_of_choice(event, share.choice)}
        for field, own in kept.items():
            if getattr(share, field) != own:
                raise InvalidInput(f"{field} must be what this aggregator promises noise for, {own!r}")
        return event

    def _event(self, product: str) -> AggregatedBatches:
        kept = self._products.get(product)
        if kept is None:
            raise InvalidInput("product must be one that this aggregator has a promise of")
        return kept.event

    def _open(self) -> None:
        connection = self._connection
        check_undamaged(connection)
        for setting in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON", "busy_timeout = 5000"):
            connection.execute(f"PRAGMA {setting}")
        with self._writing():
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            if application not in (0, _APPLICATION):
                raise InvalidInput("store: it is a database of another program")
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            for statement in _SCHEMA:
                connection.execute(statement)
            if connection.execute("SELECT 1 FROM identity").fetchone() is None:
                connection.execute("INSERT INTO identity VALUES (?)", (secrets.token_hex(16),))
            for name, kept in self._products.items():
                self._add_product(name, msgspec.json.encode(kept.promise))

    def _add_product(self, name: str, promise: bytes) -> None:
        found = self._row("SELECT promise FROM product WHERE name = ?", name)
        if found is None:
            self._connection.execute("INSERT INTO product (name, promise) VALUES (?, ?)", (name, promise))
        elif found[0] != promise:
            raise InvalidInput(f"the promise of product {name!r} must stay what it was: {found[0].decode()}")

    def _drop_what_was_published(self) -> None:
        """Where the note knows of more totals than the file, or is lost: shares that wait may be in one of them."""
        with self._writing() as connection:
            for name, published in connection.execute("SELECT name, published FROM product").fetchall():
                known = self._note.known(name, published)
                if known > published:
                    _log.warning("product %s: the store or its note is an older one; waiting shares are dropped", name)
                    connection.execute(_DROP, (name,))
                    connection.execute("UPDATE product SET waiting = 0, published = ? WHERE name = ?", (known, name))
        self._write_note()

    def _write_note(self) -> None:
        self._note.write(dict(self._connection.execute("SELECT name, published FROM product").fetchall()))

    def _forget_old(self) -> None:
        """Once a day: shares that no batch has asked for in all that time, or whose batch never came out."""
        today = decisions.today()
        if today <= self._looked:
            return
        before = today - self._kept
        with self._writing() as connection:
            connection.execute("DELETE FROM share WHERE batch IS NULL AND day < ?", (before,))
            connection.execute("UPDATE share SET words = NULL, held = 0 WHERE words IS NOT NULL AND day < ?", (before,))
            connection.execute(_COUNT_WAITING)
        self._looked = today

    def _row(self, query: str, *values: object) -> tuple[Any, ...] | None:
        found: tuple[Any, ...] | None = self._connection.execute(query, values).fetchone()
        return found

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def __repr__(self) -> str:
        return "AggregatorStore(<sensitive>)"
