"""A learner of devices' bits (trust `local`): of a record it gets one bit, which was private when it was sent.

Bits are counted, so nothing here is sensitive, and no noise is added when a batch is released: `BitReports` is all
there is (docs/proofs/trust.md). No record can be given to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec
import numpy as np

from hushprice.errors import InvalidInput
from hushprice.policies.cautious.noise import open_ledger
from hushprice.policies.cautious.pricing import population
from hushprice.policies.cautious.pricing.instruments import SHARES
from hushprice.policies.cautious.pricing.question import keep_of, question_of
from hushprice.policies.cautious.pricing.quoter import CautiousQuoter
from hushprice.policies.cautious.private.learner import CautiousLearner
from hushprice.policies.cautious.private.sums import Contributions
from hushprice.policies.cautious.report_noise import weights
from hushprice.policies.cautious.rules import LOCAL, CautiousRules
from hushprice.releases import MomentRelease
from hushprice.trust import bits
from hushprice.types import FloatArray


class CountedBit(NamedTuple):
    """A report, and the coin of its quote, which is public."""

    coin: float
    about: int
    up: bool


class _Counts(msgspec.Struct, rename={"unasked": "deaf"}):
    counts: list[list[list[int]]]
    unasked: bool


class BitCounts:
    """How often devices said what, in the batch at hand: [coin][about][up]. The shop may see it."""

    def __init__(self, contexts: int) -> None:
        self._contexts = contexts
        self.begin()

    def begin(self) -> None:
        self.counts = np.zeros((2, self._contexts + 1, 2), dtype=np.int64)
        self.unasked = False  # is the batch's question one that no device was asked?

    def add(self, given: Contributions) -> None:
        raise InvalidInput("a record stays on its customer's device: only its report is learned")

    def release(self, score_noise: FloatArray, records: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        raise InvalidInput("what bits count for depends on the question: BitLearner releases them")

    def state(self) -> bytes:
        """What must survive a restart."""
        return msgspec.msgpack.encode(_Counts(self.counts.tolist(), self.unasked))

    def restore(self, state: bytes) -> None:
        """Take up in the middle of a batch."""
        try:
            saved = msgspec.msgpack.decode(state, type=_Counts)
            counts = np.array(saved.counts, dtype=np.int64)
        except (msgspec.DecodeError, ValueError, OverflowError):
            raise InvalidInput("the saved batch is not one of this releaser") from None
        if counts.shape != self.counts.shape or (counts < 0).any():
            raise InvalidInput("the saved batch is for another product")
        self.counts, self.unasked = counts, saved.unasked


class BitLearner(CautiousLearner):
    """The batch at hand of one product, whose `quoter` says what devices are asked."""

    batch: BitCounts

    def __init__(self, *, rules: CautiousRules, quoter: CautiousQuoter) -> None:
        if rules.trust != LOCAL:
            raise InvalidInput(f"trust must be 'local' where devices send bits, got {rules.trust!r}")
        self._rules, self._model, self._quoter = rules, rules.model, quoter
        self.event = rules.event(live=True)
        self.ledger = open_ledger(rules.noise, self.event, rules.paid).spend(self.event)
        self.batch = BitCounts(rules.model.contexts)
        self.count = 0
        self.clipped_features = self.clipped_demands = 0
        self._begin(quoter.rule.choice)

    def jump(self, records: int, choice: int) -> None:
        """Devices have not been asked by the belief that is planned now: until a release, no bit counts."""
        super().jump(records, choice)
        self.batch.unasked = True

    def count_bits(self, reports: Iterable[CountedBit], slots: int) -> None:
        """Count so many slots and the reports of theirs that were asked for.

        A slot without a report tells nothing, so it does not count among those that prices were tried out on.
        """
        most = self._model.contexts if SHARES[self.choice] > 0.0 else 0
        counted = 0
        for report in reports:
            if self.batch.unasked or not 0 <= report.about <= most:
                continue  # nobody was asked this
            self.batch.counts[0 if report.coin > 0.0 else 1, report.about, int(report.up)] += 1
            counted += 1
        self.skip(slots, slots - counted)

    def absorb(self, *given: Any, **named: Any) -> None:
        raise InvalidInput("a record stays on its customer's device: only its report is learned")

    def release(self) -> MomentRelease:
        if self.last is None:
            if self.count == self._begun:
                raise InvalidInput("a batch without a slot has nothing to release")
            k = self._model.contexts
            described, earned = np.zeros(population.entries(k)), np.zeros(2)
            self.last = MomentRelease(self._score(), described, earned, self.count, self.event, self.priced)
        return self.last

    def _score(self) -> FloatArray:
        """What the records would have added, on average, had they been added: bits count for more than they are."""
        asked, half = question_of(self._quoter), self._model.contexts + 1
        common, personal = weights(self._model, self.choice, keep_of(self._quoter))
        score = np.zeros(2 * half)
        for coin, counts in zip((1.0, -1.0), self.batch.counts, strict=True):
            at, (low, high) = half * asked.side(coin), bits.bounds(asked, coin, 0)
            told = (counts[:, 1] - counts[:, 0]).astype(np.float64)
            score[at] += 0.5 * (low + high) * float(counts.sum()) + common * told[0]
            score[at + 1 : at + half] += personal * told[1:]
        return score

    def __repr__(self) -> str:
        return f"BitLearner(count={self.count})"
