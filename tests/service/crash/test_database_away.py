"""PostgreSQL is stopped and started while customers come: quotes go on, outcomes are told again, nothing is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.service.conftest import PostgresProcess
from tests.service.crash import truth
from tests.service.crash.lines import Line
from tests.service.crash.runs import Load
from tests.service.crash.served import OnPostgres
from tests.service.crash.shoppers import Given, Notes, add_product
from tests.waiting import eventually

from hushprice.service.quoting.writer import BUFFER


def _quote(line: Line, product: str) -> tuple[int, Any]:
    return line.call("POST", "/v1/quotes", {"product": product, "context": [0.5, -0.5]})


def _recorded(line: Line, product: str, notes: Notes) -> Any:
    """A quote, where it is stored: a busy machine's store may be late, and then counts as away."""
    _, quote = _quote(line, product)
    if quote["recorded"]:
        return quote
    notes.unrecorded.append(quote["id"])
    return None


def _unless_away(answer: tuple[int, Any]) -> tuple[int, Any] | None:
    return None if answer[0] == 503 else answer


def test_quotes_go_on_while_postgresql_is_away_and_outcomes_succeed_on_retry(
    tmp_path: Path, postgres_process: PostgresProcess, postgres_uri: str
) -> None:
    served, notes = OnPostgres(tmp_path, postgres_uri, postgres_process), Notes()
    try:
        served.start()
        name = add_product(served, notes, "plain")
        add_product(served, notes, "capped")
        with Load(served, notes):
            eventually(lambda: any(given.version for given in list(notes.given.values()) if given.product == name))
            line = served.line("shop")
            before = eventually(lambda: _recorded(line, name, notes))
            notes.given[before["id"]] = Given(name, before["price"], before["version"], None)
            notes.tried[before["id"]] = 1.0
            outcome = ("POST", f"/v1/quotes/{before['id']}/outcome", {"purchased": True})
            postgres_process.stop("fast")
            try:
                for _ in range(20):  # the shoppers may all be busy telling outcomes again
                    status, quote = _quote(line, name)
                    assert (status, quote["recorded"], quote["version"] > 0) == (201, False, True)
                    notes.unrecorded.append(quote["id"])
                # Shoppers who had a quote then are refused as well; whether one had is chance.
                assert [line.call(*outcome)[0] for _ in range(5)] == [503] * 5
                assert not served.answers(served.port, "/readyz")
                assert served.answers(served.port, "/healthz")
            finally:
                postgres_process.start()
            told = len(notes.told)
            eventually(lambda: served.answers(served.port, "/readyz"))
            status, told_at_last = eventually(lambda: _unless_away(line.call(*outcome)))
            assert status in (200, 202)  # in time or late, it is kept
            notes.told[before["id"]] = (1.0, told_at_last["status"])
            line.close()
            eventually(lambda: len(notes.told) > told + 20)
        served.end()
        assert truth.wrong(served, notes) == []
        stored = {row.number for row in truth.quotes(served.uri)}
        assert len(notes.unrecorded) < BUFFER
        assert set(notes.unrecorded) <= stored  # given while the store was away, kept, and stored when it was back
    finally:
        served.close()
