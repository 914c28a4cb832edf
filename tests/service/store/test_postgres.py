"""What only PostgreSQL has to promise: roles, locks between connections, durability, and coming back."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

import msgspec
import psycopg
import pytest
from psycopg import errors
from tests.service.conftest import PostgresProcess, as_quoter
from tests.service.store.samples import HOLDER, PRODUCT, give, given, learn, pass_time, quote, release, state, tell
from tests.waiting import eventually

from hushprice.errors import InvalidInput
from hushprice.service.quoting.writer import PATIENCE
from hushprice.service.store import open_store, postgres_setup
from hushprice.service.store.protocol import (
    GRACE,
    LearnerStore,
    LeaseLost,
    QuoterStore,
    StoreUnavailable,
    ValueRefused,
)
from hushprice.service.store.values import OutcomeAnswer


@pytest.fixture
def store_uri(postgres_uri: str) -> str:
    return postgres_uri


END_QUOTERS = b"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hushprice quoter'"
ONE_LINE = r"\A[^\n]*\Z"


# ---- locks between connections ---------------------------------------------------------------------------------------


def waiting(owner: psycopg.Connection[Any], call: Callable[[], object]) -> tuple[threading.Thread, list[object]]:
    """A call that waits for a lock which the owner's transaction holds; what it answers comes afterwards."""
    answers: list[object] = []
    thread = threading.Thread(target=lambda: answers.append(call()))
    thread.start()
    eventually(lambda: answers or owner.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone())
    return thread, answers


def test_the_clock_waits_for_an_outcome_in_flight(
    owner: psycopg.Connection[Any], quoter: QuoterStore, learner: LearnerStore
) -> None:
    (name,) = given(quoter, window=2.0)
    quoter.beat(0.0)
    with owner.transaction():
        said = f'[{{"quote": "{name}", "key": "shop", "demand": 1.0}}]'
        row = owner.execute("SELECT hushprice.write('[]', %s::jsonb, 0) -> 'told'", (said,)).fetchone()
        assert row == ([{"status": "recorded"}],)
        thread, clock = waiting(owner, lambda: quoter.beat(3.0))
        assert clock == []
        assert learner.due(PRODUCT, 0, 10) == []
    thread.join()
    assert clock == [3.0]
    assert [slot.demand for slot in learner.due(PRODUCT, 0, 10)] == [1.0]


def test_an_outcome_waits_for_the_clock_in_flight_and_is_late(
    owner: psycopg.Connection[Any], quoter: QuoterStore, learner: LearnerStore
) -> None:
    (name,) = given(quoter, window=2.0)
    quoter.beat(0.0)
    with owner.transaction():
        owner.execute("SELECT hushprice.beat(3.0)")
        thread, told = waiting(owner, lambda: tell(quoter, name))
        assert told == []
    thread.join()
    assert told == [OutcomeAnswer("late")]
    assert [slot.demand for slot in learner.due(PRODUCT, 0, 10)] == [None]


def test_a_transaction_that_reads_an_old_clock_is_refused(owner: psycopg.Connection[Any]) -> None:
    for level in ("repeatable read", "serializable"):
        owner.execute(f"SET default_transaction_isolation = '{level}'".encode())
        with pytest.raises(errors.InvalidTransactionState):
            owner.execute("SELECT hushprice.write('[]', '[]', 0)")


def test_a_commit_waits_for_who_takes_the_lease(owner: psycopg.Connection[Any], learner: LearnerStore) -> None:
    given(learner, 1)
    learner.take_lease(HOLDER, 1000.0)
    with owner.transaction():
        owner.execute("UPDATE hushprice.lease SET holder = 'other'")
        thread, answers = waiting(owner, lambda: _committed(learner))
        assert answers == []
    thread.join()
    assert answers == [False]


def _committed(learner: LearnerStore) -> bool:
    try:
        learner.commit(HOLDER, state(1, 1), [release(1, 1)], 1000.0)
    except LeaseLost:
        return False
    return True


def test_the_same_idempotency_key_for_two_products_at_once(
    owner: psycopg.Connection[Any], quoter: QuoterStore, learner: LearnerStore
) -> None:
    learner.add_product("coat", b"{}", b"{}", 1.0)
    first = quote(idempotency=b"k", fingerprint=b"f", charged="9.99")
    with owner.transaction():
        values = (msgspec.json.encode([first]).decode(),)
        owner.execute("SELECT hushprice.write(%s::jsonb, '[]', 0)", values)
        other = quote(product="coat", idempotency=b"k", fingerprint=b"g")
        thread, answers = waiting(owner, lambda: give(quoter, other))
        assert answers == []
    thread.join()
    assert answers[0][0].conflict  # type: ignore[index]


def test_somebody_who_holds_a_lock_too_long_makes_the_store_unavailable(
    owner: psycopg.Connection[Any], postgres_uri: str, quoter: QuoterStore
) -> None:
    with owner.transaction():
        owner.execute("SELECT pg_advisory_xact_lock(1752527720)")
        quoter._connection.rows("SELECT set_config('lock_timeout', '50ms', false)")  # type: ignore[attr-defined]
        with pytest.raises(StoreUnavailable, match="locked"):
            given(quoter)
    given(quoter)


def test_quotes_that_others_are_always_ahead_of_are_given_up(
    owner: psycopg.Connection[Any], quoter: QuoterStore
) -> None:
    owner.execute(
        """CREATE FUNCTION hushprice.ahead() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE unique_violation; END';
        CREATE TRIGGER ahead BEFORE INSERT ON hushprice.quote FOR EACH ROW EXECUTE FUNCTION hushprice.ahead()"""
    )
    try:
        with pytest.raises(StoreUnavailable, match="busy with the same quotes"):
            given(quoter)
    finally:
        owner.execute("DROP FUNCTION hushprice.ahead CASCADE")
    given(quoter)


def test_what_the_server_refuses_or_fails_at_is_one_line(postgres_uri: str, quoter: QuoterStore) -> None:
    learner = open_store(as_quoter(postgres_uri), "learner")
    with pytest.raises(StoreUnavailable, match=r"refused: permission denied for table lease\Z"):
        learner.take_lease(HOLDER, 1.0)
    learner.close()
    with pytest.raises(StoreUnavailable, match=r"failed: UndefinedColumn \(42703\)\Z"):
        quoter._connection.rows("SELECT nothing")  # type: ignore[attr-defined]


# ---- durability, and coming back -------------------------------------------------------------------------------------


def test_synchronous_commit_is_on_whatever_the_database_says(owner: psycopg.Connection[Any], postgres_uri: str) -> None:
    (name,) = owner.execute("SELECT current_database()").fetchone() or ("",)
    owner.execute(f"ALTER DATABASE {name} SET synchronous_commit = off".encode())
    try:
        for uri, role in ((postgres_uri, "learner"), (as_quoter(postgres_uri), "quoter")):
            store = open_store(uri, role)  # type: ignore[call-overload]
            assert store._connection.rows("SHOW synchronous_commit") == [("on",)]
            store.close()
    finally:
        owner.execute(f"ALTER DATABASE {name} RESET synchronous_commit".encode())


def test_a_server_that_may_lose_what_it_acknowledged_is_refused(
    owner: psycopg.Connection[Any], postgres_uri: str
) -> None:
    def reload(change: bytes, expected: str) -> None:
        owner.execute(change)
        owner.execute("SELECT pg_reload_conf()")
        eventually(lambda: owner.execute("SHOW fsync").fetchone() == (expected,))

    reload(b"ALTER SYSTEM SET fsync = off", "off")
    try:
        with pytest.raises(InvalidInput, match="fsync off"):
            open_store(postgres_uri, "learner")
    finally:
        reload(b"ALTER SYSTEM RESET fsync", "on")
    open_store(postgres_uri, "learner").close()


@pytest.mark.parametrize(
    ("settings", "warns"),
    [
        ({"log_min_duration_statement": "250"}, True),
        ({"log_statement": "'mod'"}, True),
        ({"log_min_duration_sample": "1"}, True),
        ({"log_transaction_sample_rate": "0.5"}, True),
        ({"log_min_duration_statement": "250", "log_parameter_max_length": "0"}, False),
        ({"log_statement": "'ddl'"}, False),
    ],
)
def test_records_in_the_servers_log_are_warned_of_once(
    postgres_uri: str, caplog: pytest.LogCaptureFixture, settings: dict[str, str], warns: bool
) -> None:
    with psycopg.connect(postgres_uri, autocommit=True) as connection:
        try:
            for name, value in settings.items():
                connection.execute(f"ALTER ROLE hushprice_quoter SET {name} = {value}".encode())
            quoter = open_store(as_quoter(postgres_uri), "quoter")
            connection.execute(END_QUOTERS)
            with pytest.raises(StoreUnavailable):
                quoter.products()
            quoter.products()  # by a new connection
            quoter.close()
        finally:
            connection.execute("ALTER ROLE hushprice_quoter RESET ALL")
    assert caplog.text.count("log_parameter_max_length = 0") == int(warns)


def test_a_broken_connection_is_told_once_and_made_anew(owner: psycopg.Connection[Any], quoter: QuoterStore) -> None:
    owner.execute(END_QUOTERS)
    with pytest.raises(StoreUnavailable) as caught:
        given(quoter)
    assert "\n" not in str(caught.value)
    assert len(given(quoter)) == 1


def test_a_server_stopped_and_started_is_found_again(
    postgres_process: PostgresProcess, quoter: QuoterStore, learner: LearnerStore
) -> None:
    (name,) = given(quoter)
    assert tell(quoter, name) == OutcomeAnswer("recorded")
    postgres_process.stop()
    try:
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match=ONE_LINE):
                quoter.beat(1.0)
        with pytest.raises(StoreUnavailable):
            open_store(as_quoter(postgres_process.uri), "quoter")
    finally:
        postgres_process.start()
    assert tell(quoter, name) == OutcomeAnswer("recorded", True)
    with pytest.raises(StoreUnavailable):
        learner.products()
    pass_time(learner, 20.0)
    learn(learner, 1, release(1, 1))


def test_addresses_that_lead_nowhere_are_one_line(postgres_uri: str) -> None:
    for uri in ("postgresql://localhost:1/none?connect_timeout=1", as_quoter(postgres_uri) + "&password=s3cret&port=1"):
        with pytest.raises(StoreUnavailable, match=ONE_LINE) as caught:
            open_store(uri, "quoter")
        assert "s3cret" not in str(caught.value)
    with pytest.raises(InvalidInput, match="not an address"):
        open_store("postgresql://?nonsense=1", "quoter")


@pytest.mark.parametrize(
    "uri",
    [
        "postgresql://u:pa@s3cret@localhost/db",
        "postgresql://u:1/s3cret@localhost/db",
        "postgresql://u:s3cret/x@localhost/db",
        "postgresql://u:pa%s3cret@localhost:1/db",
        "postgresql://localhost/db?password=pa&s3cret",
        "postgresql://localhost/db?password=pa&s3cret=x",
    ],
)
def test_half_a_password_that_was_not_written_as_it_must_be_is_not_shown(uri: str) -> None:
    """The database's own message takes what follows an @ for a host, and shows it."""
    with pytest.raises((StoreUnavailable, InvalidInput), match="%40") as caught:
        open_store(uri, "quoter")
    assert "s3cret" not in str(caught.value)


# ---- preparing a database --------------------------------------------------------------------------------------------


def test_preparing_again_changes_nothing_and_sets_a_password(postgres_uri: str) -> None:
    postgres_setup.prepare(postgres_uri, "a password")
    with psycopg.connect(postgres_uri) as connection:
        stored = connection.execute("SELECT rolpassword FROM pg_authid WHERE rolname = 'hushprice_quoter'").fetchone()
    assert stored is not None
    assert stored[0].startswith("SCRAM-SHA-256$")
    postgres_setup.prepare(postgres_uri)


def test_a_quoter_waits_for_a_learner_to_prepare_the_database(bare_uri: str) -> None:
    uri = bare_uri
    with pytest.raises(InvalidInput, match="start the learner first"):
        open_store(as_quoter(uri), "quoter")
    open_store(uri, "learner").close()
    open_store(as_quoter(uri), "quoter").close()
    with psycopg.connect(uri, autocommit=True) as connection:
        connection.execute("UPDATE hushprice.meta SET version = 0")
        with pytest.raises(InvalidInput, match="has version 0, needs 4; start the learner first"):
            open_store(as_quoter(uri), "quoter")
        connection.execute("UPDATE hushprice.meta SET version = 99")
        for address, role in ((uri, "learner"), (as_quoter(uri), "quoter")):
            with pytest.raises(InvalidInput, match="version 99"):
                open_store(address, role)  # type: ignore[call-overload]
        connection.execute("DROP TABLE hushprice.meta")
    with pytest.raises(InvalidInput, match="not this program's"):
        open_store(uri, "learner")


def test_the_role_of_quoters_is_made_by_who_may_and_missed_by_who_may_not(
    postgres_uri: str, bare_uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Roles are the whole server's, so that of quoters goes by another name here."""
    monkeypatch.setattr(postgres_setup, "QUOTER", "hushprice_other")
    plain = f"{bare_uri}{'&' if '?' in bare_uri else '?'}user=hushprice_plain"
    with psycopg.connect(bare_uri, autocommit=True) as connection:
        (name,) = connection.execute("SELECT current_database()").fetchone() or ("",)
        connection.execute("CREATE ROLE hushprice_plain LOGIN")
        connection.execute(f"GRANT CREATE ON DATABASE {name} TO hushprice_plain".encode())
        try:
            with pytest.raises(InvalidInput, match="let an administrator create hushprice_other first"):
                postgres_setup.prepare(plain)
            open_store(plain, "learner").close()  # without a role there is nobody to give rights to
            granted = "SELECT has_schema_privilege('hushprice_quoter', 'hushprice', 'usage')"
            assert connection.execute(granted).fetchone() == (False,)
            connection.execute("DROP OWNED BY hushprice_plain CASCADE")
            open_store(bare_uri, "learner").close()
            assert connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'hushprice_other'").fetchone() == (1,)
        finally:
            connection.execute("DROP OWNED BY hushprice_plain CASCADE")
            connection.execute("DROP ROLE hushprice_plain")
            connection.execute("DROP ROLE IF EXISTS hushprice_other")


def test_functions_changed_in_the_program_are_changed_in_the_database(
    owner: psycopg.Connection[Any], postgres_uri: str
) -> None:
    owner.execute("DROP FUNCTION hushprice.beat")
    owner.execute("UPDATE hushprice.meta SET functions = 'older'")
    open_store(postgres_uri, "learner").close()
    assert owner.execute("SELECT hushprice.beat(1.0)").fetchone() == (0.0,)


def test_the_database_knows_the_grace_of_the_protocol() -> None:
    assert f"grace CONSTANT float8 := {GRACE}" in postgres_setup.script("postgres_functions.sql")


def test_a_value_that_the_database_refuses_is_no_outage(quoter: QuoterStore, learner: LearnerStore) -> None:
    for query, value in (("SELECT decode(%s, 'hex')", "no digits"), ("SELECT %s::integer", "1e400")):
        with pytest.raises(ValueRefused, match=r"^the store on PostgreSQL failed: [^\n]*$") as caught:
            quoter._connection.rows(query, (value,))
        assert value not in str(caught.value)
    assert given(quoter)


def test_outcomes_wait_for_a_lock_less_long_than_quotes_have_patience(
    quoter: QuoterStore, owner: psycopg.Connection[Any]
) -> None:
    """Quotes of other products may be behind them, in the same thread."""
    (name,) = given(quoter)
    with owner.transaction():
        owner.execute("SELECT 1 FROM hushprice.product FOR UPDATE")
        with pytest.raises(StoreUnavailable, match="is locked by another process"):
            tell(quoter, name)
    set_to = re.search(r"'lock_timeout', '(\d+)ms'", postgres_setup.script("postgres_functions.sql"))
    assert set_to is not None
    assert int(set_to[1]) < PATIENCE * 1000
    assert quoter._connection.rows("SHOW lock_timeout") == [("5s",)]
    assert tell(quoter, name) == OutcomeAnswer("recorded")
