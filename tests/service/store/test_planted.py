"""Bugs planted in both stores: each is caught by a test of the suite, which passes the sound store elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest
from tests.planted.planting import Bug, changed
from tests.service.conftest import as_quoter
from tests.service.store import test_learning, test_outcomes, test_postgres, test_postgres_roles, test_quotes
from tests.service.store.samples import PRODUCT

from hushprice.service.store import decisions, open_store, postgres_setup, sqlite_learner, sqlite_quotes
from hushprice.service.store.protocol import LearnerStore, QuoterStore


class Stage(NamedTuple):
    quoter: QuoterStore
    learner: LearnerStore
    uri: str


class Planted(NamedTuple):
    name: str
    bug: Bug
    check: Callable[[Stage], None]


def edited(old: str, new: str) -> Bug:
    """A bug in what the database is made of; it must be there, so that no bug vanishes with an edit."""

    def make(real: Callable[[str], str]) -> Callable[[str], str]:
        assert any(old in real(name) for name in ("postgres_functions.sql", "postgres_grants.sql"))
        return lambda name: real(name).replace(old, new)

    return changed(postgres_setup, "script", make)


def at_deadline(stage: Stage) -> None:
    test_outcomes.test_an_outcome_is_taken_until_the_deadline_and_not_at_it(stage.quoter, stage.learner)


def cap(stage: Stage) -> None:
    test_quotes.test_quotes_over_the_cap_keep_their_slots_and_do_not_count(stage.quoter, stage.learner)


def second_cap(stage: Stage) -> None:
    test_outcomes.test_who_comes_back_after_being_forgotten_has_no_second_cap(stage.quoter, stage.learner)


def rolled_back(stage: Stage) -> None:
    test_quotes.test_a_write_that_fails_takes_no_slot(stage.quoter, stage.learner)


def late(stage: Stage) -> None:
    test_outcomes.test_a_late_outcome_is_kept_for_its_repeat_and_never_learned(stage.quoter, stage.learner)


def contiguous(stage: Stage) -> None:
    test_outcomes.test_only_a_contiguous_run_past_its_deadlines_is_due(stage.quoter, stage.learner)


def outage(stage: Stage) -> None:
    test_outcomes.test_the_clock_moves_by_beats_and_stands_still_over_an_outage(stage.quoter, stage.learner)


def leased(stage: Stage) -> None:
    test_learning.test_without_the_lease_nothing_is_stored(stage.quoter, stage.learner, "other")


def skipped(stage: Stage) -> None:
    test_learning.test_after_a_restored_backup_no_charged_slot_is_learned_again(stage.quoter, stage.learner)


def other_key(stage: Stage) -> None:
    test_outcomes.test_a_quote_of_another_api_key_is_unknown_before_and_after_its_outcome(stage.quoter)


def denied(stage: Stage) -> None:
    with psycopg.connect(as_quoter(stage.uri), autocommit=True) as connection:
        test_postgres_roles.test_a_quoter_is_denied_every_record(connection, "quote")


def clock_waits(stage: Stage) -> None:
    with psycopg.connect(stage.uri, autocommit=True) as connection:
        test_postgres.test_the_clock_waits_for_an_outcome_in_flight(connection, stage.quoter, stage.learner)


def _kept_slots(real: Any) -> Any:
    kept: dict[str, list[int]] = {}

    def start(self: Any, connection: Any) -> None:
        real(self, connection)
        self._last = kept

    return start


SQLITE = [
    Planted(
        "an outcome taken at its deadline",
        changed(decisions, "in_time", lambda real: lambda clock, deadline: clock <= deadline),
        at_deadline,
    ),
    Planted(
        "a cap one too high",
        changed(decisions, "within_cap", lambda real: lambda n, cap, _: n <= cap),
        cap,
    ),
    Planted("a second cap", changed(decisions, "is_due", lambda real: lambda clock, deadline: False), second_cap),
    Planted("slots kept over a rollback", changed(sqlite_quotes.SlotCounter, "__init__", _kept_slots), rolled_back),
    Planted("a late outcome learned", changed(sqlite_quotes, "LATE", lambda real: decisions.RECORDED), late),
    Planted(
        "a slot before its deadline",
        changed(decisions, "is_due", lambda real: lambda *_: True),
        contiguous,
    ),
    Planted("an outage that counts", changed(decisions, "GRACE", lambda real: 1e9), outage),
    Planted("a release without a lease", changed(sqlite_learner, "check_lease", lambda real: lambda *_: None), leased),
    Planted(
        "a charged slot handed out",
        changed(decisions, "first_due", lambda real: lambda product, after, at: after + 1),
        skipped,
    ),
    Planted(
        "a quote for every key",
        changed(sqlite_quotes, "_FIND_QUOTE", lambda real: real.replace("slot, key,", "slot, 'other',")),
        other_key,
    ),
]
POSTGRES = [
    Planted("an outcome taken at its deadline", edited("clock < q.deadline", "clock <= q.deadline"), at_deadline),
    Planted("a cap one too high", edited("counted < q.cap", "counted <= q.cap"), cap),
    Planted("a second cap", edited("AND deadline <= now", "AND false"), second_cap),
    Planted(
        "slots from a sequence, which no rollback returns",
        edited(
            "last[place] := last[place] + 1;",
            "CREATE SEQUENCE IF NOT EXISTS hushprice.s; last[place] := nextval('s');",
        ),
        rolled_back,
    ),
    Planted("a late outcome learned", edited("SET status = 2, demand", "SET status = 1, demand"), late),
    Planted("an outage that counts", edited("float8 := 5.0", "float8 := 1e9"), outage),
    Planted("a quote for every key", edited("AND quote.key = o.key", ""), other_key),
    Planted(
        "a quoter who can read",
        edited("GRANT USAGE", "GRANT SELECT ON hushprice.quote TO hushprice_quoter; GRANT USAGE"),
        denied,
    ),
    Planted("a clock that waits for nobody", edited("PERFORM lock_clock(true);", ""), clock_waits),
]


@contextmanager
def staged(uri: str) -> Iterator[Stage]:
    with ExitStack() as stack:
        learner = open_store(uri, "learner")
        stack.callback(learner.close)
        learner.add_product(PRODUCT, b"{}", b"{}", 1000.0)
        quoter = open_store(as_quoter(uri), "quoter")
        stack.callback(quoter.close)
        yield Stage(quoter, learner, uri)


def caught(planted: Planted, uri: str) -> None:
    with planted.bug(), staged(uri) as stage, pytest.raises((AssertionError, pytest.fail.Exception)):
        planted.check(stage)


@pytest.mark.parametrize("planted", SQLITE, ids=lambda planted: planted.name)
def test_a_bug_in_the_sqlite_store_is_caught(planted: Planted, tmp_path: Path) -> None:
    caught(planted, str(tmp_path / "hushprice.db"))


@pytest.mark.parametrize("planted", POSTGRES, ids=lambda planted: planted.name)
def test_a_bug_in_the_postgresql_store_is_caught(planted: Planted, bare_uri: str) -> None:
    caught(planted, bare_uri)
