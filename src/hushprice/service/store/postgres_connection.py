"""One connection to PostgreSQL that commits durably, and is made anew after it broke."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg import errors

from hushprice.errors import InvalidInput, first_line
from hushprice.service.store.protocol import StoreUnavailable, ValueRefused

_log = logging.getLogger("hushprice.service")
Value = TypeVar("Value")
# The server ends a statement after 10 s and says so. A link that is silent for longer will not speak again.
DEADLINE = 12.0
UPGRADE = 600.0  # the same for the steps that bring a database up to date
# Nothing may wait for ever: not for a server that is gone, a lock, or a process that hangs in its transaction.
_CONNECT: dict[str, Any] = {
    "connect_timeout": 3,
    "tcp_user_timeout": 5000,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
}
_ESCAPES = "signs like @ / ? & % in a password are written %40 %2F %3F %26 %25"
# Who is gone in the middle of a transaction loses its locks before who waits for one gives up.
# A plan made while a table was empty reads all of it, and would be kept when it is not: indexes, always.
_SESSION = """SELECT set_config('enable_seqscan', 'off', false),
    set_config('lock_timeout', '5s', false), set_config('statement_timeout', '10s', false),
    set_config('idle_in_transaction_session_timeout', '4s', false),
    set_config('default_transaction_isolation', 'read committed', false),
    set_config('synchronous_commit',
        CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false),
    current_setting('fsync')"""
# Parameters are attributes and outcomes. Only a superuser could keep them out of the server's own log.
_LOGGED = """SELECT coalesce(current_setting('log_parameter_max_length', true), '-1') <> '0'
    AND (current_setting('log_statement') IN ('mod', 'all') OR current_setting('log_min_duration_statement') <> '-1'
        OR coalesce(current_setting('log_min_duration_sample', true), '-1') <> '-1'
        OR coalesce(current_setting('log_transaction_sample_rate', true), '0') <> '0')"""

_MEANINGS: tuple[tuple[type[psycopg.Error], str], ...] = (
    (errors.DiskFull, "cannot grow: the disk is full"),
    (errors.LockNotAvailable, "is locked by another process"),
    (errors.DeadlockDetected, "is locked by another process"),
    (errors.QueryCanceled, "took too long"),
    (errors.ReadOnlySqlTransaction, "is read-only"),
    (errors.TooManyConnections, "has no connection left"),
    (errors.AdminShutdown, "is shutting down"),
    (errors.CannotConnectNow, "is starting or shutting down"),
)


class SilentLink(psycopg.OperationalError):
    """The server has not answered a statement in time."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no answer for {seconds:g} s")


class BoundedConnection(psycopg.Connection[Any]):
    """A connection that waits for no statement longer than `deadline` seconds: the first that takes longer closes it.

    The server's own limits do not help where the link is dead, and neither do TCP's where a proxy or a load balancer
    still answers for the server.
    """

    deadline: float | None = None  # None: DEADLINE

    def wait(self, gen: Generator[Any, Any, Value], *more: Any, **named: Any) -> Value:
        """What the generator returns; every wait of psycopg comes through here, ten times a second at least."""
        try:
            return super().wait(self._bounded(gen), *more, **named)
        except SilentLink as silent:
            self.pgconn.finish()
            _log.warning("PostgreSQL is silent: %s. The connection is given up", silent)
            raise

    def _bounded(self, gen: Generator[Any, Any, Value]) -> Generator[Any, Any, Value]:
        seconds = DEADLINE if self.deadline is None else self.deadline
        until = time.monotonic() + seconds
        try:
            wanted = next(gen)
            while True:
                wanted = gen.send((yield wanted))  # first, for what is there may be all
                if time.monotonic() > until:
                    raise SilentLink(seconds)
        except StopIteration as done:
            value: Value = done.value
            return value


class PostgresConnection:
    """A connection, opened when it is first needed. `ready` is called with every new one before anything else."""

    def __init__(self, uri: str, name: str, ready: Callable[[BoundedConnection], None] | None = None) -> None:
        self._uri, self._name, self._ready = uri, name, ready
        self._warned = False
        self._lost = False  # was there a connection that broke, and none since?
        self._connection: BoundedConnection | None = None

    def close(self) -> None:
        """Close the connection; the next statement opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextmanager
    def transaction(self) -> Iterator[BoundedConnection]:
        """A connection inside a transaction, which is committed at the end of the block."""
        with self._explained(), self._connected().transaction():
            assert self._connection is not None
            yield self._connection

    def rows(self, query: str, values: tuple[Any, ...] | dict[str, Any] = ()) -> list[tuple[Any, ...]]:
        """One statement is one transaction, and one round trip."""
        with self._explained():
            return self._connected().execute(query.encode(), values).fetchall()

    def _connected(self) -> BoundedConnection:
        if self._connection is None:
            try:
                connection = BoundedConnection.connect(
                    self._uri, autocommit=True, application_name=self._name, **_CONNECT
                )
            except psycopg.ProgrammingError:  # of the address, which its text quotes; the server has not been asked
                raise InvalidInput(f"store: not an address of PostgreSQL that can be read; {_ESCAPES}") from None
            try:
                self._begin(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
            if self._lost:
                self._lost = False
                _log.warning("connected to PostgreSQL again")
        return self._connection

    def _begin(self, connection: BoundedConnection) -> None:
        row = connection.execute(_SESSION).fetchone()
        if row is None or row[-1] != "on":
            raise InvalidInput("store: the server runs with fsync off, so that what it acknowledges may be lost")
        self._warn(connection)
        if self._ready is not None:
            with connection.transaction():
                self._ready(connection)
        connection.deadline = None

    def _warn(self, connection: psycopg.Connection[Any]) -> None:
        """Once, of records in the server's log."""
        if not self._warned and connection.execute(_LOGGED).fetchone() == (True,):
            self._warned = True
            _log.warning(
                "PostgreSQL logs statements with their parameters, so customers' records are in its log: "
                "set log_parameter_max_length = 0 there"
            )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Failures as StoreUnavailable in one line. Of what the server says, no text that could quote a record."""
        try:
            yield
        except (errors.UniqueViolation, errors.NoDataFound):
            raise
        except (psycopg.DataError, psycopg.IntegrityError) as problem:  # of one request, and no outage for the others
            raise ValueRefused(f"the store on PostgreSQL {_meaning(problem, self._uri)}") from None
        except psycopg.Error as problem:
            if self._connection is not None and self._connection.closed:
                self.close()
                self._lost = True
            raise StoreUnavailable(f"the store on PostgreSQL {_meaning(problem, self._uri)}") from None


def _meaning(problem: psycopg.Error, uri: str) -> str:
    for kind, text in _MEANINGS:
        if isinstance(problem, kind):
            return text
    if isinstance(problem, SilentLink):
        return f"does not answer: {problem}"
    if isinstance(problem, errors.InsufficientPrivilege):
        return f"refused: {problem.diag.message_primary}"
    if problem.sqlstate is None:
        return f"cannot be reached: {first_line(problem) if _is_plain(uri) else _ESCAPES}"
    return f"failed: {type(problem).__name__} ({problem.sqlstate})"


def _is_plain(uri: str) -> bool:
    """Is it clear where a password ends? Otherwise half of it would be taken for a host, and be shown as one."""
    rest = uri.partition("://")[2]
    return rest.count("@") <= 1 and "@" not in rest.partition("/")[2]
