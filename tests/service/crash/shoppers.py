"""Customers who write down what they were told. What was acknowledged must be true after any crash."""

from __future__ import annotations

import random
import secrets
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from tests.service.crash.lines import Line, Unanswered
from tests.service.crash.served import Served

CEILING, CAP = 10.0, 2
WINDOW = 0.4  # seconds: releases happen all the time
_PAUSE = 0.05  # seconds before another try
PRODUCT: dict[str, Any] = {
    "currency": "EUR",
    "ceiling": CEILING,
    "contexts": 2,
    "features": "main",
    "epsilon": 5.0,
    "horizon": 20_000,
    "quote_seconds": WINDOW,
    "outcome_seconds": WINDOW,
    "holdout": 0.1,
}
CAUTIOUS: dict[str, Any] = {"conversion": 0.4, "floor": 4.0, "reference_price": 6.0, "risk": 0.1}
PATIENT = {"quote_seconds": 600.0, "outcome_seconds": 600.0}  # none of its slots is due in a test


@dataclass
class Given:
    """A quote that was acknowledged."""

    product: str
    price: float
    version: int
    customer: str | None


@dataclass
class Notes:
    """What all shoppers were told, and what they cannot know."""

    products: list[str] = field(default_factory=list)
    given: dict[str, Given] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)  # Idempotency-Key to quote
    tried: dict[str, float] = field(default_factory=dict)  # quote to the demand somebody tried to tell
    told: dict[str, tuple[float, str]] = field(default_factory=dict)  # quote to what was acknowledged
    forgotten: set[str] = field(default_factory=set)  # customers, acknowledged
    going: set[str] = field(default_factory=set)  # customers whom somebody tried to forget
    unanswered: int = 0  # quotes asked without a key that may be stored or not
    unrecorded: list[str] = field(default_factory=list)  # quotes of which the service said that they are not stored yet
    refused: int = 0  # outcomes, and quotes asked with a key, that got 503
    wrong: list[str] = field(default_factory=list)

    def check(self, holds: bool, what: str) -> None:
        if not holds:
            self.wrong.append(what)


class Shopper(threading.Thread):
    """One after another: a quote, its outcome, sometimes either of them again."""

    def __init__(self, served: Served, notes: Notes, seed: int) -> None:
        super().__init__(name=f"shopper-{seed}", daemon=True)
        self._notes = notes
        self._random = random.Random(seed)
        self._line, self._admin = served.line("shop"), served.line("admin")
        self._leaving = threading.Event()

    def leave(self) -> None:
        """End after what is at hand; who waits for an answer waits on."""
        self._leaving.set()

    def run(self) -> None:
        try:
            while not self._leaving.is_set():
                self._visit()
        except Exception as problem:  # a shopper who gave up would hide what happened
            self._notes.wrong.append(f"a shopper failed: {problem!r}")
        finally:
            self._line.close()
            self._admin.close()

    def _visit(self) -> None:
        product = self._random.choice(self._notes.products[-4:])
        customer = self._customer(product)
        number = self._quote(product, customer)
        if number is None:
            return
        chance = self._random.random()
        if customer is not None and customer.startswith("gone"):
            self._forget(customer)
        elif chance < 0.85:
            time.sleep(self._random.choice((0.0,) * 7 + (0.01, WINDOW)))
            self._tell(number, float(self._random.random() < 0.4))
        if chance < 0.2 and self._notes.told:
            self._tell_again()

    def _customer(self, product: str) -> str | None:
        if not product.startswith("capped"):
            return None
        if self._random.random() < 0.05:
            return f"gone-{secrets.token_hex(4)}"
        return f"customer-{self._random.randrange(300)}"

    def _quote(self, product: str, customer: str | None) -> str | None:
        body: dict[str, Any] = {"product": product, "context": [self._random.uniform(-1, 1) for _ in range(2)]}
        if customer is not None:
            body["customer"] = customer
        if self._random.random() < 0.5:
            return self._quote_once(body)
        key = secrets.token_hex(8)
        number = self._quote_by_key(body, key)
        if number is not None and self._random.random() < 0.3:
            self._quote_by_key(body, key)
        return number

    def _quote_once(self, body: dict[str, Any]) -> str | None:
        try:
            status, answer = self._line.call("POST", "/v1/quotes", body)
        except Unanswered:
            self._notes.unanswered += 1
            time.sleep(_PAUSE)
            return None
        return self._noted(status, answer, body)

    def _quote_by_key(self, body: dict[str, Any], key: str) -> str | None:
        """Asked until it is answered: two answers are one quote."""
        status, answer = self._insist(self._line, "/v1/quotes", body, idempotency_key=key)
        number = self._noted(status, answer, body)
        if number is not None:
            known = self._notes.keys.setdefault(key, number)
            self._notes.check(known == number, f"one Idempotency-Key got two quotes, the second with status {status}")
        return number

    def _noted(self, status: int, answer: Any, body: dict[str, Any]) -> str | None:
        if status not in (200, 201):
            self._notes.wrong.append(f"a quote got status {status}")
            return None
        if not answer["recorded"]:
            self._notes.unrecorded.append(answer["id"])
            time.sleep(_PAUSE)  # what the service keeps while the store is away is limited
            return None
        new = Given(answer["product"], answer["price"], answer["version"], body.get("customer"))
        known = self._notes.given.setdefault(answer["id"], new)
        self._notes.check(known == new, "one quote was shown in two ways")
        return str(answer["id"])

    def _tell(self, number: str, demand: float) -> None:
        """Told until it is acknowledged."""
        demand = self._notes.tried.setdefault(number, demand)
        path, body = f"/v1/quotes/{number}/outcome", {"purchased": bool(demand)}
        status, answer = self._insist(self._line, path, body)
        if status not in (200, 202):
            self._notes.wrong.append(f"an outcome of an acknowledged quote got status {status}")
            return
        known, again = self._notes.told.get(number), (demand, answer["status"])
        self._notes.check(known is None or known == again, "an outcome's answer changed")
        self._notes.check(known is None or answer["repeat"], "an acknowledged outcome was taken a second time")
        self._notes.told[number] = again

    def _tell_again(self) -> None:
        number = self._random.choice(list(self._notes.told)[-2000:])
        demand = self._notes.told[number][0]
        if self._random.random() < 0.7:
            self._tell(number, demand)
        else:
            path = f"/v1/quotes/{number}/outcome"
            status, _ = self._insist(self._line, path, {"purchased": not demand})
            self._notes.check(status == 409, f"a second, other outcome got status {status}")

    def _forget(self, customer: str) -> None:
        self._notes.going.add(customer)
        status, _ = self._insist(self._admin, "/v1/customers/forget", {"customer": customer})
        self._notes.check(status == 200, f"forgetting a customer got status {status}")
        self._notes.forgotten.add(customer)

    def _insist(self, line: Line, path: str, body: Any, **headers: str) -> tuple[int, Any]:
        """Until there is an answer; only for what may be asked twice."""
        while True:
            try:
                status, answer = line.call("POST", path, body, **headers)
            except Unanswered:
                time.sleep(_PAUSE)
                continue
            if status != 503:
                return status, answer
            time.sleep(_PAUSE)


def add_product(served: Served, notes: Notes, kind: str, **changes: Any) -> str:
    """`kind` is plain, capped, or cautious."""
    name = f"{kind}-{len(notes.products)}"
    more = {"capped": {"records_per_customer": CAP}, "cautious": CAUTIOUS}.get(kind, {})
    line, status = served.line("admin"), 503
    while status == 503:  # a database that has just come back
        status, answer = line.call("POST", "/v1/products", {**PRODUCT, "name": name, **more, **changes})
    assert status in (201, 409), answer  # 409: the first try was stored, and its answer never came
    while line.call("GET", f"/v1/products/{name}")[0] != 200:
        time.sleep(_PAUSE)
    line.close()
    notes.products.append(name)
    return name
