"""Outcomes on their way to the store, apart from quotes: a queue, transactions and a connection of their own.

An outcome is part of a customer's record, and none may decide whether a later quote is stored.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

from hushprice.service.quoting.group_write import Answers, send_answers, write_each
from hushprice.service.store.protocol import QuoterStore, StoreUnavailable
from hushprice.service.store.values import NewOutcome, OutcomeAnswer

_Item = tuple[NewOutcome, "asyncio.Future[OutcomeAnswer]", float]


class OutcomeQueue:
    """The event loop puts and gives up; the writer's thread tells, and alone uses the store."""

    def __init__(self, store: QuoterStore, loop: asyncio.AbstractEventLoop) -> None:
        self.store = store
        self._loop = loop
        self._waiting: deque[_Item] = deque()
        self._at_store: list[_Item] = []

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def since(self) -> float:
        """When the first of those came that the store is being told; 0: it is told nothing."""
        return next((came for _, _, came in self._at_store), 0.0)

    def put(self, outcome: NewOutcome, *, away: bool) -> asyncio.Future[OutcomeAnswer]:
        """Store an outcome; StoreUnavailable where the store is away."""
        future: asyncio.Future[OutcomeAnswer] = self._loop.create_future()
        if away:
            future.set_exception(StoreUnavailable("away"))
        else:
            self._waiting.append((outcome, future, time.monotonic()))
        return future

    def give_up(self) -> None:
        """Let none wait for a store that hangs."""
        for _, future, _ in (*self._at_store, *self._waiting):
            if not future.done():
                future.set_exception(StoreUnavailable("the store does not answer"))

    def tell(self, most: int, *, refuse: bool, failed: Callable[[StoreUnavailable], None]) -> int:
        """Do one transaction with outcomes that wait, or refuse them; returns how many were taken."""
        taken = [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]
        problem = StoreUnavailable("away")
        answers: Answers = [(future, problem) for _, future, _ in taken]
        if not refuse:
            self._at_store = taken
            try:
                told = write_each(lambda items: self.store.write([], items)[1], [outcome for outcome, _, _ in taken])
                answers = [(future, answer) for (_, future, _), answer in zip(taken, told, strict=True)]
            except StoreUnavailable as reason:
                failed(reason)
            finally:
                self._at_store = []
        send_answers(self._loop, answers)
        return len(taken)
