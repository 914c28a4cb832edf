"""The two aggregators that a customer's device sends its shares to, past the shop."""

from __future__ import annotations

import time

import msgspec

from hushprice.client.answers import Outcome
from hushprice.client.calls import read, until_answered
from hushprice.client.connection import ThreadConnections
from hushprice.client.device import DeviceShares
from hushprice.client.problems import ServiceAway, refusal
from hushprice.errors import InvalidInput
from hushprice.trust.shares import is_safe


class Aggregators:
    """Who they are is for the customer to know, from somewhere other than the shop: one of them has to be honest."""

    def __init__(self, first: str, second: str, *, timeout: float = 5.0, deadline: float = 60.0) -> None:
        if first.rstrip("/") == second.rstrip("/"):
            raise InvalidInput("aggregators must be two different ones: who has both shares has the record")
        for url in (first, second):
            if not is_safe(url):
                raise InvalidInput(f"an aggregator must be at https://..., or on this machine, got {url!r}")
        self._both = ThreadConnections(first), ThreadConnections(second)
        self._timeout = timeout
        self._deadline = deadline

    def send(self, report: DeviceShares | None) -> Outcome:
        """Send each its share, again and again until both have it or `deadline` seconds have passed: then ServiceAway.

        To send once more later is safe. "late" is a batch that was over: the record is left out, and nothing is lost
        but that. Where one alone has got its share, it is noise, and stays out too.
        """
        if report is None:
            return Outcome("not told")
        told = {name: getattr(report, name) for name in ("product", "quote", "choice", "least", "most", "grids")}
        end = time.monotonic() + self._deadline
        answers = [
            self._send(connections, msgspec.json.encode(told | {"words": words}), end)
            for connections, words in zip(self._both, (report.first, report.second), strict=True)
        ]
        late = any(answer.status == "late" for answer in answers)
        return Outcome("late" if late else "recorded", all(answer.repeat for answer in answers))

    def close(self) -> None:
        """Close every connection."""
        for each in self._both:
            each.close()

    def _send(self, connections: ThreadConnections, share: bytes, end: float) -> Outcome:
        return until_answered(lambda: self._send_once(connections, share), end - time.monotonic())

    def _send_once(self, connections: ThreadConnections, body: bytes) -> Outcome:
        headers = {"Content-Type": "application/json"}
        answer = connections.send("POST", "/v1/shares", body=body, headers=headers, timeout=self._timeout)
        if answer.status >= 500 or answer.status == 429:
            raise ServiceAway(f"the aggregator answered {answer.status}", retry_after=answer.retry_after)
        if answer.status >= 300:
            raise refusal(answer.status, answer.body)
        return read(answer, Outcome)

    def __repr__(self) -> str:
        return "Aggregators(...)"
