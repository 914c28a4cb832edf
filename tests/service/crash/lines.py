"""Connections to the service, by the standard library: quick, and clear about what was not answered."""

from __future__ import annotations

import http.client
import json
import select
from typing import Any


class Unanswered(Exception):
    """No answer came: what was asked may have happened or not."""


class Line:
    """One connection, made anew after it broke."""

    def __init__(self, port: int, key: str | None = None) -> None:
        self._key = key
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60.0)

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if self._key is not None:
            given["authorization"] = f"Bearer {self._key}"
        text = None if body is None else json.dumps(body)
        if self._has_ended():
            self._connection.close()
        try:
            self._connection.request(method, path, text, given)
            answer = self._connection.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError) as problem:
            self._connection.close()
            raise Unanswered(type(problem).__name__) from None

    def _has_ended(self) -> bool:
        """Has the service hung up? It keeps an idle connection for a while only, and a slow test may take longer."""
        kept = self._connection.sock
        return kept is not None and bool(select.select([kept], [], [], 0)[0])

    def close(self) -> None:
        self._connection.close()
