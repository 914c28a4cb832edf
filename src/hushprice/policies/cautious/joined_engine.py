"""cautious where two aggregators add up shares (trust `aggregated`): a quoter, and a learner of their totals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hushprice.errors import InvalidInput
from hushprice.noise import NoiseSource
from hushprice.policies.cautious.engine import CautiousEngine, PricedRecords
from hushprice.policies.cautious.policy import CautiousPolicy
from hushprice.policies.cautious.private.joined_learner import JoinedLearner
from hushprice.releases import MomentRelease


class JoinedEngine(CautiousEngine):
    """Learns totals in place of records; everything else is the engine's. It draws no noise: aggregators have."""

    learner: JoinedLearner

    def _learner_of(self, policy: CautiousPolicy, source: NoiseSource) -> JoinedLearner:
        return JoinedLearner(rules=policy.rules, choice=self.quoter.rule.choice)

    @property
    def waits(self) -> bool:
        """Is the batch over, and not out? Then totals are to be asked for."""
        return self.learner.count == self.quoter.end

    def ask(self, names: Iterable[bytes], slots: int) -> None:
        """Take so many slots, up to the batch's end at most, and the reports that were asked for in them."""
        room = self.quoter.end - self.learner.count
        if slots > room:
            raise InvalidInput(f"slots must be at most {room}, those before the next release, got {slots}")
        self.learner.ask(names, slots)

    def join(self, first: Sequence[int], second: Sequence[int], reports: int) -> MomentRelease | None:
        """Learn what the two aggregators published of a batch that is over; returns its release."""
        if not self.waits:
            raise InvalidInput("totals are joined when the batch is over")
        self.learner.join(first, second, reports)
        return self.release()

    def steps(self, records: PricedRecords, skipped: int, skipped_holdout: int = 0) -> MomentRelease | None:
        raise InvalidInput("trust is 'aggregated': records stay on their customers' devices, and totals are joined")
