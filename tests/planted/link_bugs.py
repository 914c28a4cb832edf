"""Bugs in queues, leases and restarts of the running service."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.planted.planting import changed, together

from hushprice.service.quoting import writer
from hushprice.service.quoting.learner_process import RestartAllowance
from hushprice.service.quoting.writer import Writer
from hushprice.service.store import decisions, sqlite_learner


def _takes_a_place(real: Callable[..., Any]) -> Callable[..., Any]:
    def outcome(self: Writer, told: Any) -> Any:
        self._quotes.admit(writer.BUFFER)
        return real(self, told)

    return outcome


def _last_commit_wins(real: Callable[..., None]) -> Callable[..., None]:
    def commit(connection: Any, holder: str, state: Any, releases: Any, tally: Any) -> None:
        connection.execute("DELETE FROM release WHERE sequence > ?", (state.sequence - len(releases),))
        real(connection, holder, state, releases, tally)

    return commit


outcomes_counted_with_quotes = changed(Writer, "outcome", _takes_a_place)
last_learner_wins = together(
    changed(decisions, "check_state", lambda real: lambda state, releases, at: None),
    changed(sqlite_learner, "commit", _last_commit_wins),
)
restarted_for_ever = changed(RestartAllowance, "take", lambda real: lambda self, now: True)
