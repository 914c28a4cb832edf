"""PostgreSQL behind a link that falls silent: every statement is given up in time, and a new connection is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from tests.service.conftest import as_quoter
from tests.service.silent_link import SilentLink, silent_link
from tests.service.store.samples import HOLDER, PRODUCT, give, given, quote, release, state

from hushprice.service.store import open_store, postgres_connection, postgres_setup
from hushprice.service.store.protocol import LearnerStore, QuoterStore, StoreUnavailable


@pytest.fixture
def link(postgres_uri: str) -> Iterator[SilentLink]:
    with silent_link(postgres_uri) as made:
        yield made


@pytest.fixture
def learner(link: SilentLink) -> Iterator[LearnerStore]:
    store = open_store(link.uri, "learner")
    store.add_product(PRODUCT, b"{}", b"{}", 1000.0)
    yield store
    store.close()


@pytest.fixture
def quoter(link: SilentLink, learner: LearnerStore) -> Iterator[QuoterStore]:
    store = open_store(as_quoter(link.uri), "quoter")
    yield store
    store.close()


def test_a_write_over_a_silent_link_is_given_up_and_may_be_written_again(
    link: SilentLink, quoter: QuoterStore, caplog: pytest.LogCaptureFixture
) -> None:
    new = quote()
    link.fall_silent()
    with pytest.raises(StoreUnavailable, match=r"does not answer: no answer for 1 s\Z"):
        give(quoter, new)
    link.speak()
    assert [each.id for each in give(quoter, new)] == [new.id]
    assert quoter.products()[0].slots == 1
    assert caplog.messages == [
        "PostgreSQL is silent: no answer for 1 s. The connection is given up",
        "connected to PostgreSQL again",
    ]


def test_a_commit_over_a_silent_link_is_given_up_at_its_first_statement_or_in_the_middle(
    link: SilentLink, quoter: QuoterStore, learner: LearnerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    given(quoter, 2)
    learner.take_lease(HOLDER, 1000.0)

    def commit() -> None:
        learner.commit(HOLDER, state(2, 1), [release(1, 2)], 1000.0)

    link.fall_silent()
    with pytest.raises(StoreUnavailable, match="does not answer"):
        commit()
    link.speak()
    # The server lets go of what a client that is gone had locked.
    learner._connection.rows("SELECT set_config('idle_in_transaction_session_timeout', '50ms', false)")  # type: ignore[attr-defined]
    _silent_before(monkeypatch, learner, "_lost_release", link)
    with pytest.raises(StoreUnavailable, match="does not answer"):
        commit()
    monkeypatch.setattr(learner, "_lost_release", lambda product: None)
    link.speak()
    assert learner.state(PRODUCT) is None
    commit()
    assert [each.sequence for each in learner.releases(PRODUCT)] == [1]


def _silent_before(monkeypatch: pytest.MonkeyPatch, store: Any, name: str, link: SilentLink) -> None:
    real: Callable[..., Any] = getattr(store, name)

    def silenced(*given: Any) -> Any:
        link.fall_silent()
        return real(*given)

    monkeypatch.setattr(store, name, silenced)


def test_the_server_gives_up_before_its_client_does_and_locks_are_let_go_of_before_who_waits_gives_up(
    postgres_uri: str,
) -> None:
    """So that nothing is still at work there when the same is asked again."""
    store = open_store(postgres_uri, "learner")
    try:
        limits = ("idle_in_transaction_session_timeout", "lock_timeout", "statement_timeout")
        query = "SELECT extract(epoch FROM current_setting(%s)::interval)::float8"
        seconds = [store._connection.rows(query, (limit,))[0][0] for limit in limits]  # type: ignore[attr-defined]
    finally:
        store.close()
    assert 0.0 < seconds[0] < seconds[1] < seconds[2] < postgres_connection.DEADLINE


def test_an_upgrade_has_more_time_than_a_statement_and_what_follows_has_not(
    bare_uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_connection, "DEADLINE", 0.5)
    script = postgres_setup.script
    slow = {"postgres_1.sql": "SELECT pg_sleep(1);\n"}
    monkeypatch.setattr(postgres_setup, "script", lambda name: slow.get(name, "") + script(name))
    store = open_store(bare_uri, "learner")
    try:
        with pytest.raises(StoreUnavailable, match="does not answer"):
            store._connection.rows("SELECT pg_sleep(5)")  # type: ignore[attr-defined]
    finally:
        store.close()


def test_a_database_of_the_version_before_is_upgraded_when_a_learner_opens_it(bare_uri: str) -> None:
    with psycopg.connect(bare_uri, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA hushprice")
        connection.execute("CREATE TABLE hushprice.meta (version integer NOT NULL, functions text NOT NULL)")
        connection.execute("INSERT INTO hushprice.meta VALUES (1, '')")
        connection.execute(postgres_setup.script("postgres_1.sql").encode())
        connection.execute("UPDATE hushprice.lease SET holder = 'old', until = 50.0")
    store = open_store(bare_uri, "learner")
    assert store.learner_alive(49.0)
    assert store.learning_progress(49.0).report.set_aside == 0
    store.close()
