"""The application: calls of the table behind a router, the two hot ones past it, errors in one shape everywhere."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hushprice.service.http import openapi
from hushprice.service.http.call import Answer, Call, CheckedRequest
from hushprice.service.http.endpoint import Endpoint, Receive, Scope, Send, error_answer, send_answer
from hushprice.service.http.page_files import page_routes
from hushprice.service.quoting.service_state import Service
from hushprice.service.shared import problems, request_ids

_QUOTES = "/v1/quotes"
_OUTCOME = "/outcome"
_ID = slice(len(_QUOTES) + 1, len(_QUOTES) + 33)
_LENGTH = len(_QUOTES) + 33 + len(_OUTCOME)


class Application:
    """ASGI. Quotes and outcomes are most requests by far, so they skip the router."""

    def __init__(self, service: Service, calls: Sequence[Call]) -> None:
        self._service = service
        endpoints = {(call.method, call.path): Endpoint(call, service) for call in calls}
        self._quote = endpoints.get(("POST", _QUOTES))
        self._outcome = endpoints.get(("POST", f"{_QUOTES}/{{id}}{_OUTCOME}"))
        document = _document_call(calls)
        routes = [Route(call.path, endpoints[call.method, call.path], methods=[call.method]) for call in calls]
        routes.append(Route(document.path, Endpoint(document, service), methods=["GET"]))
        routes.extend(page_routes(service.visitor_queues.reads))
        self._routes = routes
        self._router = Starlette(
            routes=routes,
            exception_handlers={HTTPException: self._unrouted},  # type: ignore[dict-item]
        )
        self._router.router.redirect_slashes = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request_ids.begin(scope["headers"])
        if scope["type"] == "http" and scope["method"] == "POST":
            path: str = scope["path"]
            if path == _QUOTES and self._quote is not None:
                await self._quote(scope, receive, send)
                return
            if len(path) == _LENGTH and path.endswith(_OUTCOME) and path.startswith(_QUOTES + "/") and self._outcome:
                scope["path_params"] = {"id": path[_ID]}
                await self._outcome(scope, receive, send)
                return
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
            return
        await self._router(scope, receive, send)

    async def _unrouted(self, request: Request, problem: HTTPException) -> Response:
        """The answer where the router refuses: a path or a method that is not there."""
        refusals = {
            404: problems.no_such_path(),
            405: problems.other_method(", ".join(self._allowed(request.scope["path"]))),
        }
        wait = await self._service.visitor_queues.reads.wait()
        refusal = problems.too_many_visitors(wait) if wait else refusals.get(problem.status_code, problems.internal())
        answer = error_answer(refusal)
        self._service.answers.add(answer.status, of_records=False)
        return _AnswerResponse(answer)

    def _allowed(self, path: str) -> list[str]:
        """The methods of all routes at a path; the router itself names those of the first."""
        return sorted({each for route in self._routes if route.path_regex.match(path) for each in route.methods or ()})


def _document_call(calls: Sequence[Call]) -> Call:
    content = openapi.document(calls)

    async def openapi_document(service: Service, request: CheckedRequest) -> Answer:
        return Answer(200, content)

    return Call(
        method="GET",
        path="/openapi.json",
        name="openapi",
        summary="This interface",
        handler=openapi_document,
        answers={200: dict},
    )


class _AnswerResponse(Response):
    """An answer of ours as a response, which the router wants."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send_answer(send, self._answer)
