"""What the server itself refuses, before a call is known: answers in the one shape, ready to be sent."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

import msgspec

from hushprice.service.shared.problems import Complaint, ErrorBody


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that ends a connection; `code` is also its name in the log and among the figures."""

    status: int
    code: str
    message: str

    def answer(self) -> bytes:
        """The answer's bytes, head and body."""
        body = msgspec.json.encode(ErrorBody(Complaint(self.code, self.message)))
        again = "retry-after: 1\r\n" if self.status == 503 else ""
        head = (
            f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\n{again}connection: close\r\n\r\n"
        )
        return head.encode() + body


NOT_HTTP = Refusal(400, "invalid_http", "this is no HTTP that can be read")
NO_HOST = Refusal(400, "invalid_http", "a request of HTTP/1.1 must have one line with its host")
TARGET = Refusal(414, "target_too_long", "the path and query are too long")
HEAD = Refusal(431, "head_too_large", "the head of the request has too many bytes or lines")
SLOW_HEAD = Refusal(408, "slow_head", "the head of the request took too long")
SLOW_BODY = Refusal(408, "slow_body", "the body of the request took too long")
FULL = Refusal(503, "too_many_connections", "too many connections; try again")
DISPLACED = Refusal(503, "displaced", "too many connections, and this one waited longest; try again")
UNREAD = Refusal(503, "unread", "answers were not read")  # never sent: nobody reads
ALL = (NOT_HTTP, TARGET, HEAD, SLOW_HEAD, SLOW_BODY, FULL, DISPLACED, UNREAD)
