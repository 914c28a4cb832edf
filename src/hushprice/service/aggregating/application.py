"""An aggregator's calls: plain ASGI, JSON in and out, and one thread that has the store."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hushprice.errors import InvalidInput
from hushprice.privacy.certificates.signing import public_half
from hushprice.service.aggregating.aggregator_store import AggregatorStore, NotAgreed
from hushprice.service.http.call import Answer
from hushprice.service.http.endpoint import Receive, Scope, Send, decode_body, error_answer, log_failure, send_answer
from hushprice.service.shared import problems, request_ids
from hushprice.service.shared.aggregator_messages import AggregatorFacts, Agreed, BatchOver, Received, Share, Total
from hushprice.service.shared.problems import Problem

LARGEST_SHARE, LARGEST_BATCH = 64 * 1024, 160 * 1024 * 1024  # bytes: of a record, and of 2^22 ids
MOST_HELD = 2 * LARGEST_BATCH  # bytes of all batches that are being read: anybody may send one
USUAL = 64 * 1024  # bytes of a batch that is read whatever others hold: two thousand ids


class _AggregatorCall(NamedTuple):
    decode: Callable[[Any], Any]
    largest: int
    handle: Callable[[Any], object]


class AggregatorApplication:
    """ASGI. Nobody logs in: see aggregator_messages.py."""

    def __init__(self, store: AggregatorStore, key: Ed25519PrivateKey) -> None:
        self._store = store
        self._key = key
        self._thread = ThreadPoolExecutor(1, "hushprice-aggregator")
        self._held = 0  # bytes of batches
        self._facts = AggregatorFacts(public_half(key), store.promises)
        self._calls = {
            "/v1/shares": _AggregatorCall(msgspec.json.Decoder(Share).decode, LARGEST_SHARE, store.receive),
            "/v1/batches": _AggregatorCall(msgspec.json.Decoder(BatchOver).decode, LARGEST_BATCH, self._over),
            "/v1/totals": _AggregatorCall(msgspec.json.Decoder(Agreed).decode, LARGEST_BATCH, self._publish),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1000})
            return
        request_ids.begin(scope["headers"])
        try:
            answer = Answer(200, await self._answered(scope, receive))
        except Problem as problem:
            answer = error_answer(problem)
        except InvalidInput as problem:  # names fields and public bounds
            answer = error_answer(problems.invalid(str(problem).split(" ", 1)[0], str(problem)))
        except NotAgreed as problem:
            answer = error_answer(Problem(409, "conflict", str(problem)))
        except (sqlite3.OperationalError, OSError) as problem:  # a full disk, or a file that another program has locked
            log_failure(scope["path"], problem)
            answer = error_answer(problems.store_away())
        except Exception as problem:
            log_failure(scope["path"], problem)
            answer = error_answer(problems.internal())
        await send_answer(send, answer)

    async def _answered(self, scope: Scope, receive: Receive) -> object:
        method, path = scope["method"], scope["path"]
        allowed = "GET" if path == "/v1/aggregator" else "POST" if path in self._calls else None
        if allowed is None:
            raise problems.no_such_path()
        if method != allowed:
            raise problems.other_method(allowed)
        if allowed == "GET":
            return self._facts
        call = self._calls[path]
        body, held, of_batch = bytearray(), 0, call.largest > LARGEST_SHARE
        try:
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Problem(400, "incomplete", "the request ended before its body did")
                piece = message.get("body", b"")
                body += piece
                held += len(piece) * of_batch
                self._held += len(piece) * of_batch
                if len(body) > call.largest:
                    raise problems.too_large(call.largest)
                if held > USUAL and self._held > MOST_HELD:
                    raise Problem(429, "busy", "too many batches at once; try again", headers={"retry-after": "1"})
                if not message.get("more_body"):
                    break
            asked = decode_body(call.decode, body)
            del body  # a batch's is long, and may wait for others
            return await asyncio.get_running_loop().run_in_executor(self._thread, call.handle, asked)
        finally:
            self._held -= held

    def _over(self, batch: BatchOver) -> Received:
        return Received(quotes=self._store.over(batch))

    def _publish(self, asked: Agreed) -> Total:
        agreed, words = self._store.publish(asked)
        total = Total(product=asked.product, batch=asked.batch, agreed=agreed, words=words)
        return msgspec.structs.replace(total, signature=self._key.sign(total.signed()).hex())
