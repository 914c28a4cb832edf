"""Bugs in the service's limits, by which a purchase or a report decides who gets a slot, and what catches them."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from tests.planted.planting import changed
from tests.service.http import limit_worlds, running
from tests.service.http.limit_worlds import PURCHASES, REPORTS, Sold

from hushprice.service.quoting import writer
from hushprice.service.quoting.writer import Writer
from hushprice.service.shared.rate_limits import Allowances, Bucket


def _same(world: limit_worlds.World, sold: Sold = PURCHASES) -> None:
    with tempfile.TemporaryDirectory() as told, tempfile.TemporaryDirectory() as silent:
        assert world(Path(told), sold, True) == world(Path(silent), sold, False)


def purchases_take_no_quotes_token() -> None:
    _same(limit_worlds.rate_limit)


def reports_take_no_quotes_token() -> None:
    _same(limit_worlds.rate_limit, REPORTS)


def purchases_take_no_other_outcomes_token() -> None:
    _same(limit_worlds.outcome_calls)


def purchases_are_not_in_the_queue_of_quotes() -> None:
    _same(limit_worlds.writer_queue)


def failed_outcomes_are_no_outage() -> None:
    _same(limit_worlds.failing_outcomes)


outcome_takes_a_quotes_token = changed(
    Allowances, "of_outcome", lambda real: lambda self, key, quote: self.of_quotes(key)
)
report_takes_a_quotes_token = changed(
    running,
    "CALLS",
    lambda real: [replace(each, takes="quotes") if each.name == "device_report" else each for each in real],
)
outcome_takes_anothers_token = changed(
    Allowances, "of_outcome", lambda real: lambda self, key, quote: Bucket(self._unknown, key.name)
)
outcomes_lengthen_the_queue = changed(
    Writer,
    "crowded",
    lambda real: property(lambda self: self._quotes.count + len(self._outcomes) > writer.BUFFER // 2),
)
outcome_says_the_store_is_away = changed(
    Writer, "_log_refused", lambda real: lambda self, problem: self._set_away(problem)
)
