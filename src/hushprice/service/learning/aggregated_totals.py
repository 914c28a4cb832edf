"""The totals of a batch from the two aggregators: which reports both have, and what both publish of these.

Asked again after a failure, or by a learner that was restored, they answer the same. What is not what was asked for,
or is not signed by whom the product names, is refused: the batch then stays open, and nothing is learned.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Sequence
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from hushprice.errors import HushpriceError
from hushprice.service.shared.aggregator_messages import Agreed, BatchOver, Received, Total, digest_of, ids_of
from hushprice.service.shared.product import AggregatorAddress
from hushprice.trust import shares

TIMEOUT = 5.0  # seconds that nothing may come
DEADLINE = 60.0  # seconds for a whole answer: its product waits, and who sends drop by drop never falls silent
_LARGEST = 160 * 1024 * 1024
_Answered = TypeVar("_Answered")


class TotalsNotOut(HushpriceError):
    """An aggregator did not answer, or not with what was asked for."""


class Totals(NamedTuple):
    """What both published, and of how many reports."""

    first: list[int]
    second: list[int]
    reports: int


def collect(both: Sequence[AggregatorAddress], batch: BatchOver) -> Totals:
    """The two totals of a batch that is over."""
    received = [set(ids_of(_ask(each, "/v1/batches", batch, Received).quotes)) for each in both]
    agreed = [quote for quote in ids_of(batch.quotes) if all(quote in each for each in received)]
    asked = Agreed(product=batch.product, batch=batch.name, quotes=b"".join(agreed).hex())
    first, second = (_total(each, asked) for each in both)
    return Totals(first, second, len(agreed))


def _total(aggregator: AggregatorAddress, asked: Agreed) -> list[int]:
    total = _ask(aggregator, "/v1/totals", asked, Total)
    if (total.product, total.batch, total.agreed) != (asked.product, asked.batch, digest_of(asked.quotes)):
        raise TotalsNotOut("an aggregator published a total of something else")
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(aggregator.key))
        key.verify(bytes.fromhex(total.signature), total.signed())
    except (InvalidSignature, ValueError):
        raise TotalsNotOut("a total is not signed by the aggregator that the product names") from None
    return shares.read(total.words)


def _ask(aggregator: AggregatorAddress, path: str, body: Any, kind: type[_Answered]) -> _Answered:
    address = urlsplit(aggregator.url.rstrip("/") + path)
    connect = HTTPSConnection if address.scheme == "https" else HTTPConnection
    connection = connect(address.netloc, timeout=TIMEOUT)
    end = threading.Timer(DEADLINE, _cut, (connection,))
    end.daemon = True
    end.start()
    try:
        connection.request("POST", address.path, msgspec.json.encode(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        if answer.status != 200:
            raise ValueError(answer.status)
        return msgspec.json.decode(answer.read(_LARGEST), type=kind)
    except (OSError, ValueError, HTTPException) as problem:
        raise TotalsNotOut(f"an aggregator did not answer as it should: {type(problem).__name__}") from None
    finally:
        end.cancel()
        connection.close()


def _cut(connection: HTTPConnection) -> None:
    """End what waits for this connection."""
    if connection.sock is not None:
        with contextlib.suppress(OSError):
            connection.sock.shutdown(socket.SHUT_RDWR)
