"""`hushprice serve` as a container runs it: variables of Kubernetes around it, no home, and a log in JSON."""

from __future__ import annotations

import contextvars
import json
import logging
import re
from pathlib import Path

import pytest
from tests.service.http.running import Running, ask
from tests.service.http.test_serve import Served, call  # noqa: F401 - a fixture
from tests.service.shared.test_service_links import link
from tests.waiting import eventually

from hushprice.numerics import jit
from hushprice.service.http.routes import quotes
from hushprice.service.shared import logs, request_ids

DRAWN = "7f3a-" * 4 + "00"


def test_a_service_in_a_cluster_starts_without_a_home_and_logs_json(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    variables = {**link("HUSHPRICE"), "HOME": str(tmp_path / "file" / "home"), "HUSHPRICE_STATE_DIR": str(tmp_path)}
    variables["NUMBA_CACHE_DIR"] = str(Path(jit.FOLDER).parent)  # as in an image that was built with compiled code
    served = Served(tmp_path, "--log-format", "json", "--host", "0.0.0.0", **variables)
    try:
        assert served.operator.base_url.host == "127.0.0.1"
        assert served.public.base_url.host == "0.0.0.0"
        eventually(lambda: served.public.get("/readyz").status_code == 200)
        answer = served.public.get("/healthz", headers={"x-request-id": DRAWN})
        assert answer.headers["x-request-id"] == DRAWN
    finally:
        served.close()
    lines = [json.loads(line) for line in served.log().splitlines()]
    assert {line["level"] for line in lines} == {"info"}
    assert any("HUSHPRICE_SERVICE_HOST" in line["message"] for line in lines)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"]) for line in lines)


def test_why_it_ended_is_a_line_of_the_log_too(call, caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:  # noqa: F811
    code, out, _ = call("serve", "--log-format", "json", "--store", "nowhere/shop.db", "--port", "0")
    assert (code, out) == (2, "")
    assert "'nowhere' does not exist" in caplog.messages[-1]
    assert call("serve", "--log-format", "xml")[0] == 2


@pytest.mark.parametrize("given", [None, "short", "alice@example.org", "0" * 65, "0123456789abcdeg", "é" * 20])
def test_a_request_id_that_could_be_a_name_is_replaced(shared: Running, given: str | None) -> None:
    headers = {} if given is None else {"x-request-id": given.encode()}
    made = [shared.client("shop").get("/v1/nothing", headers=headers).headers["x-request-id"] for _ in range(2)]
    assert all(re.fullmatch("[0-9a-f]{16}", each) for each in made)
    assert made[0] != made[1]


def test_a_failure_is_logged_with_its_request_and_without_what_was_sent(
    fresh: Running, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*given: object) -> None:
        raise ValueError("a customer of 41")

    monkeypatch.setattr(quotes, "new_quote", fails)
    written: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.append(self.format(record))

    kept = Kept()
    kept.setFormatter(logs.LogFormatter("json", "quoter"))
    logging.getLogger("hushprice").addHandler(kept)
    try:
        answer = fresh.client("shop").post("/v1/quotes", json=ask(), headers={"x-request-id": DRAWN})
    finally:
        logging.getLogger("hushprice").removeHandler(kept)
    assert (answer.status_code, answer.headers["x-request-id"]) == (500, DRAWN)
    (line,) = [json.loads(each) for each in written]
    assert (line["level"], line["request"], line["process"]) == ("error", DRAWN, "quoter")
    assert "ValueError" in line["message"]
    assert "a customer" not in written[0]


def test_a_line_of_text_has_the_same_and_an_exception_only_its_kind() -> None:
    formatter = logs.LogFormatter("text", "learner")
    try:
        raise ValueError("a record of 0.4177")
    except ValueError as problem:
        error = (ValueError, problem, problem.__traceback__)
    record = logging.LogRecord("hushprice.service", logging.WARNING, "x.py", 1, "two\nlines", (), error)

    def written() -> str:
        request_ids.begin([(b"x-request-id", DRAWN.encode())])
        return formatter.format(record)

    line = contextvars.copy_context().run(written)
    assert re.fullmatch(r"\S+Z warning hushprice learner: two lines \(request \S+\) \(error ValueError at \S+\)", line)
    assert DRAWN in line
    assert "0.4177" not in line
