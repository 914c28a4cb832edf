"""One request and its answer, and the calls of auditors and admins, which are no more than that."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import quote as percent_encoded
from urllib.parse import urlencode

import msgspec

from hushprice.client.connection import HttpAnswer, ThreadConnections
from hushprice.client.problems import ServiceAway, refusal
from hushprice.errors import InvalidInput

Kind = TypeVar("Kind")
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0  # seconds between two tries: doubled each time, drawn below that


def until_answered(call: Callable[[], Kind], seconds: float) -> Kind:
    """The answer to a call that may be sent again; ServiceAway where there is none for so many seconds."""
    end, pause = time.monotonic() + seconds, _FIRST_PAUSE
    while True:
        try:
            return call()
        except ServiceAway as away:
            # drawn from the whole range: shops that lost the service together do not come back together
            wait = max(away.retry_after, random.uniform(0.0, pause))
            if time.monotonic() + wait >= end:
                raise
            time.sleep(wait)
            pause = min(2.0 * pause, _LONGEST_PAUSE)


class Calls:
    """Everything but quotes and outcomes: sent once, and the answer as it came."""

    def __init__(self, url: str, key: str, timeout: float) -> None:
        if not 0 < timeout < float("inf"):
            raise InvalidInput(f"timeout must be positive and finite, got {timeout!r}")
        if not (key and key.isascii() and key.isprintable()):
            raise InvalidInput("key must be printable ASCII; its value is not shown")
        self._connections = ThreadConnections(url)
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self._timeout = timeout

    # auditors, and anyone where the page is open

    def privacy(self, product: str | None = None) -> dict[str, Any]:
        """What was promised, proven and spent: of one product, or of all with the customer's total."""
        return self._call("GET", "/v1/privacy" if product is None else _path(product, "/privacy"))

    def certificate(self, product: str) -> dict[str, Any]:
        """The newest signed certificate; `hushprice verify` checks it."""
        return self._call("GET", _path(product, "/certificate"))

    def report(self, product: str) -> dict[str, Any]:
        """Releases, versions, and what was changed by hand."""
        return self._call("GET", _path(product, "/report"))

    def health(self, product: str) -> dict[str, Any]:
        """Whether the model fits and prices pay, from releases (policy cautious)."""
        return self._call("GET", _path(product, "/health"))

    def prices(self, product: str, **choice: str | int) -> dict[str, Any]:
        """The price map over two features: x=, y= and steps=."""
        return self._call("GET", _path(product, "/prices") + _query(choice))

    def demand(self, product: str, **attributes: str | bool | float) -> dict[str, Any]:
        """The demand curve believed in, with its band, for customers with these attributes."""
        return self._call("GET", _path(product, "/demand") + _query(attributes))

    def products(self) -> Any:
        """Every product's public side."""
        return self._call("GET", "/v1/products")

    def product(self, name: str) -> dict[str, Any]:
        """One product's public side."""
        return self._call("GET", _path(name))

    # admins

    def create_product(self, **spec: Any) -> dict[str, Any]:
        """A new product; the fields are those of POST /v1/products in docs/reference/http.md."""
        return self._call("POST", "/v1/products", spec)

    def freeze(self, product: str) -> dict[str, Any]:
        """Quote the reference price from now on."""
        return self._call("POST", _path(product, "/freeze"))

    def resume(self, product: str) -> dict[str, Any]:
        """Quote learned prices again."""
        return self._call("POST", _path(product, "/resume"))

    def set_rules(self, product: str, **rules: float | None) -> dict[str, Any]:
        """Replace the price rules: floor, ceiling, largest_step, ladder."""
        return self._call("PUT", _path(product, "/rules"), rules)

    def set_reference_price(self, product: str, price: float) -> dict[str, Any]:
        """Replace the reference price, in currency."""
        return self._call("PUT", _path(product, "/reference-price"), {"price": price})

    def forget(self, customer: str) -> dict[str, Any]:
        """Delete a customer; the answer says what remains where."""
        return self._call("POST", "/v1/customers/forget", {"customer": customer})

    def figures(self, product: str) -> dict[str, Any]:
        """Raw figures for the operator's eyes: needs the operator port's address and an admin key."""
        return self._call("GET", f"/v1/operator{_path(product, '/figures').removeprefix('/v1')}")

    def _send(self, method: str, path: str, body: object = None, extra: dict[str, str] | None = None) -> HttpAnswer:
        """One request; ServiceAway where the service is not itself, Refused where it says no."""
        answer = self._connections.send(
            method,
            path,
            body=None if body is None else msgspec.json.encode(body),
            headers={**self._headers, **(extra or {})},
            timeout=self._timeout,
        )
        if answer.status >= 500 or answer.status == 429:
            raise ServiceAway(f"the pricing service answered {answer.status}", retry_after=answer.retry_after)
        if answer.status >= 300:
            raise refusal(answer.status, answer.body, outcome=path.startswith("/v1/quotes/"))
        return answer

    def _call(self, method: str, path: str, body: object = None) -> Any:
        return read(self._send(method, path, body), Any)


def read(answer: HttpAnswer, kind: type[Kind]) -> Kind:
    """The body as a value; what cannot be read is no answer of this service."""
    try:
        return msgspec.json.decode(answer.body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise ServiceAway(f"the pricing service answered {answer.status} with a body that cannot be read") from problem


def _path(product: str, rest: str = "") -> str:
    return f"/v1/products/{percent_encoded(product, safe='')}{rest}"


def _query(choice: Mapping[str, object]) -> str:
    texts = {name: str(value).lower() if isinstance(value, bool) else value for name, value in choice.items()}
    return "?" + urlencode(texts) if texts else ""
