"""From bytes to a call and back: key, rate limit, body, handler, answer. Every error leaves in the one shape.

Plain ASGI rather than a framework's request and response objects: a quote must be quick.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any

import msgspec

from hushprice.service.http import peer
from hushprice.service.http.call import JSON, Answer, Call, CheckedRequest
from hushprice.service.shared import problems
from hushprice.service.shared.logs import kind_and_place
from hushprice.service.shared.problems import ErrorBody, Problem
from hushprice.service.shared.rate_limits import Bucket
from hushprice.service.shared.request_ids import current
from hushprice.service.store.protocol import StoreUnavailable
from hushprice.service.store.values import ApiKey

if TYPE_CHECKING:
    from hushprice.service.quoting.service_state import Service

LARGEST_BODY = 256 * 1024
LONGEST_IDEMPOTENCY_KEY = 200
STALE = 1.0  # seconds that a body may take before its key is looked up again

log = logging.getLogger("hushprice.service")
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_encode = msgspec.json.Encoder().encode
# Nothing here is for a cache to keep, and no browser should guess what a body is.
_HEADERS = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))


class Endpoint:
    """An ASGI application for one call."""

    def __init__(self, call: Call, service: Service) -> None:
        self._call = call
        self._service = service
        self._handler = call.handler
        self._roles = call.roles
        self._tells = call.takes == "outcomes"
        self._of_records = call.of_records
        queues = service.visitor_queues
        health = not call.roles and call.tag == "health"
        self._queue = queues.of_records if call.of_records else queues.health if health else queues.reads
        self._decode = None if call.body is None else (call.decoder or msgspec.json.Decoder(call.body)).decode
        self._changes = call.method != "GET" and call.roles == ("admin",)
        self._counts_as_use = call.takes != "outcomes"  # a key's last use must not tell of a purchase
        self._needs_key = bool(call.roles) and not (call.reads and service.settings.open_page)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            answer = await self._answer(scope, receive)
        except Problem as problem:
            answer = error_answer(problem)
        except StoreUnavailable:
            answer = error_answer(problems.store_away())
        except Exception as problem:
            log_failure(self._call.name, problem)
            answer = error_answer(problems.internal())
        self._service.answers.add(answer.status, of_records=self._of_records)
        await send_answer(send, answer)

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        started = time.perf_counter()
        api_key = length = idempotency = None
        for name, value in scope["headers"]:
            if name == b"authorization":
                api_key = value[7:].strip() if value[:7].lower() == b"bearer " else b""
            elif name == b"x-api-key":
                api_key = value if api_key is None else api_key
            elif name == b"content-length":
                length = value
            elif name == b"idempotency-key":
                idempotency = value
        service = self._service
        try:
            key = self._admit(api_key)
        except Problem:
            await self._wait_in_queue()
            raise
        if key is None:
            await self._wait_in_queue()
            started = time.perf_counter()
        elif not scope["connection"].signed(key.name, tells=self._tells):
            raise problems.too_many_connections()
        bucket = None
        if self._roles:
            bucket = self._bucket(key, scope)
            wait = bucket.limits.take(bucket.name, started)
            if wait:
                raise problems.too_many(wait)
        body = None
        if self._decode is not None:
            body = self._read(await _body(receive, length))
            if key is not None and time.perf_counter() - started > STALE:
                key = self._admit(api_key)  # it may have been removed, or got a limit
        if idempotency is not None and not 0 < len(idempotency) <= LONGEST_IDEMPOTENCY_KEY:
            raise problems.invalid("Idempotency-Key", f"must have 1 to {LONGEST_IDEMPOTENCY_KEY} characters")
        request = CheckedRequest(
            key=key,
            path=scope.get("path_params") or {},
            query=scope["query_string"],
            body=body,
            idempotency=idempotency,
            started=started,
            bucket=bucket,
        )
        answer = await self._handler(service, request)
        if self._changes and key is not None:
            log.info("%s %s by %s", self._call.name, request.path.get("name", ""), key.signature)
        return answer

    async def _wait_in_queue(self) -> None:
        wait = await self._queue.wait()
        if wait:
            raise problems.too_many_visitors(wait)

    def _bucket(self, key: ApiKey | None, scope: Scope) -> Bucket:
        """What the request takes its token from."""
        allowances = self._service.allowances
        if key is None:
            return allowances.of_visitor(peer.reader_address(scope.get("client"), scope["headers"]))
        if self._call.takes == "quotes":
            return allowances.of_quotes(key)
        if self._call.takes == "outcomes":
            return allowances.of_outcome(key, scope["path_params"]["id"])
        return allowances.of_others(key)

    def _admit(self, api_key: bytes | None) -> ApiKey | None:
        """Who asks. A key that is given must be known, also where none is needed: it is a mistake of its sender."""
        if not self._roles or (api_key is None and not self._needs_key):
            return None
        key = None if api_key is None else self._service.product_table.keyring.find(api_key)
        if key is None:
            self._service.answers.unknown_keys += not self._of_records
            raise problems.unauthorized()
        if key.role != "admin" and key.role not in self._roles and self._needs_key:
            self._service.answers.wrong_roles += not self._of_records
            raise problems.forbidden(self._roles)
        if self._counts_as_use:
            self._service.product_table.key_use.note(key)
        return key

    def _read(self, body: bytes) -> Any:
        assert self._decode is not None
        return decode_body(self._decode, body)


def decode_body(decode: Callable[[Any], Any], body: bytes | bytearray | msgspec.Raw) -> Any:
    """The message in these bytes, or a Problem that names the field."""
    try:
        return decode(body)
    except msgspec.ValidationError as problem:
        raise problems.of_validation(problem) from None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise problems.not_json() from None


async def _body(receive: Receive, length: bytes | None) -> bytes:
    """The whole body, and never much more than a body may have."""
    if length is not None and (not length.isdigit() or len(length) > 18 or int(length) > LARGEST_BODY):
        raise problems.too_large(LARGEST_BODY)
    message = await receive()
    body: bytes = message.get("body", b"")
    while message.get("more_body"):
        message = await receive()
        body += message.get("body", b"")
        if len(body) > LARGEST_BODY:
            raise problems.too_large(LARGEST_BODY)
    if message["type"] == "http.disconnect":
        raise Problem(400, "incomplete", "the request ended before its body did")
    return body


def error_answer(problem: Problem) -> Answer:
    """A problem as an answer."""
    headers = tuple((name.encode(), value.encode()) for name, value in problem.headers.items())
    return Answer(problem.status, ErrorBody(problem.complaint), JSON, headers)


async def send_answer(send: Send, answer: Answer) -> None:
    """Send an answer as ASGI messages."""
    body = answer.body if type(answer.body) is bytes else _encode(answer.body)
    length, name = b"%d" % len(body), current()
    headers = [(b"content-type", answer.kind), (b"content-length", length), (b"x-request-id", name), *_HEADERS]
    headers += answer.headers
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def log_failure(where: str, problem: Exception) -> None:
    """Say where it happened and of what kind it is. Its text is left out: a value of a customer may be in it."""
    log.error("%s failed: %s", where, kind_and_place(problem))
