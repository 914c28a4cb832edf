"""The OpenAPI document says what the service does, and what the service does is in the document."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.service.http.running import KEYS, Running

from hushprice.service.http import openapi
from hushprice.service.http.routes.table import CALLS

DOCUMENT: Any = json.loads(openapi.document(CALLS))
OPERATIONS = [(path, method) for path, methods in DOCUMENT["paths"].items() for method in methods]


def test_every_call_is_documented_with_its_answers_and_keys() -> None:
    assert len(OPERATIONS) == len(CALLS) == len({call.name for call in CALLS})
    for call in CALLS:
        said = DOCUMENT["paths"][call.path][call.method.lower()]
        assert {str(status) for status in call.answers} <= set(said["responses"])
        assert ("requestBody" in said) == (call.body is not None)
        assert ("security" in said) == bool(call.roles)
        if call.roles:
            assert {"401", "403", "429"} <= set(said["responses"])
        if call.body is not None:
            assert {"400", "413", "422"} <= set(said["responses"])


def test_constraints_and_descriptions_are_in_the_document() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    assert schemas["BatchRequest"]["properties"]["quotes"]["maxItems"] == 100
    assert schemas["QuoteRequest"]["additionalProperties"] is False
    assert schemas["Quote"]["properties"]["id"]["pattern"] == "^[0-9a-f]{32}$"
    assert all("description" in schemas[name] for name in ("Quote", "Privacy", "Report", "OutcomeRequest"))


def test_the_served_document_is_the_generated_one(shared: Running) -> None:
    served = shared.client().get("/openapi.json").json()
    assert served == DOCUMENT
    assert served["openapi"] == "3.1.0"


def test_every_path_in_the_document_is_routed(shared: Running) -> None:
    for path, method in OPERATIONS:
        asked = path.replace("{name}", "umbrella").replace("{id}", "0" * 32)
        answer = shared.client().request(method, asked, json=None if method == "get" else {})
        assert answer.status_code != 405, (method, path)
        assert answer.status_code != 404 or answer.json()["error"]["code"] != "not_found", (method, path)


@pytest.mark.parametrize("mode", ["positive", "negative"])
@pytest.mark.parametrize(("path", "method"), OPERATIONS, ids=[f"{m} {p}" for p, m in OPERATIONS])
def test_no_request_of_the_documents_shape_or_near_it_breaks_the_service(
    request: pytest.FixtureRequest, path: str, method: str, mode: str
) -> None:
    # One that is retired is of no use to other tests.
    server: Running = request.getfixturevalue("fresh" if path.endswith("/retire") else "shared")
    operation = schemathesis.openapi.from_dict(DOCUMENT)[path][method.upper()]
    key = KEYS["shop"] if path.startswith("/v1/quotes") else KEYS["admin"]
    checks = [status_code_conformance, content_type_conformance, response_schema_conformance]
    if not path.startswith("/readyz"):  # its 503 is no fault
        checks.append(not_a_server_error)

    @settings(
        max_examples=12,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=schemathesis.GenerationMode(mode)))
    def check(case: Any) -> None:
        if str(case.path_parameters.get("name", "")) > "m":
            case.path_parameters["name"] = "umbrella"  # so that more than "unknown" is met
        case.call_and_validate(base_url=server.url, headers={"authorization": f"Bearer {key}"}, checks=checks)

    with contextlib.suppress(Unsatisfiable):  # a call without parameters cannot be asked wrongly
        check()
