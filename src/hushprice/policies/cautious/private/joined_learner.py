"""A learner to whom two aggregators publish (trust `aggregated`): of a batch it gets two totals and who reported.

Each total is uniform but for its noise, and their sum is the batch's release (docs/proofs/trust.md, section 5). Nothing
here is sensitive, and no record can be given to it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np

from hushprice.errors import InvalidInput
from hushprice.policies.cautious.noise import open_ledger
from hushprice.policies.cautious.pricing.instruments import entries
from hushprice.policies.cautious.private import aggregator
from hushprice.policies.cautious.private.learner import CautiousLearner
from hushprice.policies.cautious.private.sums import Contributions
from hushprice.policies.cautious.rules import AGGREGATED, CautiousRules
from hushprice.privacy.events import AggregatedBatches
from hushprice.releases import MomentRelease
from hushprice.types import FloatArray

_log = logging.getLogger("hushprice")
ID = 16  # bytes of a report's name


class _Asked(msgspec.Struct, rename={"unasked": "deaf"}):
    reports: bytes
    unasked: bool


class AskedReports:
    """The names of the reports that were asked for in the batch at hand. The shop knows them."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.names: list[bytes] = []
        self.unasked = False  # is the batch's question one that no device was asked?

    def add(self, given: Contributions) -> None:
        raise InvalidInput("a record stays on its customer's device: only shares leave it, and not to here")

    def release(self, score_noise: FloatArray, records: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        raise InvalidInput("aggregators have the sums: JoinedLearner joins them")

    def state(self) -> bytes:
        """What must survive a restart."""
        return msgspec.msgpack.encode(_Asked(b"".join(self.names), self.unasked))

    def restore(self, state: bytes) -> None:
        """Take up in the middle of a batch."""
        try:
            saved = msgspec.msgpack.decode(state, type=_Asked)
        except msgspec.DecodeError:
            raise InvalidInput("the saved batch is not one of this releaser") from None
        if len(saved.reports) % ID:
            raise InvalidInput("the saved batch is for another product")
        self.names = [saved.reports[start : start + ID] for start in range(0, len(saved.reports), ID)]
        self.unasked = saved.unasked


class JoinedLearner(CautiousLearner):
    """The batch at hand of one product."""

    batch: AskedReports
    event: AggregatedBatches

    def __init__(self, *, rules: CautiousRules, choice: int) -> None:
        event = rules.event(live=True)
        if rules.trust != AGGREGATED or not isinstance(event, AggregatedBatches):
            raise InvalidInput(f"trust must be 'aggregated' where totals are joined, got {rules.trust!r}")
        self._rules, self._model, self.event = rules, rules.model, event
        self.ledger = open_ledger(rules.noise, event, rules.paid).spend(event)
        self.batch = AskedReports()
        self.count = 0
        self.clipped_features = self.clipped_demands = 0
        self._begin(choice)

    def jump(self, records: int, choice: int) -> None:
        """Devices have not been asked by the belief that is planned now: until a release, no report is asked for."""
        super().jump(records, choice)
        self.batch.unasked = True

    def ask(self, names: Iterable[bytes], slots: int) -> None:
        """Count so many slots, and note the reports of theirs that were asked for."""
        self.skip(slots, slots)  # who reported is known when the batch is out
        if not self.batch.unasked:
            self.batch.names += names

    def join(self, first: Sequence[int], second: Sequence[int], reports: int) -> None:
        """End the batch by what the two published of so many reports that reached both.

        Where honest devices cannot have sent that, the batch is dropped, as if nobody had reported.
        """
        if self.ended or not 0 <= reports <= len(self.batch.names):
            raise InvalidInput(f"reports must be those of the batch at hand, got {reports} of them")
        numbers = np.array(aggregator.joined(self.event, self.choice, first, second))
        if not aggregator.possible(self.event, self.choice, numbers.tolist(), reports):
            _log.warning("a total is beyond what %d honest devices can send: its batch is dropped", reports)
            numbers, reports = np.zeros_like(numbers), 0
        self.priced = reports
        at = entries(self._model.contexts)
        sums = numbers[:at], numbers[at:-2], numbers[-2:]
        self.last = MomentRelease(*sums, self.count, self.event, self.priced)

    def absorb(self, *given: Any, **named: Any) -> None:
        raise InvalidInput("a record stays on its customer's device: only shares leave it, and not to here")

    def release(self) -> MomentRelease:
        if self.last is None:
            raise InvalidInput("a batch of shares is out when both totals are joined")
        return self.last

    def __repr__(self) -> str:
        return f"JoinedLearner(count={self.count})"
