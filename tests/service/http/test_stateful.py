"""Calls that follow from each other by the document's links: products, quotes of them, their outcomes.

A few calls in `make test`; `make fuzz` makes 5,000 on either store.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.errors import FlakyStrategyDefinition
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.service.http.running import CUSTOMER, KEYS, PRODUCT, Running
from tests.service.http.test_cautious import SCARF
from tests.service.http.test_local_trust import TEA

from hushprice.service.http import openapi
from hushprice.service.http.routes.table import CALLS

CASES = int(os.environ.get("HTTP_CASES", "40"))
MANY = 1000  # below that only quotes and their outcomes: to read what a product may be takes the tool half a minute
RUN, STEPS = 5, 10  # sequences with one seed, calls in a sequence
# Of either policy, and priced by customers' own devices.
QUOTED = [
    {"product": "umbrella", "attributes": CUSTOMER},
    {"product": "scarf", "context": [0.5, -0.5]},
    {"product": "tea"},
]
DECLARED: list[dict[str, Any]] = [PRODUCT, SCARF, TEA]
CHECKS = [status_code_conformance, content_type_conformance, response_schema_conformance]


@dataclass
class Answers:
    """What was answered to all calls, and what was wrong with it."""

    counts: Counter[tuple[str, int]] = field(default_factory=Counter)
    quoted: set[str] = field(default_factory=set)
    failures: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def machine(schema: Any, url: str, answers: Answers) -> Any:
    """Sequences of the schema's calls."""

    class Shop(schema.as_state_machine()):  # type: ignore[misc]
        def before_call(self, case: Any) -> None:
            """Now and then what was made up is something that exists, so that more than refusals is met."""
            total = answers.total
            if case.path == "/v1/quotes" and isinstance(case.body, dict) and total % 4:
                case.body = QUOTED[total % 3]
            if case.path == "/v1/products" and case.method == "POST" and total % 2:
                case.body = {**DECLARED[total % 3], "name": f"p-{total}"}
            if case.path.endswith("/outcome") and total % 4:
                case.body = {"purchased": bool(total % 8)}
            if case.path.endswith("/report") and total % 4:
                case.body = {"about": total % 3, "up": bool(total % 8)}

        def get_call_kwargs(self, case: Any) -> dict[str, Any]:
            key = KEYS["shop" if case.path.startswith("/v1/quotes") else "admin"]
            return {"base_url": url, "headers": {"authorization": f"Bearer {key}"}}

        def validate_response(self, response: Any, case: Any, **more: Any) -> None:
            answers.counts[case.operation.definition.raw["operationId"], response.status_code] += 1
            if case.path == "/v1/quotes" and response.status_code == 201:
                answers.quoted.add(response.json()["product"])
            checks = CHECKS if case.path == "/readyz" else [*CHECKS, not_a_server_error]  # its 503 is no fault
            try:
                case.validate_response(response, checks=checks)
            except FailureGroup as group:
                answers.failures.extend(f"{each.title}: {each.message}" for each in group.exceptions)

    return Shop


def test_no_sequence_of_calls_breaks_the_service(either: Running) -> None:
    document: Any = json.loads(openapi.document(CALLS))
    answers, whole = Answers(), schemathesis.openapi.from_dict(document)
    for declared in (SCARF, TEA):
        assert either.client("admin").post("/v1/products", json=declared).status_code == 201
    # Of many calls every other sequence is about quotes alone: among all calls chance rarely meets one.
    schemas = [whole.include(operation_id=["quote", "outcome", "device_report"]), *([whole] if CASES >= MANY else [])]
    machines = [machine(schema, either.url, answers) for schema in schemas]
    chosen = settings(
        max_examples=RUN,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    for number in count():
        # A store remembers what a run before it did, so the same calls may be answered differently.
        with contextlib.suppress(FlakyStrategyDefinition):
            seed(number)(machines[number % len(machines)]).run(settings=chosen)
        if answers.total >= CASES:
            break
    assert not answers.failures
    assert answers.counts["outcome", 200], answers.counts
    assert answers.counts["device_report", 200], answers.counts
    assert {"umbrella", "scarf", "tea"} <= answers.quoted, answers.counts
