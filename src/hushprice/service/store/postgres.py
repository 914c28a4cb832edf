"""A store on PostgreSQL, for quoters on many machines: what a quoter may do is what its database role can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeVar

import msgspec
from psycopg import errors

from hushprice.errors import InvalidInput
from hushprice.service.store import decisions, postgres_overview, postgres_setup
from hushprice.service.store.postgres_connection import BoundedConnection, PostgresConnection
from hushprice.service.store.protocol import DuplicateProduct, StoreUnavailable, UnknownProduct
from hushprice.service.store.trail import UNSIGNED
from hushprice.service.store.values import (
    ApiKey,
    Change,
    LearnerReport,
    LearningProgress,
    NewOutcome,
    NewQuote,
    OutcomeAnswer,
    ProductHead,
    QuoteAnswer,
    ReleaseSummary,
    SeenRelease,
    StoredProduct,
    StoredRelease,
)

_RELEASE = """SELECT name, sequence, version, kind, records, batch, numbers, belief, at
    FROM hushprice.release JOIN hushprice.product ON product.id = release.product WHERE name = %s"""
_TRIES = 3

Row = TypeVar("Row")


class _WriteAnswers(msgspec.Struct, frozen=True, rename={"quotes": "given", "outcomes": "told"}):
    """What the database's function `write` returns; its names stay for databases of earlier versions."""

    quotes: list[QuoteAnswer | None]
    outcomes: list[OutcomeAnswer]


class PostgresQuoterStore:
    """Keeps the promises of QuoterStore; what it writes goes through functions of the database."""

    _name = "hushprice quoter"

    def __init__(self, uri: str) -> None:
        self._connection = PostgresConnection(uri, self._name, self._ready)
        self._connection.rows("SELECT 1")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(<address>)"  # a password may be in it

    @staticmethod
    def _ready(connection: BoundedConnection) -> None:
        postgres_setup.check_ready(connection)

    def close(self) -> None:
        self._connection.close()

    # ---- what a quoter reads -----------------------------------------------------------------------------------------

    def products(self, names: Sequence[str] | None = None) -> list[StoredProduct]:
        query = f"""SELECT name, spec, {decisions.STATUS}, rules, reference_price, slots, created, skipped_releases,
            ({decisions.RESTORES.format(schema="hushprice.")}), ({decisions.OVERLAPS.format(schema="hushprice.")})
            FROM hushprice.product WHERE %(names)s::text[] IS NULL OR name = ANY (%(names)s) ORDER BY id"""
        listed = None if names is None else list(names)
        return [StoredProduct(*row) for row in self._connection.rows(query, {"names": listed})]

    def heads(self) -> list[ProductHead]:
        return postgres_overview.heads(self._connection.rows(postgres_overview.HEADS)[0][0])

    def identity(self) -> bytes:
        return bytes(self._connection.rows("SELECT id FROM hushprice.identity")[0][0])

    def location(self) -> str:
        query = "SELECT system_identifier, current_database() FROM pg_control_system()"
        ((server, database),) = self._connection.rows(query)
        return f"postgresql:{server}/{database}"

    def is_at(self, location: str) -> bool:
        server, _, database = location.partition("/")
        if server != self.location().partition("/")[0]:
            return True  # another server, which this one knows nothing of
        return bool(self._connection.rows("SELECT 1 FROM pg_database WHERE datname = %s", (database,)))

    def api_keys(self) -> list[ApiKey]:
        query = "SELECT name, role, digest, expires, products, quota FROM hushprice.api_key ORDER BY name"
        return [ApiKey.of_row(row) for row in self._connection.rows(query)]

    def key_use(self, day: int) -> dict[str, int]:
        query = "SELECT key, sum(quotes)::bigint FROM hushprice.key_use WHERE day = %s GROUP BY key"
        return dict(self._connection.rows(query, (day,)))

    def changes(self, product: str) -> list[Change]:
        query = """SELECT name, at, what, detail FROM hushprice.change
            JOIN hushprice.product ON product.id = change.product WHERE name = %s ORDER BY change.id"""
        return [Change(*row) for row in self._connection.rows(query, (product,))]

    def repeated(self, key: str, idempotency: bytes, fingerprint: bytes) -> QuoteAnswer | None:
        text = self._call("SELECT hushprice.repeated(%s, %s, %s)::text", key, idempotency, fingerprint)
        return None if text is None else msgspec.json.decode(text, type=QuoteAnswer)

    def releases(self, product: str, after: int = 0) -> list[StoredRelease]:
        rows = self._connection.rows(_RELEASE + " AND sequence > %s ORDER BY sequence", (product, after))
        return [StoredRelease(*row) for row in rows]

    def latest_release(self, product: str) -> StoredRelease | None:
        rows = self._connection.rows(_RELEASE + " ORDER BY sequence DESC LIMIT 1", (product,))
        return StoredRelease(*rows[0]) if rows else None

    def latest_releases(self, names: Sequence[str]) -> list[StoredRelease]:
        return [StoredRelease(*row) for row in self._connection.rows(postgres_overview.LATEST, (list(names),))]

    def history(self, product: str) -> list[ReleaseSummary]:
        return [ReleaseSummary(*row) for row in self._connection.rows(postgres_overview.HISTORY, (product,))]

    def certificate(self, product: str) -> bytes | None:
        query = """SELECT body FROM hushprice.certificate JOIN hushprice.product ON product.id = certificate.product
            WHERE name = %s"""
        rows = self._connection.rows(query, (product,))
        return rows[0][0] if rows else None

    def learner_alive(self, now: float) -> bool:
        query = "SELECT 1 FROM hushprice.lease WHERE holder IS NOT NULL AND until > %s AND until <= %s"
        return bool(self._connection.rows(query, decisions.held_until(now)))

    def learning_progress(self, now: float) -> LearningProgress:
        query = """SELECT holder IS NOT NULL AND until > %s AND until <= %s, since_look, set_aside,
            hushprice.overdue()::text FROM hushprice.lease"""
        ((held, since_look, set_aside, overdue),) = self._connection.rows(query, decisions.held_until(now))
        return LearningProgress(held, LearnerReport(since_look, set_aside), msgspec.json.decode(overdue))

    # ---- what a quoter writes ----------------------------------------------------------------------------------------

    def write(
        self, quotes: Sequence[NewQuote], outcomes: Sequence[NewOutcome]
    ) -> tuple[list[QuoteAnswer], list[OutcomeAnswer]]:
        decisions.check_written(quotes, outcomes)
        if any(decisions.quote_id(quote.id) is None for quote in quotes):
            raise InvalidInput("id: must be 32 hexadecimal digits")
        known = [
            outcome if decisions.quote_id(outcome.quote) else msgspec.structs.replace(outcome, quote="")
            for outcome in outcomes
        ]
        values = (msgspec.json.encode(quotes).decode(), msgspec.json.encode(known).decode(), decisions.today())
        answers = self._write(values)
        pairs = zip(quotes, answers.quotes, strict=True)
        given = [repeated or decisions.fresh_answer(quote) for quote, repeated in pairs]
        return given, answers.outcomes

    def _write(self, values: tuple[str, str, int]) -> _WriteAnswers:
        """The answers; asked again where another quoter has just stored the same key for another product."""
        for _ in range(_TRIES):
            try:
                text = self._call("SELECT hushprice.write(%s::jsonb, %s::jsonb, %s)::text", *values)
                return msgspec.json.decode(text, type=_WriteAnswers)
            except errors.UniqueViolation:
                continue
        raise StoreUnavailable("the store on PostgreSQL is busy with the same quotes")

    def _call(self, query: str, *values: Any) -> Any:
        try:
            return self._connection.rows(query, values)[0][0]
        except errors.NoDataFound:
            raise UnknownProduct("no such product") from None

    def beat(self, now: float) -> float:
        return float(self._call("SELECT hushprice.beat(%s)", now))

    def report_seen(self, seen: Sequence[SeenRelease]) -> None:
        self._call("SELECT hushprice.report_seen(%s::jsonb)", msgspec.json.encode(seen).decode())

    def note_key_use(self, keys: Sequence[str], day: int) -> None:
        self._call("SELECT hushprice.note_key_use(%s, %s)", list(keys), day)

    def forget(self, customer: bytes, by: str = UNSIGNED) -> None:
        self._call("SELECT hushprice.forget(%s, %s)", customer, by)

    # ---- what an admin changes ---------------------------------------------------------------------------------------

    def add_product(self, name: str, spec: bytes, rules: bytes, now: float, by: str = UNSIGNED) -> None:
        try:
            self._call("SELECT hushprice.add_product(%s, %s, %s, %s, %s)", name, spec, rules, now, by)
        except errors.UniqueViolation:
            raise DuplicateProduct(name) from None

    def set_status(self, product: str, status: Literal["open", "frozen"], now: float, by: str = UNSIGNED) -> None:
        self._call("SELECT hushprice.set_status(%s, %s, %s, %s)", product, status, now, by)

    def retire(self, product: str, now: float, by: str = UNSIGNED) -> None:
        self._call("SELECT hushprice.retire(%s, %s, %s)", product, now, by)

    def set_rules(self, product: str, rules: bytes, detail: str, now: float, by: str = UNSIGNED) -> None:
        self._call("SELECT hushprice.set_rules(%s, %s, %s, %s, %s)", product, rules, detail, now, by)

    def set_reference_price(self, product: str, price: float, now: float, by: str = UNSIGNED) -> None:
        detail = decisions.reference_detail(price)
        self._call("SELECT hushprice.set_reference_price(%s, %s, %s, %s, %s)", product, price, detail, now, by)
