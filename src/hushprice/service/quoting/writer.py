"""The thread that writes: takes everything that waits and stores it in one transaction (group commit).

While the store is away, quotes are answered at once, buffered here, and stored when it is back; outcomes are refused,
because a shop that was told "recorded" will not tell again. So are quotes with an Idempotency-Key, which may have one.
Outcomes wait apart (`outcome_queue.py`), and whether the store is away is said by quotes and beats alone.

Quotes are bounded at the door by a count of their own: were outcomes counted too, a purchase could use up the place of
a later quote, and with it that quote's slot (docs/proofs/operation.md, section 1). Outcomes are bounded by connections.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeGuard, TypeVar

from hushprice.service.quoting.group_write import Answers, send_answers, write_each
from hushprice.service.quoting.outcome_queue import OutcomeQueue
from hushprice.service.quoting.waiting_count import WaitingCount
from hushprice.service.store.protocol import QuoterStore, StoreUnavailable
from hushprice.service.store.values import NewOutcome, NewQuote, OutcomeAnswer, QuoteAnswer

BEAT = 0.5  # seconds between two beats of the service's clock
PATIENCE = 2.0  # seconds a request waits for the store before the store counts as away
FAREWELL = 3.0  # seconds that what waits has to be stored when the service ends
BUFFER = 10_000  # quotes held for the store; those beyond them are answered and not stored
CALLS = 100  # changes by an admin that wait for the store
GATHER = 0.05  # seconds that quotes which nobody waits for are gathered
LARGEST = 1_000  # items in one transaction, so that none waits for a very long one
_PAUSE = 0.2  # seconds between two tries to reach the store

log = logging.getLogger("hushprice.service")
Value = TypeVar("Value")
_Item = tuple[NewQuote | Callable[[QuoterStore], Any], "asyncio.Future[Any] | None", float]


class Writer:
    """Belongs to one event loop, which alone calls its methods; the thread alone uses the store."""

    def __init__(self, store: QuoterStore, outcome_store: QuoterStore, *, beats: bool = True) -> None:
        self._store = store
        self._beats = beats
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[_Item] = deque()
        self._outcomes = OutcomeQueue(outcome_store, self._loop)
        self._buffer: deque[NewQuote] = deque()  # used by the thread alone, except for its length
        self._oldest = 0.0  # since when the store has something to do; 0: it has nothing
        self._quotes, self._calls = WaitingCount("quotes"), WaitingCount("calls")
        self._wake = threading.Event()
        self._stopping = False
        self._gathering = False
        self._last_beat = 0.0
        self.away = False
        self._at_store: list[_Item] = []
        self._watch = self._loop.call_later(PATIENCE / 4, self._give_up_waiting)
        self._thread = threading.Thread(target=self._run, name="hushprice-writer", daemon=True)
        self._thread.start()

    @property
    def crowded(self) -> bool:
        """Are so many quotes held that who asks for another should wait for the store?"""
        return self._quotes.count > BUFFER // 2

    @property
    def buffered(self) -> int:
        """How many quotes wait for the store to come back."""
        return self._quotes.count if self.away else len(self._buffer)

    def quote(self, quote: NewQuote) -> asyncio.Future[QuoteAnswer | None]:
        """Store a quote. The future holds None where the store is away: the quote is buffered, and stands as it is.

        StoreUnavailable where it has an Idempotency-Key: only the store knows whether that has a quote already. Beyond
        BUFFER the same answers are given, and the quote is not stored.
        """
        future: asyncio.Future[QuoteAnswer | None] = self._loop.create_future()
        away = self.away
        if away and quote.idempotency is not None:
            future.set_exception(StoreUnavailable("away"))
        elif self._quotes.admit(BUFFER):
            self._put((quote, None if away else future, time.monotonic()))
            if away:
                future.set_result(None)
        elif quote.idempotency is not None:
            future.set_exception(StoreUnavailable("too much waits for it"))
        else:
            future.set_result(None)
        return future

    def quote_later(self, quote: NewQuote) -> bool:
        """Store a quote that is answered already: with others, a moment later. Returns whether it will be."""
        if not self._quotes.admit(BUFFER):
            return False
        self._waiting.append((quote, None, time.monotonic()))
        if not self._gathering:
            self._gathering = True
            self._loop.call_later(GATHER, self._gathered)
        return not self.away

    def _gathered(self) -> None:
        self._gathering = False
        self._wake.set()

    def outcome(self, outcome: NewOutcome) -> asyncio.Future[OutcomeAnswer]:
        """Store an outcome; StoreUnavailable where the store is away."""
        future = self._outcomes.put(outcome, away=self.away)
        self._wake.set()
        return future

    def call(self, work: Callable[[QuoterStore], Value]) -> asyncio.Future[Value]:
        """Do something else with the store, in the same order."""
        future: asyncio.Future[Value] = self._loop.create_future()
        if self._calls.admit(CALLS):
            self._put((work, future, time.monotonic()))
        else:
            future.set_exception(StoreUnavailable("too much waits for it"))
        return future

    async def close(self) -> bool:
        """Store what waits, then end the thread; returns whether it ended in time."""
        self._watch.cancel()
        self._stopping = True
        self._wake.set()
        await asyncio.to_thread(self._thread.join, FAREWELL)
        ended = not self._thread.is_alive()
        if not ended:
            log.error("the store hangs: the service ends with %d quotes given and not stored", self._quotes.count)
        return ended

    def _put(self, item: _Item) -> None:
        self._waiting.append(item)
        if not self._wake.is_set():
            self._wake.set()

    def _give_up_waiting(self) -> None:
        """Let nobody wait for a store that hangs: answers go out, and the thread keeps what it has in hand."""
        self._watch = self._loop.call_later(PATIENCE / 4, self._give_up_waiting)
        before = time.monotonic() - PATIENCE
        oldest = self._oldest or self._held_up()
        if 0.0 < oldest < before or 0.0 < self._outcomes.since < before:
            self._outcomes.give_up()
        if 0.0 < oldest < before:
            self._set_away(StoreUnavailable(f"no answer for {PATIENCE:g} s"))
            for item, future, _ in (*self._at_store, *self._waiting):
                if future is not None and not future.done():
                    if _is_given_anyway(item):
                        future.set_result(None)
                    else:
                        future.set_exception(StoreUnavailable("the store does not answer"))

    def _held_up(self) -> float:
        """Since when a quote waits while outcomes are at the store; 0: none does."""
        try:
            return self._waiting[0][2] if self._outcomes.since else 0.0
        except IndexError:
            return 0.0

    # What follows runs in the thread.

    def _run(self) -> None:
        while True:
            self._wake.wait(BEAT / 2)
            self._wake.clear()
            outcomes = len(self._outcomes)  # counted first: the quotes they are about are among those that wait
            remaining = len(self._waiting)  # who comes later wakes this thread again, or is in no hurry
            while remaining > 0:
                remaining -= self._step()
                self._beat()
            while outcomes > 0:  # not while their quotes may be in the buffer
                refuse = bool(self.away or self._buffer)
                outcomes -= self._outcomes.tell(LARGEST, refuse=refuse, failed=self._log_refused)
                self._beat()
            if self._buffer or self.away:
                self._retry()
            self._beat()
            if self._stopping and not self._waiting and not self._outcomes:
                break
        if self._buffer:
            log.error("%d quotes were given and not stored: the store is away", len(self._buffer))
        self._store.close()
        self._outcomes.store.close()

    def _step(self) -> int:
        """Do one transaction with all that waits, or one call; returns how many items were taken."""
        taken: list[_Item] = []
        while self._waiting and len(taken) < LARGEST:
            if callable(self._waiting[0][0]) and taken:
                break
            taken.append(self._waiting.popleft())
            if callable(taken[0][0]):
                break
        self._at_store = taken
        if self._buffer:
            self._retry()  # slots in the order of the quotes; and who is to be forgotten may be among them
        if self.away and (self._buffer or not callable(taken[0][0])):
            self._answer(taken, StoreUnavailable("away"))
            self._at_store = []
            return len(taken)
        self._oldest = taken[0][2]
        try:
            work = taken[0][0]
            results = [work(self._store)] if callable(work) else self._write([item for item, _, _ in taken])
            self._set_away(None)
            self._answer(taken, results)
        except Exception as problem:
            if isinstance(problem, StoreUnavailable):
                self._set_away(problem)
            self._answer(taken, problem)
        finally:
            self._at_store, self._oldest = [], 0.0
        return len(taken)

    def _write(self, quotes: Sequence[Any]) -> list[Any]:
        return write_each(lambda items: self._store.write(items, [])[0], quotes)

    def _log_refused(self, problem: StoreUnavailable) -> None:
        """Outcomes could not be stored. No quote notices, and nobody is told how many: that would be a release."""
        log.warning("outcomes were refused: %s", problem)

    def _answer(self, taken: list[_Item], results: Sequence[Any] | Exception) -> None:
        """Tell those who wait, in one step of the event loop. Quotes of a failed write are kept."""
        answers: Answers = []
        for index, (item, future, _) in enumerate(taken):
            result = results if isinstance(results, Exception) else results[index]
            if isinstance(result, StoreUnavailable) and _is_given_anyway(item):
                result = None
                self._buffer.append(item)  # and stays admitted
            else:
                (self._calls if callable(item) else self._quotes).let_go()
            if future is not None:
                answers.append((future, result))
        send_answers(self._loop, answers)

    def _retry(self) -> None:
        """Try the store again, with the quotes of the buffer first."""
        self._oldest = time.monotonic()  # who comes meanwhile waits for this no longer than for a write
        try:
            while self._buffer:
                batch = [self._buffer[index] for index in range(min(LARGEST, len(self._buffer)))]
                self._write(batch)  # quotes that no store will take do not hold up those after them
                for _ in batch:
                    self._buffer.popleft()
                    self._quotes.let_go()
            if self.away:
                self._probe()
            self._set_away(None)
        except StoreUnavailable as problem:
            self._set_away(problem)
            time.sleep(0.0 if self._stopping else _PAUSE)
        finally:
            self._oldest = 0.0

    def _probe(self) -> None:
        """A write where this process may write of its own accord, so that a read-only store does not count as back."""
        if self._beats:
            self._store.beat(time.time())
        else:
            self._store.learner_alive(time.time())

    def _beat(self) -> None:
        now = time.monotonic()
        if not self._beats or self.away or now - self._last_beat < BEAT:
            return
        self._last_beat = self._oldest = now  # who comes meanwhile waits for a beat no longer than for a write
        try:
            self._store.beat(time.time())
        except StoreUnavailable as problem:
            self._set_away(problem)
        finally:
            self._oldest = 0.0

    def _set_away(self, problem: StoreUnavailable | None) -> None:
        """Away for this reason, or back; said once in the log."""
        if problem is not None and not self.away:
            log.warning("the store is away: %s", problem)
        if problem is None and self.away:
            log.warning("the store is back")
        self.away = problem is not None


def _is_given_anyway(item: NewQuote | Callable[[QuoterStore], Any]) -> TypeGuard[NewQuote]:
    """Is the item a quote that is given although the store is away?"""
    return isinstance(item, NewQuote) and item.idempotency is None
