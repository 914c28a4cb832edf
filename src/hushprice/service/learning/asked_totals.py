"""Totals that aggregators are being asked for, apart from all other learning: who is slow holds up no other product.

An aggregator is run by somebody else, and may be hostile. It may take a minute over every answer (`DEADLINE` of
aggregated_totals.py); meanwhile the lease is renewed, and every other product is learned.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait

from hushprice.service.learning.aggregated_totals import Totals, collect
from hushprice.service.learning.product_learner import ProductLearner
from hushprice.service.shared.aggregator_messages import BatchOver
from hushprice.service.shared.product import AggregatorAddress

AT_ONCE = 8  # products whose aggregators are asked at a time
PROMPT = 0.2  # seconds, once a batch, for those that answer at once


class AskedTotals:
    """Asked by the learner's loop alone."""

    def __init__(self, begin: Callable[[], None]) -> None:
        self._begin = begin  # what every thread does first
        self._asked: dict[str, tuple[str, Future[Totals]]] = {}  # by product: the batch, and what is said of it

    def of(self, learner: ProductLearner) -> Totals | None:
        """The totals of the batch that a learner waits for; None while they are asked for. Raises what asking did."""
        product = learner.product
        assert product.aggregators is not None
        if product.name not in self._asked:
            if sum(not asked.done() for _, asked in self._asked.values()) >= AT_ONCE:
                return None
            batch = learner.batch_over()
            self._asked[product.name] = batch.name, self._ask(product.aggregators, batch)
            wait([self._asked[product.name][1]], PROMPT)
        name, asked = self._asked[product.name]
        if not asked.done():
            return None
        del self._asked[product.name]
        # The learner may have been read again since, from a store that was set back.
        return asked.result() if name == learner.batch_over().name else None

    def _ask(self, both: Sequence[AggregatorAddress], batch: BatchOver) -> Future[Totals]:
        answer: Future[Totals] = Future()

        def work() -> None:
            try:
                self._begin()
                answer.set_result(collect(both, batch))
            except BaseException as problem:
                answer.set_exception(problem)

        # Not of a pool, whose threads would hold up the process's end.
        threading.Thread(target=work, name="hushprice-totals", daemon=True).start()
        return answer

    def __repr__(self) -> str:
        return f"AskedTotals({sorted(self._asked)})"
