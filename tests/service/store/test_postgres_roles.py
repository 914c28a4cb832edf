"""What a quoter's role can do in PostgreSQL, and above all what it cannot."""

from __future__ import annotations

from typing import Any

import msgspec
import psycopg
import pytest
from psycopg import errors
from tests.service.store.samples import PRODUCT, give, given, quote, tell

from hushprice.service.store.protocol import QuoterStore
from hushprice.service.store.values import NewOutcome, OutcomeAnswer, QuoteAnswer


@pytest.fixture
def store_uri(postgres_uri: str) -> str:
    return postgres_uri


CLOSED = ["quote", "record", "used_cap", "learner", "seen", "tally", "clock", "trail", "certified"]
OPEN = ["api_key", "product", "change", "release", "certificate", "lease", "meta", "identity", "key_use"]


def tables(connection: psycopg.Connection[Any]) -> list[str]:
    return [row[0] for row in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'hushprice'")]


def test_every_table_is_open_or_closed_to_quoters(owner: psycopg.Connection[Any]) -> None:
    assert sorted(tables(owner)) == sorted(CLOSED + OPEN)


@pytest.mark.parametrize("table", CLOSED)
def test_a_quoter_is_denied_every_record(as_role: psycopg.Connection[Any], table: str) -> None:
    for statement in (
        f"SELECT * FROM hushprice.{table}",
        f"SELECT count(*) FROM hushprice.{table}",
        f"COPY hushprice.{table} TO STDOUT",
        f"INSERT INTO hushprice.{table} DEFAULT VALUES RETURNING *",
    ):
        with pytest.raises(errors.InsufficientPrivilege, match="permission denied"):
            as_role.execute(statement.encode())


@pytest.mark.parametrize("table", OPEN)
def test_a_quoter_reads_what_is_public_and_writes_none_of_it(as_role: psycopg.Connection[Any], table: str) -> None:
    as_role.execute(f"SELECT * FROM hushprice.{table}".encode())
    for statement in (f"DELETE FROM hushprice.{table}", f"INSERT INTO hushprice.{table} DEFAULT VALUES"):
        with pytest.raises(errors.InsufficientPrivilege, match="permission denied"):
            as_role.execute(statement.encode())


def test_a_quoter_calls_the_functions_of_quoting_only(as_role: psycopg.Connection[Any]) -> None:
    allowed = as_role.execute(
        """SELECT proname, prosecdef, proconfig FROM pg_proc WHERE pronamespace = 'hushprice'::regnamespace
        AND has_function_privilege(oid, 'execute')"""
    ).fetchall()
    expected = """write repeated beat overdue report_seen forget note_key_use add_product set_status retire set_rules
        set_reference_price"""
    assert sorted(row[0] for row in allowed) == sorted(expected.split())
    # Run with the owner's rights, and find nothing but what the owner put there.
    assert all(row[1] and row[2] == ["search_path=pg_catalog, hushprice, pg_temp"] for row in allowed)


def test_a_quoter_can_make_nothing_in_the_schema(as_role: psycopg.Connection[Any]) -> None:
    with pytest.raises(errors.InsufficientPrivilege):
        as_role.execute("CREATE TABLE hushprice.mine (a integer)")


def test_no_function_returns_a_context_or_an_outcome(as_role: psycopg.Connection[Any], quoter: QuoterStore) -> None:
    """Every function a quoter may call, called about a quote whose context, price and demand are told apart easily."""
    new = quote(context=b"secret-context", price=0.4177, customer=b"ann", idempotency=b"k", fingerprint=b"f", cap=5)
    give(quoter, new)
    tell(quoter, new.id, 0.7319)
    asked = [quote(idempotency=b"k", fingerprint=b"f"), quote(idempotency=b"k"), new, quote(customer=b"ann", cap=5)]
    said = [NewOutcome(new.id, "shop", demand) for demand in (0.7319, 1.0)]
    values = (msgspec.json.encode(asked).decode(), msgspec.json.encode(said).decode())
    row = as_role.execute("SELECT hushprice.write(%s::jsonb, %s::jsonb, 0)", values).fetchone()
    assert row is not None
    assert set(row[0]) == {"given", "told"}
    assert {name for one in row[0]["given"] if one for name in one} <= set(QuoteAnswer.__struct_fields__)
    assert {name for one in row[0]["told"] for name in one} <= set(OutcomeAnswer.__struct_fields__)
    assert not any(secret in str(row) for secret in ("7319", "4177", "secret", b"secret-context".hex()))
    asked_again = as_role.execute("SELECT hushprice.repeated('shop', 'k'::bytea, 'f'::bytea)").fetchone()
    assert asked_again is not None
    assert set(asked_again[0]) <= set(QuoteAnswer.__struct_fields__)
    assert asked_again[0]["id"] == new.id
    silent = (
        "report_seen('[]'::jsonb)",
        f"set_status('{PRODUCT}', 'frozen', 1.0)",
        f"set_rules('{PRODUCT}', '', '', 1.0)",
        f"set_reference_price('{PRODUCT}', 0.5, '', 1.0)",
        "add_product('coat', '', '', 1.0)",
        "forget('ann'::bytea)",
    )
    for call in silent:
        assert as_role.execute(f"SELECT hushprice.{call}".encode()).fetchone() in [("",), (None,)]
    assert as_role.execute("SELECT hushprice.beat(1.0)").fetchone() == (0.0,)


def test_an_error_tells_a_quoter_no_record(as_role: psycopg.Connection[Any], quoter: QuoterStore) -> None:
    given(quoter, context=b"secret-context", price=0.4177)
    for text in ('[{"id": "0"}]', '[{"id": "00", "product": "jacket"}]', "{}"):
        with pytest.raises(psycopg.Error) as caught:
            as_role.execute("SELECT hushprice.write(%s::jsonb, '[]', 0)", (text,))
        assert "secret" not in str(caught.value)
        assert "4177" not in str(caught.value)
