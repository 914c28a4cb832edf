"""Quotes, outcomes and releases for the store's tests."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np

from hushprice.service.store.protocol import GRACE, LearnerStore, QuoterStore
from hushprice.service.store.values import LearnerState, NewOutcome, NewQuote, OutcomeAnswer, QuoteAnswer, StoredRelease

PRODUCT = "jacket"
HOLDER = "learner-1"
CONTEXT = np.array([0.25, -0.5]).tobytes()


def quote(**changes: Any) -> NewQuote:
    usual: dict[str, Any] = {
        "id": secrets.token_hex(16),
        "product": PRODUCT,
        "key": "shop",
        "context": CONTEXT,
        "price": 0.5,
        "charged": "12.50",
        "expires": 2000.0,
        "version": 3,
        "holdout": False,
        "window": 10.0,
        "cap": None,
    }
    return NewQuote(**(usual | changes))


def give(store: QuoterStore, *quotes: NewQuote) -> list[QuoteAnswer]:
    return store.write(quotes, [])[0]


def given(store: QuoterStore, count: int = 1, **changes: Any) -> list[str]:
    """The ids of so many new quotes."""
    return [one.id for one in give(store, *(quote(**changes) for _ in range(count)))]


def tell(store: QuoterStore, name: str, demand: float = 1.0, key: str = "shop") -> OutcomeAnswer:
    return store.write([], [NewOutcome(name, key, demand)])[1][0]


def pass_time(store: QuoterStore, seconds: float, start: float = 1e6) -> float:
    """Beat by beat, none longer than GRACE; returns the clock. The first beat only says what time it is."""
    clock = store.beat(start)
    steps = int(seconds / GRACE) + 1
    for step in range(1, steps + 1):
        clock = store.beat(start + seconds * step / steps)
    return clock


def release(sequence: int, records: int, batch: int = 0, **changes: Any) -> StoredRelease:
    usual: dict[str, Any] = {
        "product": PRODUCT,
        "sequence": sequence,
        "version": sequence,
        "kind": "score",
        "records": records,
        "batch": batch,
        "numbers": np.array([1.0, sequence]).tobytes(),
        "belief": b'{"version": %d}' % sequence,
        "at": 1000.0 + sequence,
    }
    return StoredRelease(**(usual | changes))


def state(learned: int, sequence: int = 0, **changes: Any) -> LearnerState:
    usual: dict[str, Any] = {"product": PRODUCT, "state": b"sums", "ledger": b"{}"}
    return LearnerState(learned=learned, sequence=sequence, **(usual | changes))


def learn(store: LearnerStore, learned: int, *releases: StoredRelease, sequence: int = 0) -> None:
    store.take_lease(HOLDER, 1000.0)
    last = releases[-1].sequence if releases else sequence
    store.commit(HOLDER, state(learned, last), releases, 1000.0)
