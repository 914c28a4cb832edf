"""PostgreSQL is stopped and started while customers come: quotes go on, outcomes are told again, nothing is lost."""

from __future__ import annotations

import time
from pathlib import Path

from tests.service.conftest import PostgresProcess
from tests.service.crash import truth
from tests.service.crash.runs import Load
from tests.service.crash.served import OnPostgres, eventually
from tests.service.crash.shoppers import Notes, add_product

from hushprice.service.writer import BUFFER


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
            postgres_process.stop("fast")
            try:
                line = served.line("shop")
                for _ in range(20):  # the shoppers may all be busy telling outcomes again
                    status, quote = line.call("POST", "/v1/quotes", {"product": name, "context": [0.5, -0.5]})
                    assert (status, quote["recorded"], quote["version"] > 0) == (201, False, True)
                    notes.unrecorded.append(quote["id"])
                line.close()
                eventually(lambda: notes.refused > 5)
                assert not served.answers(served.port, "/readyz")
                assert served.answers(served.port, "/healthz")
            finally:
                postgres_process.start()
            told = len(notes.told)
            eventually(lambda: served.answers(served.port, "/readyz"))
            eventually(lambda: len(notes.told) > told + 20)
            time.sleep(0.5)
        served.end()
        assert truth.wrong(served, notes) == []
        stored = {row.number for row in truth.quotes(served.uri)}
        assert len(notes.unrecorded) < BUFFER
        assert set(notes.unrecorded) <= stored  # given while the store was away, kept, and stored when it was back
    finally:
        served.close()
