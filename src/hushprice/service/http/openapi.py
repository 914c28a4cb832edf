"""The OpenAPI 3.1 document, made from the table of calls and the types of their messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from typing import Any

import msgspec

from hushprice.service.http.call import Call
from hushprice.service.http.endpoint import LARGEST_BODY, LONGEST_IDEMPOTENCY_KEY
from hushprice.service.shared.problems import ErrorBody

_STATUS_TEXTS = {
    200: "done",
    201: "made",
    202: "noted too late to be learned from; or done by this process alone, for now",
    400: "the body is not JSON in UTF-8",
    401: "no key, or one that nobody has",
    403: "a key of another role",
    413: f"the body has more than {LARGEST_BODY} bytes",
    422: "a field is missing, unknown, of the wrong type, or out of its bounds",
    429: "too many requests with this key; Retry-After says how long to wait",
    500: "the service failed",
    503: "the store is away, or not all is ready",
}
_PATH_PARAMETERS = {
    "name": {"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,63}$", "description": "a product's name"},
    "id": {"type": "string", "pattern": "^[0-9a-f]{32}$", "description": "a quote's id"},
}


def document(calls: Sequence[Call]) -> bytes:
    """The document as JSON."""
    types = _message_types(calls)
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    for each in components.values():  # of a dataclass, as it stands in the source
        if "description" in each:
            each["description"] = " ".join(each["description"].split())
    by_type = {id(each): schema for each, schema in zip(types, schemas, strict=True)}
    paths: dict[str, dict[str, Any]] = {}
    for call in calls:
        paths.setdefault(call.path, {})[call.method.lower()] = _operation(call, by_type, _links(call, calls))
    whole = {
        "openapi": "3.1.0",
        "info": {
            "title": "hushprice",
            "version": version("hushprice"),
            "description": "Personal prices that learn demand, under a privacy budget.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            },
        },
    }
    return msgspec.json.encode(whole)


def _message_types(calls: Iterable[Call]) -> list[Any]:
    types: list[Any] = [ErrorBody]
    for call in calls:
        for each in (call.body, *call.answers.values()):
            if each is not None and not isinstance(each, str) and all(each is not known for known in types):
                types.append(each)
    return types


def _links(call: Call, calls: Sequence[Call]) -> dict[str, Any]:
    """The calls that what this one made can be named in: a quote's outcome, and everything of a product."""
    field = {"quote": "id", "create_product": "name"}.get(call.name)
    return {
        each.name: {"operationId": each.name, "parameters": {field: f"$response.body#/{field}"}}
        for each in calls
        if field is not None and f"{{{field}}}" in each.path
    }


def _operation(call: Call, by_type: dict[int, Any], links: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": call.name,
        "summary": call.summary,
        "tags": [call.tag],
        "parameters": [*_in_path(call.path), *_in_query(call), *_in_header(call)],
        "responses": _responses(call, by_type, links),
    }
    if call.body is not None:
        operation["requestBody"] = {"required": True, "content": _json(by_type[id(call.body)])}
    if call.roles:
        needed: list[dict[str, list[str]]] = [{"bearer": []}, {"header": []}]
        operation["security"] = [{}, *needed] if call.reads else needed
        operation["description"] = f"For keys of role {', '.join(dict.fromkeys((*call.roles, 'admin')))}" + (
            ", and without a key where the page is open." if call.reads else "."
        )
    return operation


def _in_path(path: str) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": _PATH_PARAMETERS[name]}
        for name in re.findall(r"\{(\w+)\}", path)
    ]


def _in_query(call: Call) -> list[dict[str, Any]]:
    parameters: list[dict[str, Any]] = [
        {
            "name": each.name,
            "in": "query",
            "required": each.required,
            "description": each.description,
            "schema": each.schema,
        }
        for each in call.query
    ]
    if call.free_query is not None:
        schema = {"type": "object", "additionalProperties": {"type": "string"}}
        parameters.append(
            {
                "name": "features",
                "in": "query",
                "description": call.free_query,
                "schema": schema,
                "style": "form",
                "explode": True,
            }
        )
    return parameters


def _in_header(call: Call) -> list[dict[str, Any]]:
    if not call.idempotent:
        return []
    schema = {"type": "string", "minLength": 1, "maxLength": LONGEST_IDEMPOTENCY_KEY}
    says = "a repeated request with the same key gets the same quote"
    return [{"name": "Idempotency-Key", "in": "header", "description": says, "schema": schema}]


def _responses(call: Call, by_type: dict[int, Any], links: dict[str, Any]) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    for status, kind in call.answers.items():
        content = {kind: {"schema": {"type": "string"}}} if isinstance(kind, str) else _json(by_type[id(kind)])
        answers[str(status)] = {"description": _STATUS_TEXTS[status], "content": content}
        if links:
            answers[str(status)]["links"] = links
    for status, says in {**{status: _STATUS_TEXTS[status] for status in _refusals(call)}, **call.refusals}.items():
        answers[str(status)] = {"description": says, "content": _json(by_type[id(ErrorBody)])}
        if status in (429, 503):
            answers[str(status)]["headers"] = {"Retry-After": {"schema": {"type": "integer"}}}
    return dict(sorted(answers.items()))


def _refusals(call: Call) -> list[int]:
    """The statuses of refusals that come before the call itself."""
    statuses = [429, 500]
    if call.roles:
        statuses += [401, 403]
    if call.body is not None:
        statuses += [400, 413, 422]
    elif call.query or call.free_query:
        statuses += [422]
    return statuses


def _json(schema: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
